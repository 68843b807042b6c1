"""How the pages of runs say things."""
