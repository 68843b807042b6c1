"""Purge what rested long enough: whole chains, each with a certificate, in small commits (EV-08, ruling 28).

A chain goes once nothing was written to it for `TICKETIQ_RUN_EVENTS_RETENTION_DAYS`, all its runs have ended, and a root
holds its last event. What does not fit its head is kept: a purge takes no evidence away. The rules stand in the database
(`events.migrations.0004`), and so does a lower bound of days that only the owner of the tables may change.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import connection, transaction

from events.retention import keep_for
from liyagent.core.errors import Conflict
from liyagent.core.metrics import EVENTS_PURGED

logger = logging.getLogger(__name__)

HEADS_AT_ONCE, EVENTS_AT_ONCE = 500, 10_000
FIRST = UUID(int=0)
# A clock that was set wrong must not take a year of evidence away within minutes.
CLOCKS_APART = timedelta(days=1)
NOW = "SELECT liyagent_now()"
PURGE = "SELECT * FROM liyagent_purge_events(%s, %s, %s, %s, %s)"
COUNT = "SELECT * FROM liyagent_purgeable_events(%s, %s, %s)"


class ClocksDiffer(Conflict):
    """The database's clock and this machine's are more than a day apart: nothing is purged until they agree."""

    code = "events.clocks_differ"


@dataclass(frozen=True, slots=True, kw_only=True)
class Purged:
    """What a purge came to. `odd`: chains that do not fit their heads; `unsealed`: in no root yet; both were kept.

    `is_whole`: it came to the end of what could be due. Not so where it was told to stop, or another purge was at it.
    """

    chains: int = 0
    events: int = 0
    odd: int = 0
    unsealed: int = 0
    is_whole: bool = False


Progress = Callable[[Purged], object]


def never() -> bool:
    """Nobody tells it to stop."""
    return False


def purge_events(
    *, actor: str, give_up: Callable[[], bool] = never, tell: Progress | None = None
) -> Purged:
    """Purge all that is due, some chains a commit, until `give_up`. Audited in each commit; nothing where days are 0.

    `tell` hears after each commit what has come of it so far. Raises the database's errors, and `ClocksDiffer`.
    """
    days = settings.LIYAGENT.run_events_retention_days
    keep_for(days)
    if not days:
        return Purged(is_whole=True)
    _check_clocks()
    done = _walk(
        lambda after: _ask(PURGE, days, after, HEADS_AT_ONCE, EVENTS_AT_ONCE, actor), give_up, tell
    )
    if done.odd:
        logger.error(
            "%s chains that rested long enough are kept: their events are not those that their heads tell of; "
            "`manage.py events verify --all` says more",
            done.odd,
        )
    return done


def purgeable_events(
    *, give_up: Callable[[], bool] = never, tell: Progress | None = None
) -> Purged:
    """Count what `purge_events` would purge now, and change nothing."""
    days = settings.LIYAGENT.run_events_retention_days
    if not days:
        return Purged(is_whole=True)
    return _walk(lambda after: _ask(COUNT, days, after, HEADS_AT_ONCE), give_up, tell)


def _check_clocks() -> None:
    with connection.cursor() as cursor:
        cursor.execute(NOW)
        (there,) = cursor.fetchone()
    here = datetime.now(UTC)
    if abs(there - here) > CLOCKS_APART:
        raise ClocksDiffer(
            f"the database's clock says {there:%Y-%m-%d %H:%M} UTC and this machine's {here:%Y-%m-%d %H:%M}: nothing is purged until they agree"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Looked:
    last: UUID | None
    purged: Purged


def _walk(
    look: Callable[[UUID], _Looked | None], give_up: Callable[[], bool], tell: Progress | None
) -> Purged:
    done, after = Purged(), FIRST
    while not give_up():
        looked = look(after)
        if looked is None:
            return done
        if looked.last is None:
            return replace(done, is_whole=True)
        after, it = looked.last, looked.purged
        done = Purged(
            chains=done.chains + it.chains,
            events=done.events + it.events,
            odd=done.odd + it.odd,
            unsealed=done.unsealed + it.unsealed,
        )
        if tell is not None:
            tell(done)
    return done


def _ask(statement: str, *values: Any) -> _Looked | None:
    """One commit; None where another purge is at it."""
    with transaction.atomic(durable=True), connection.cursor() as cursor:
        cursor.execute(statement, values)
        looked, last, chains, events, odd, unsealed = cursor.fetchone()
    if looked is None:
        return None
    if statement is PURGE:
        EVENTS_PURGED.inc(events)
    return _Looked(
        last=last, purged=Purged(chains=chains, events=events, odd=odd, unsealed=unsealed)
    )
