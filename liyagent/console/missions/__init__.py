"""Missions as they are shown: the list of the named ones, and one timeline of all that the rooms keep of one.

Tables: none; the row of a named mission is `missions.models.Mission`. Verbs: `list_missions`, `find_mission`, `timeline_of`.
The room of missions is the lowest and knows no views; what it shows comes from rooms above it (`missions.timeline.SOURCES`).
"""
