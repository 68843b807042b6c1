"""Routines: what an agent's runs do the same way every time, compiled into a workflow that no model has to find again.

Tables: `Routine` (one a pattern of an agent), `Mining` (one a day), `Sighting` (while a mining goes on). Verbs: mine, compile, turn a literal into a parameter, adopt,
dismiss, suspend. Called by HTTP, the console, `manage.py mine_routines` and each process's daily round.
"""
