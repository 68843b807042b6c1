"""The audit log a page at a time, by any of its stamps: never a walk through all of it, however long it is."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from django.db import connection
from django.db.models import F, Q, QuerySet, RowRange, Sum, Window
from django.utils.dateparse import parse_datetime

from liyagent.audit.detail import size_of_detail
from liyagent.audit.models import AuditRow
from liyagent.core.errors import BadInput
from liyagent.core.paging import (
    PAGING,
    Page,
    bad_cursor,
    check_names,
    limit_of,
    read_cursor,
    write_cursor,
)
from missions.names import clean_mission

# How many rows of what an index finds are looked through for the other filters, at most, for one page.
MOST_LOOKED_THROUGH = 10_000
# A page ends before its details come to more characters.
PAGE_SIZE = 1_000_000
# What an index leads to, in this order of preference; each is ordered by number.
INDEXED = ("run", "mission", "actor", "agent", "action")
COLUMNS = {"run": "run_id", "mission": "mission", "actor": "actor", "agent": "agent", "action": "action"}  # fmt: skip
SELECTED = (*INDEXED, "since", "until")
FILTERS = (*SELECTED, *PAGING)
KEY = re.compile(r"[A-Za-z0-9_-]{1,80}")
ACTION = re.compile(r"[a-z][a-z0-9_.]{0,79}")
LONGEST_ACTOR = 200
GREATEST_ID = 2**63 - 1
# Numbers are given, and times told, within one statement: no row stands further from its place in time than this.
SLACK = 1_000
# There are some hundred actions, and each is a word of the code.
MOST_ACTIONS = 1_000
# From one value of an index to the next: one look for each value there is, however many rows.
VALUES = """
WITH RECURSIVE there AS (
    (SELECT {column} AS value FROM audit_auditrow ORDER BY {column} LIMIT 1)
    UNION ALL
    SELECT (SELECT a.{column} FROM audit_auditrow a WHERE a.{column} > t.value ORDER BY a.{column} LIMIT 1)
        FROM there t WHERE t.value IS NOT NULL
)
SELECT value FROM there WHERE value IS NOT NULL LIMIT %s
"""
# Of each action the next by its index, whatever their time: a condition about it would be taken for one that few rows meet, and
# all rows of the action be read for them. So near the ends of the time, where numbers and times do not agree, rows are asked
# for by their number; the expression keeps the index of times out. Both columns are compared and ordered together: no other
# index has that order, which for an action that is taken to be frequent, and is not, would lead through all rows.
OF_ACTIONS = """
SELECT found.id, found.at >= %(since)s AND found.at < %(until)s FROM (
    SELECT within.id, within.at FROM unnest(%(actions)s::text[]) AS n (action), LATERAL (
        SELECT a.id, a.at FROM audit_auditrow a
            WHERE (a.action, a.id) > (n.action, %(low)s) AND (a.action, a.id) < (n.action, %(high)s)
            ORDER BY a.action {order}, a.id {order} LIMIT %(limit)s) AS within
    UNION ALL
    SELECT e.id, e.at FROM audit_auditrow e WHERE e.action = ANY(%(actions)s::text[])
        AND (e.id > %(above)s AND e.id <= %(low)s OR e.id >= %(high)s AND e.id < %(below)s)
        AND e.at + interval '0' >= %(since)s AND e.at + interval '0' < %(until)s) AS found
ORDER BY found.id {order} LIMIT %(limit)s
"""
FIRST, LAST = datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Which rows are asked for: what an index leads to, what is compared beside, and the numbers they lie between."""

    leading: str
    chosen: Mapping[str, Any]
    since: datetime
    until: datetime
    above: int
    below: int

    @property
    def is_by_one_index(self) -> bool:
        """Whether an index alone finds them."""
        is_bounded = self.since > FIRST or self.until < LAST
        return self.leading != "action" and len(self.chosen) <= 1 and not is_bounded


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """The numbers of rows that fit, in order; `last` is the last that was looked at where more may follow, else None."""

    ids: Sequence[int]
    last: int | None


