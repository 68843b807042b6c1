"""Tags of the console's own templates."""
