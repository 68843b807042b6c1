"""How times are written in the console: one form, to the second, with the zone."""
