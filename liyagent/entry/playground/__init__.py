"""Playground: an operator asks an agent something, and watches.

No tables: what is asked is a run at once, decided in one commit before anybody is answered (ruling 29, CR-02).
Verbs: those of runs. Called by the console and by `POST /api/agents/{key}/playground`.
"""
