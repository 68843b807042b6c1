"""What an installation tells its monitoring: `/metrics`, read from the process and, bounded, from the database.

Tables: none. Verbs: `metrics_text`. Commands: `migrate`, Django's own under a lock of the database.
It reads the tables of many rooms and is imported by none; the addresses lead here. What each process counts
about itself stands in `liyagent/core/metrics.py`, where rooms add to it.
"""