def page_of_audit(asked: Mapping[str, str]) -> Page[AuditRow]:
    """Return the page of rows that `asked` (of `FILTERS`) names, newest first.

    `action` takes in what lies below it: `agent.run` is also `agent.run.ended`. A page can be short, or empty, and yet
    lead on: then what was looked through held no more that fit, or more would be too large. Raises `BadInput`.
    """
    check_names(asked, FILTERS)
    limit = limit_of(asked)
    below = _number(asked["cursor"]) if "cursor" in asked else GREATEST_ID
    found = find_rows(selection_of(asked), below=below, limit=limit)
    rows, last = rows_within(found)
    return Page(rows=rows, next_cursor=write_cursor([str(last)]) if last is not None else "")


def rows_within(found: Found, *, newest_first: bool = True) -> tuple[list[AuditRow], int | None]:
    """Return rows that were found, in their order, and the last that was looked at where more may follow.

    As many as come to `PAGE_SIZE` characters of detail, and one at the least.
    """
    order = F("id").desc() if newest_first else F("id").asc()
    before = Window(Sum(size_of_detail()), order_by=order, frame=RowRange(end=-1))
    rows = AuditRow.objects.filter(pk__in=found.ids).annotate(before=before).order_by(order)
    fitting: list[AuditRow] = list(rows.filter(Q(before=None) | Q(before__lte=PAGE_SIZE)))
    is_cut = 0 < len(fitting) < len(found.ids)
    return fitting, fitting[-1].pk if is_cut else found.last


def selection_of(asked: Mapping[str, str]) -> Selection:
    """Return what the filters of `asked` select, and where in the log it lies. Raises `BadInput`."""
    chosen = {name: CHECKS[name](asked[name]) for name in INDEXED if name in asked}
    since = _time("since", asked["since"]) if "since" in asked else FIRST
    until = _time("until", asked["until"]) if "until" in asked else LAST
    return Selection(
        leading=next((name for name in INDEXED if name in chosen), ""),
        chosen=chosen,
        since=since,
        until=until,
        above=_first_since(since),
        below=_last_until(until),
    )


def find_rows(
    wanted: Selection, *, limit: int, above: int = 0, below: int = GREATEST_ID, newest_first: bool = True
) -> Found:  # fmt: skip
    """Return the numbers of at most `limit` rows between `above` and `below` that fit, in order."""
    above, below = max(above, wanted.above), min(below, wanted.below)
    order = "-id" if newest_first else "id"
    if wanted.leading == "action" and len(wanted.chosen) == 1:
        return _of_actions(wanted, above=above, below=below, limit=limit, newest_first=newest_first)
    rows = _led(wanted).filter(pk__gt=above, pk__lt=below).order_by(order)
    if wanted.is_by_one_index:
        ids = list(rows.values_list("id", flat=True)[: limit + 1])
        return Found(ids=ids[:limit], last=ids[limit - 1] if len(ids) > limit else None)
    # Compared here and not by a condition: there is then no index that can be taken for a shorter way, through all.
    others = [name for name in wanted.chosen if name != wanted.leading]
    looked_at = list(
        rows.values_list("id", "at", *(COLUMNS[it] for it in others))[:MOST_LOOKED_THROUGH]
    )
    fits = [row[0] for row in looked_at if _fits(wanted, others, row)]
    if len(fits) > limit:
        return Found(ids=fits[:limit], last=fits[limit - 1])
    is_full = len(looked_at) == MOST_LOOKED_THROUGH
    return Found(ids=fits, last=looked_at[-1][0] if is_full else None)


def is_action_below(action: str, asked: str) -> bool:
    """Whether an action is the one that was asked for, or lies below it."""
    return action == asked or action.startswith(f"{asked.rstrip('.')}.")


def actions_below(asked: str) -> list[str]:
    """Return the actions of the log that are `asked`, or lie below it."""
    return [it for it in values_of("action", most=MOST_ACTIONS) if is_action_below(it, asked)]


def values_of(name: str, *, most: int) -> list[str]:
    """Return the first `most` values that a stamp of `INDEXED` has in the log, in order."""
    with connection.cursor() as cursor:
        cursor.execute(VALUES.format(column=COLUMNS[name]), [most])
        return [row[0] for row in cursor.fetchall()]


