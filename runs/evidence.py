"""What was recorded of a run: its events, whether they are intact and complete, and whether their state is its checkpoint's."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import Any
from uuid import UUID

from django.db import connection

from events.completeness import Completeness, RunFacts
from events.content import content_of
from events.fold import Budget, RunState, State
from events.keys import checking_keys
from events.reading import (
    STORED_AT,
    EventRow,
    HeadRow,
    one_moment,
    purged_among,
    read_facts,
    read_head,
    stream_events,
)
from events.sealing import SEAL_CHECK
from events.verdict import Judge, Verdict
from events.words import without_words
from liyagent.core.paging import bad_cursor, check_names, limit_of, read_cursor, write_cursor
from runs.approved_run import LOOP
from runs.evidence_compare import Difference, Live, LiveCall, differences
from runs.evidence_facts import OF_APPROVED
from runs.head import lease_of, run_head
from runs.models import Call, Run

FILTERS = ("limit", "cursor")
# A longer chain is judged and folded at the shell alone: `manage.py events verify --run`.
MOST_JUDGED = 20_000
MOST_JUDGED_SIZE = 200_000_000
MOST_ITEMS = 2000
MOST_MARKS = 2000
MOST_OPEN = 100
MOST_DIFFERENCES = 50
# A page ends before its contents come to more.
PAGE_BYTES = 1_000_000
ROWS_AT_ONCE = 20
LONGEST_NUMBER = 19
PAGE = """
SELECT correlation_id, number, run_id, {at}, kind, mission, recording, content, hash, tag FROM events_runevent
    WHERE correlation_id = %s AND number > %s {of_run} ORDER BY number LIMIT %s
"""
MARKS = ("step", "index", "step_key", "fate", "settlement")
OPEN_MARKS = ("step", "index", "server", "tool", "intent", "step_key", "approval_id", "marked_at")


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """What a whole chain was found to be. `states` are of the runs that are told of: all of a root's chain, else the run's own."""

    verdict: Verdict
    state: State
    states: Sequence[RunState]
    differs: Sequence[Difference]


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """A page of what was recorded of a run. `judged` is None behind the first page, and of a chain that is too long for it.

    `head` is None where nothing is recorded any more: since `purged_at`, where a certificate says so. `next_cursor` is empty at
    the end.
    """

    run: Run
    head: HeadRow | None
    events: Sequence[EventRow]
    next_cursor: str
    is_first: bool
    judged: Judged | None
    purged_at: datetime | None
    checkpoint: dict[str, Any]


def evidence_of(run_id: UUID, asked: dict[str, str]) -> Evidence:
    """Return a page of a run's events, and on the first what all of them come to; all of one moment.

    Of a child: the events of its root's chain that are its own, and the verdict on the whole chain (ruling 25). Raises
    `RunNotFound`, `BadInput`.
    """
    check_names(asked, FILTERS)
    limit, after = limit_of(asked), _after(asked)
    with one_moment():
        run = run_head(run_id)
        head = read_head(run.correlation_id)
        events, has_more = _page(run, after=after, limit=limit)
        is_first = "cursor" not in asked
        is_short = head is None or head.count <= MOST_JUDGED
        purged_at = None if head else purged_among([run.correlation_id]).get(run.correlation_id)
        is_judged = is_first and is_short and purged_at is None
        return Evidence(
            run=run,
            head=head,
            events=events,
            next_cursor=write_cursor([str(events[-1].number)]) if has_more else "",
            is_first=is_first,
            judged=judge_chain(run, head) if is_judged else None,
            purged_at=purged_at,
            checkpoint=checkpoint_of(run),
        )


def judge_chain(run: Run, head: HeadRow | None) -> Judged | None:
    """Read the run's whole chain once: the verdict, the state, and what differs from the rows. Inside `one_moment`.

    None where its contents come to more than `MOST_JUDGED_SIZE` characters.
    """
    chain = run.correlation_id
    facts = read_facts(chain, chain).get(chain, [])
    judge = Judge(
        correlation_id=chain,
        head=head,
        keys=checking_keys(),
        completeness=Completeness.of(facts),
        seal=SEAL_CHECK.check,
    )
    state = State(Budget(MOST_ITEMS))
    size = 0
    for row in islice(stream_events(chain, chain), MOST_JUDGED + 1):
        size += len(row.content)
        if size > MOST_JUDGED_SIZE:
            return None
        judge.see(row)
        state.see(row)
    states = [it for it in state.runs.values() if is_root(run) or it.run_id == run.id]
    return Judged(
        verdict=judge.verdict(),
        state=state,
        states=states,
        differs=list(islice(_differences(run, state, facts), MOST_DIFFERENCES)),
    )


def is_root(run: Run) -> bool:
    """Whether the run is the one that its chain was begun for."""
    return run.parent_id is None


def event_told(row: EventRow, *, with_words: bool) -> dict[str, Any]:
    """Return an event as it is shown; its words only where they may be read."""
    content = content_of(row.content)
    return {
        "number": row.number,
        "at": row.at,
        "run_id": row.run_id,
        "kind": row.kind,
        "mission": row.mission,
        "recording": row.recording,
        "content": content if with_words else without_words(content),
        "hash": bytes(row.hash).hex(),
    }


def checkpoint_of(run: Run) -> dict[str, Any]:
    """Return what the row of a run says, for its events' state to be compared with."""
    marks = Call.objects.filter(run_id=run.id, fate="").order_by("step", "index")
    return {
        "run_id": run.id,
        "status": run.status,
        "error": run.error,
        "attempt": run.attempt,
        "sequence": run.sequence,
        "steps": run.model_steps,
        "calls": run.calls_made,
        "input_tokens": run.input_tokens,
        "output_tokens": run.output_tokens,
        "cost_micros": run.cost_micros,
        "losses": run.losses,
        "resumes_recorded": run.resumes_recorded,
        "events_missing": run.events_missing,
        "open_marks": list(marks.values(*OPEN_MARKS)[:MOST_OPEN]),
        "lease": lease_of(run),
    }


