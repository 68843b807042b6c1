"""Work in the background that goes on from its cursor in any process when the one that did it dies (CR-06).

Tables: Job. Verbs: `ask_for`, `work_due`, `work_long`, `cancel_job`, `forget_jobs`. What a kind of job does stands in the table
`handlers.HANDLERS`, filled by whoever has that kind. Called by the round of every process, by HTTP, by the console and
`manage.py jobs`.
"""
