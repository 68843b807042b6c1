"""What went wrong in a run and in those below it, in order and nothing else: the page's filter *failed only*."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import connection

from events.content import some_text, whole_number
from events.words import without_words
from liyagent.core.tables import visible
from liyagent.gateway.outcome import Fate
from liyagent.providers.types import Finish
from runs.models import Run, RunStatus
from runs.relatives import Relatives
from runs.shown_call import ShownCall, call_of
from runs.shown_note import ShownNote, note_of
from runs.told_events import LAST, Told, Window, told_in

MOST_SHOWN = 200
# So many events are looked through at once: the page says where it went on, and leads further.
LOOKED_THROUGH = 2_000
ENDS_OF = "SELECT number FROM events_runevent WHERE correlation_id = %s AND number >= %s ORDER BY number OFFSET %s LIMIT 1"
WRONG_KINDS = frozenset({"run.resumed", "gap", "agent.guardrail", "retry", "call.settled"})
WRONG_DECISIONS = frozenset({"rejected", "expired", "withdrawn", "stale"})
WELL_CAME = frozenset({Fate.DONE.value, "skipped"})
WELL_FINISHED = frozenset({Finish.CALLS.value, Finish.STOP.value})
# What may be of these. Each is looked at again below: what SQL could find by its text, an argument of a call could imitate.
MORE = """ AND kind IN ('run.resumed', 'gap', 'agent.guardrail', 'retry', 'call.settled', 'run.ended', 'approval.decided',
        'workflow.step', 'saga.registered', 'saga.undone',
        'step', 'tool.call')"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wrong:
    """One thing that went wrong. `item` is a call or a note; `step` is 0 where it is of none."""

    number: int
    at: datetime
    run_id: UUID
    agent: str
    is_own: bool
    step: int
    item: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class GoneWrong:
    """A page of them. `first` to `last` were looked through; `following` is where to look on, None at the chain's end."""

    found: list[Wrong]
    first: int
    following: int | None


def gone_wrong(run: Run, family: Relatives, *, first: int, with_words: bool) -> GoneWrong:
    """Look through the chain from event `first` on; words only where they may be read."""
    first = min(max(first, 0), LAST - 1)
    with connection.cursor() as cursor:
        cursor.execute(ENDS_OF, [run.correlation_id, first, LOOKED_THROUGH])
        row = cursor.fetchone()
    end = int(row[0]) if row else LAST
    runs = family.below([run.id]) or [run.id]
    told = told_in(run.correlation_id, runs, Window(first, end), limit=LOOKED_THROUGH, more=MORE)
    found = [it for it in told if is_wrong(it)]
    following = end if row else None
    if len(found) > MOST_SHOWN:
        following = found[MOST_SHOWN].number
    return GoneWrong(
        found=[_shown(it, run, family, with_words=with_words) for it in found[:MOST_SHOWN]],
        first=first,
        following=following,
    )


def is_wrong(told: Told) -> bool:
    """Whether an event tells of something that did not go as it was asked for."""
    match told.kind:
        case "tool.call":
            return told.content.get("fate") != Fate.DONE
        case "step":
            return some_text(told.content.get("finish")) not in WELL_FINISHED
        case "run.ended":
            return told.content.get("status") != RunStatus.ANSWERED
        case "approval.decided":
            return told.content.get("decision") in WRONG_DECISIONS
        case "workflow.step":
            return told.content.get("fate") not in WELL_CAME
        case "saga.undone":
            return told.content.get("fate") != Fate.DONE
        case "saga.registered":
            return bool(told.content.get("missing"))
        case kind:
            return kind in WRONG_KINDS


def _shown(told: Told, run: Run, family: Relatives, *, with_words: bool) -> Wrong:
    item: ShownCall | ShownNote
    if told.kind == "tool.call":
        item = call_of(told, told.content if with_words else without_words(told.content))
    else:
        item = note_of(told, with_words=with_words)
    relative = family.by_id.get(told.run_id)
    return Wrong(
        number=told.number,
        at=told.at,
        run_id=told.run_id,
        agent=visible(relative.agent) if relative else "",
        is_own=told.run_id == run.id,
        step=whole_number(told.content.get("step")),
        item=item,
    )
