"""Missions: the id that one piece of work carries through every row, trace and message.

Tables: Mission (a named one). Verbs: `mission_named`, `MissionMiddleware`, `current_stamp`, `stamped`, `timeline.page_of`. The
lowest room: called by every way in; it calls nobody. What a timeline tells comes from rooms above, which register it.
"""
