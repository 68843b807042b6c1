"""Missions: the id that one piece of work carries through every row, trace and message.

Tables: none yet. Verbs: `clean_mission`, `MissionMiddleware`, `current_stamp`. The lowest room:
called by every way in; it calls nobody.
"""
