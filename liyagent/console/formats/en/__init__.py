"""English, the console's one language."""
