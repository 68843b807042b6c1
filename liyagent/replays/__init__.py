"""Cohort replays: past runs tried under another model, provider or instructions, with every tool answered from the record.

Tables: `CohortReplay` and `Replayed` (one run of it). Verbs: ask for one, replay a run, compare it. The job is `cohort_replay`.
Called by HTTP, the console and `manage.py cohort_replay`; no tool server is called, and nothing of it stands in the event log.
"""