def _led(wanted: Selection) -> QuerySet[AuditRow]:
    if not wanted.leading:
        return AuditRow.objects.all()
    return AuditRow.objects.filter(**{COLUMNS[wanted.leading]: wanted.chosen[wanted.leading]})


def _fits(wanted: Selection, others: Sequence[str], row: tuple[Any, ...]) -> bool:
    if not wanted.since <= row[1] < wanted.until:
        return False
    return all(
        is_action_below(value, wanted.chosen[name]) if name == "action" else value == wanted.chosen[name]
        for name, value in zip(others, row[2:], strict=True)
    )  # fmt: skip


def _of_actions(
    wanted: Selection, *, above: int, below: int, limit: int, newest_first: bool
) -> Found:
    if above + 1 >= below:
        return Found(ids=[], last=None)
    low = wanted.above + 2 * SLACK if wanted.since > FIRST else above
    high = wanted.below - 2 * SLACK if wanted.until < LAST else below
    given: dict[str, Any] = {
        "actions": actions_below(wanted.chosen["action"]),
        "above": above,
        "low": min(max(low, above), below - 1),
        "high": max(min(high, below), above + 1),
        "below": below,
        "since": wanted.since,
        "until": wanted.until,
        "limit": limit + 1,
    }
    given["high"] = max(given["high"], given["low"] + 1)
    with connection.cursor() as cursor:
        cursor.execute(OF_ACTIONS.format(order="DESC" if newest_first else "ASC"), given)
        rows = cursor.fetchall()
    ids = [number for number, is_within in rows[:limit] if is_within]
    return Found(ids=ids, last=rows[limit - 1][0] if len(rows) > limit else None)


def _first_since(since: datetime) -> int:
    """The number that all rows from a time on lie above."""
    if since == FIRST:
        return 0
    first = AuditRow.objects.filter(at__gte=since).order_by("at").values_list("id", flat=True)[:1]
    return max(next((it - SLACK for it in first), GREATEST_ID), 0)


def _last_until(until: datetime) -> int:
    """The number that all rows before a time lie below."""
    if until == LAST:
        return GREATEST_ID
    last = AuditRow.objects.filter(at__lt=until).order_by("-at").values_list("id", flat=True)[:1]
    return next((it + SLACK for it in last), 0)


def _run(text: str) -> UUID:
    try:
        return UUID(text)
    except ValueError:
        raise BadInput(f"run is {text[:80]!r}; it wants the id of a run") from None


def _mission(text: str) -> str:
    if clean_mission(text) is None:
        raise BadInput(
            f"mission is {text[:80]!r}; it wants 1 to 128 letters, digits, "
            "'.', '_', ':' and '-', first a letter or digit"
        )
    return text


def _actor(text: str) -> str:
    if not 1 <= len(text) <= LONGEST_ACTOR or "\x00" in text:
        raise BadInput(f"actor wants 1 to {LONGEST_ACTOR} characters, such as ann or agent:triage")
    return text


def _agent(text: str) -> str:
    if not KEY.fullmatch(text):
        raise BadInput(f"agent is {text[:80]!r}; it wants letters, digits, - and _")
    return text


def _action(text: str) -> str:
    if not ACTION.fullmatch(text):
        raise BadInput(f"action is {text[:80]!r}; it wants dotted words such as agent.run")
    return text


CHECKS: Mapping[str, Callable[[str], Any]] = {
    "run": _run,
    "mission": _mission,
    "actor": _actor,
    "agent": _agent,
    "action": _action,
}


def _time(name: str, text: str) -> datetime:
    wants = f"{name} is {text[:80]!r}; it wants a time with its zone, such as 2026-01-31T09:30:00Z"
    try:
        # A time near the first or the last year may leave the calendar.
        found = parse_datetime(text) if text.isascii() else None
        if found is None or found.tzinfo is None:
            raise BadInput(wants)
        return found.astimezone(UTC)
    except (ValueError, OverflowError):
        raise BadInput(wants) from None


def _number(cursor: str) -> int:
    (text,) = read_cursor(cursor, parts=1)
    if not (text.isascii() and text.isdigit() and len(text) < 19):
        raise bad_cursor()
    return int(text)
