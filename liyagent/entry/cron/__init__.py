"""Cron as a way in: a slot of a trigger is a run, once, whoever finds it due and whenever that process dies.

Tables: CronTrigger (its fires are arrivals of entry). Verbs: save_trigger, remove_trigger, run_now, fire_due.
Called by the round of every process, by HTTP, by the console and `manage.py cron`.
"""