def live_of(run: Run, *, most_marks: int = MOST_MARKS) -> Live:
    """Return what the rows of a run and its marks say, as it is compared with its events."""
    rows = Call.objects.filter(run_id=run.id).order_by("step", "index").values(*MARKS)
    marks = [LiveCall(**it) for it in rows[: most_marks + 1]]
    return Live(
        status=run.status,
        error=run.error,
        is_ended=run.is_ended,
        is_begun=run.attempt > 0 and (run.is_ended or run.sequence > 0),
        counters={
            "steps": run.model_steps,
            "calls": run.calls_made,
            "input_tokens": run.input_tokens,
            "output_tokens": run.output_tokens,
            "cost_micros": run.cost_micros,
        },
        resumes=run.resumes_recorded,
        calls=marks[:most_marks],
        before=OF_APPROVED if run.loop.startswith(LOOP) else {},
        has_all_calls=len(marks) <= most_marks,
        is_written_ahead=run.is_written_ahead,
    )


def _differences(run: Run, state: State, facts: Sequence[RunFacts]) -> Iterator[Difference]:
    """Of a child what differs in itself; of a root what does in any run of its chain, named."""
    yield from differences(state.runs.get(run.id), live_of(run))
    if not is_root(run):
        return
    others = [it.run_id for it in facts if it.run_id != run.id][:MOST_OPEN]
    for other in Run.objects.filter(id__in=others).defer("seal").order_by("created_at", "id"):
        for it in differences(state.runs.get(other.id), live_of(other, most_marks=MOST_OPEN)):
            what = f"run {other.id}: {it.what}"
            yield Difference(what=what, events=it.events, checkpoint=it.checkpoint)


def _page(run: Run, *, after: int, limit: int) -> tuple[list[EventRow], bool]:
    """The next events, one at the least where there is one, and whether more follow. No more is read than is told."""
    of_run, values = ("", [run.correlation_id, after])
    if not is_root(run):
        of_run, values = "AND run_id = %s", [*values, run.id]
    found: list[EventRow] = []
    size = 0
    cursor: Any = connection.chunked_cursor()
    with cursor:
        cursor.execute(PAGE.format(at=STORED_AT, of_run=of_run), [*values, limit + 1])
        while rows := cursor.fetchmany(ROWS_AT_ONCE):
            for row in map(EventRow._make, rows):
                size += len(row.content)
                if len(found) == limit or (found and size > PAGE_BYTES):
                    return found, True
                found.append(row)
    return found, False


def _after(asked: dict[str, str]) -> int:
    if "cursor" not in asked:
        return 0
    (number,) = read_cursor(asked["cursor"], parts=1)
    if not (number.isascii() and number.isdigit() and len(number) < LONGEST_NUMBER):
        raise bad_cursor()
    return int(number)
