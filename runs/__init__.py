"""Runs: a task carried to its end, whatever happens to the process that carries it.

Tables: Run (the fenced head), Part (sealed checkpoint parts), Call (marked
writes), StartKey. Verbs: `start_run`, `carry_run` (the loop), `sweep_lapsed`,
`stop_run`, `finish`. The hot statements stand in `sql/`, called from `hot.py` alone.
"""
