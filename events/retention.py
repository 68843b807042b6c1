"""How long the database keeps events at the least: a row that only the owner of the tables may change (ruling 28).

`TICKETIQ_RUN_EVENTS_RETENTION_DAYS` says how long they are kept (EV-08). Where one database role migrates and serves, that
setting is all. Where they are two, whoever serves can keep events longer than this row says, and never shorter: it
is set by `manage.py database_roles` and `migrate`, run by the owner.
"""

from __future__ import annotations

from django.db import connection

# The trigger on the table audits.
KEEP = "UPDATE events_retention SET days = %s WHERE id = 1 AND days <> %s"
MAY = "SELECT has_table_privilege(current_user, 'events_retention', 'UPDATE')"
LEAST = "SELECT days FROM events_retention WHERE id = 1"


def keep_for(days: int) -> bool:
    """Let the database keep events for so many days at the least, 0 for good; whether this role may say so."""
    with connection.cursor() as cursor:
        cursor.execute(MAY)
        (may_change,) = cursor.fetchone()
        if may_change:
            cursor.execute(KEEP, [days, days])
    return bool(may_change)


def least_days() -> int:
    """Return how many days the database keeps events at the least, 0 for good."""
    with connection.cursor() as cursor:
        cursor.execute(LEAST)
        row = cursor.fetchone()
    return int(row[0]) if row else 0
