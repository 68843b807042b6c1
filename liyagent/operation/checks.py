"""What `manage.py check --deploy` looks at: that who serves may change no record, and who says how long events are kept."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.conf import settings
from django.core import checks

from liyagent.core.checks import TAG, query
from liyagent.operation.database_roles import READ

# Of the tables that refuse changes by triggers, and of those that functions of the owner write: whose rows this role may change.
LOOSE = """
SELECT c.relname FROM pg_class c WHERE c.relkind IN ('r', 'p') AND c.relnamespace = current_schema()::regnamespace
    AND NOT pg_has_role(c.relowner, 'USAGE')
    AND (has_any_column_privilege(c.oid, 'INSERT, UPDATE') AND c.relname = ANY(%s)
        OR has_any_column_privilege(c.oid, 'UPDATE') AND EXISTS (SELECT 1 FROM pg_trigger t JOIN pg_proc p ON p.oid = t.tgfoid
            WHERE t.tgrelid = c.oid AND p.proname = 'liyagent_refuse_change' AND t.tgname LIKE '%%refuse_rows')
        OR has_table_privilege(c.oid, 'DELETE, TRUNCATE') AND EXISTS (SELECT 1 FROM pg_trigger t
            WHERE t.tgrelid = c.oid AND t.tgname LIKE '%%refuse_rows'))
    ORDER BY c.relname
"""
LEAST = """
SELECT days FROM events_retention WHERE NOT has_table_privilege('events_retention', 'UPDATE')
    AND (days = 0 AND %s > 0 OR days > %s AND %s > 0)
"""


@checks.register(TAG, deploy=True)
def check_rights(**_: Any) -> Iterable[checks.CheckMessage]:
    """A role that owns nothing may still have been given too much, as by a GRANT on all tables (ruling 28)."""
    loose = [name for (name,) in query(LOOSE, [*READ]) or ()]
    if loose:
        yield checks.Warning(
            f"the database role may change records: {', '.join(loose[:5])}",
            hint="Run `manage.py database_roles` as the role that owns the tables.",
            id="liyagent.W060",
        )


@checks.register(TAG, deploy=True)
def check_retention(**_: Any) -> Iterable[checks.CheckMessage]:
    """Who serves cannot keep events for fewer days than the owner says."""
    days = settings.LIYAGENT.run_events_retention_days
    for (least,) in query(LEAST, days, days, days) or ():
        kept = f"{least} days at the least" if least else "for good"
        yield checks.Warning(
            f"TICKETIQ_RUN_EVENTS_RETENTION_DAYS is {days}, and the database keeps events {kept}",
            hint="Run `manage.py database_roles` as the role that owns the tables, with that setting.",
            id="liyagent.W061",
        )
