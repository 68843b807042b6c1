"""Once a day (UTC, by the database's clock), whatever the number of processes, have each agent mined that is recorded in full (RT-01).

The row of the day decides: who locks it asks for some agents and notes how far it came, in one commit. Whoever finds it locked, or
done, goes on with something else.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import date

from django.conf import settings
from django.db import connection, transaction

from liyagent.agents.models import Agent, Recording
from liyagent.core.transactions import require_transaction
from liyagent.jobs.ask import keep_job
from routines.ask import KIND
from routines.models import Mining

OFF = "off"
BY = "schedule"
AGENTS_AT_ONCE, MOST_A_LOOK = 50, 10
KEPT_DAYS = 30
TODAY = "(SELECT liyagent_now() AT TIME ZONE 'UTC')::date"
IS_DONE = f"SELECT FROM routines_mining WHERE day = {TODAY} AND is_done"
BEGIN = f"INSERT INTO routines_mining (day) VALUES ({TODAY}) ON CONFLICT DO NOTHING"  # noqa: S608 - a constant
FORGET = f"DELETE FROM routines_mining WHERE day < {TODAY} - {KEPT_DAYS}"  # noqa: S608 - a constant
TAKE = f"SELECT day, after FROM routines_mining WHERE day = {TODAY} AND NOT is_done FOR UPDATE SKIP LOCKED"  # noqa: S608 - a constant


def mine_daily(give_up: Callable[[], bool]) -> int:
    """Ask for today's minings that were not asked for, and return of how many agents. One statement once today's are."""
    if settings.LIYAGENT.routine_suggest == OFF or _is_done():
        return 0
    asked = 0
    for _ in range(MOST_A_LOOK):
        some = 0 if give_up() else _ask_some()
        if not some:
            break
        asked += some
    return asked


def _is_done() -> bool:
    with connection.cursor() as cursor:
        cursor.execute(IS_DONE)
        return bool(cursor.rowcount)


def _ask_some() -> int:
    with transaction.atomic(durable=True):
        with connection.cursor() as cursor:
            cursor.execute(BEGIN)
            if cursor.rowcount:
                cursor.execute(FORGET)
            cursor.execute(TAKE)
            row = cursor.fetchone()
        return _ask_behind(*row) if row is not None else 0


def _ask_behind(day: date, after: str) -> int:
    require_transaction("asking for the minings of a day")
    full = Agent.objects.filter(recording=Recording.FULL, key__gt=after).order_by("key")
    keys = list(full.values_list("key", flat=True)[:AGENTS_AT_ONCE])
    for key in keys:
        keep_job(KIND, key, asked_by=BY, params={})
    is_done = len(keys) < AGENTS_AT_ONCE
    Mining.objects.filter(day=day).update(after=keys[-1] if keys else after, is_done=is_done)
    return len(keys)
