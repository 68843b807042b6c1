"""Go on from a run that ended without an answer: a new run with its task and all that was said, because a person asks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from psycopg.errors import UniqueViolation

from liyagent.core.plain import clean_text
from liyagent.core.seal import KeyMissing, SealBroken
from runs.errors import (
    AlreadyContinued,
    NotItsOwn,
    OfWorkflow,
    RunAnswered,
    RunGoesOn,
    UnknownWrites,
    WordsNotKept,
)
from runs.head import run_head
from runs.models import ENDED, Call, Run, RunStatus
from runs.so_far import SoFar, so_far
from runs.start import Started, find_started, start_run
from runs.transcript import messages_kept
from runs.unknown import unknown_calls

CONSTRAINT = "runs_one_continuation"
MOST_UNKNOWN = 100
MOST_NAMED = 5
MOST_CONTINUATIONS = 20
# So many runs of a chain are looked back at for writes that nobody settled.
LONGEST_CHAIN = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class GoingOn:
    """What a person asks: a word for the agent, and whether to go on despite writes of unknown outcome."""

    run_id: UUID
    started_by: str
    word: str = ""
    despite_unknown: bool = False
    request_id: str = ""
    start_key: str = ""
    body_digest: str = ""


def continue_run(asked: GoingOn) -> Started:
    """Start a run that goes on from an ended one, by its channel and of its mission; with a start key, once.

    Refused with `RunGoesOn` while it, or a run it handed work to, has not ended; `RunAnswered`; `AlreadyContinued` naming
    the run that goes on, or went on, from it; `OfWorkflow`; `NotItsOwn` for one that another run asked for; `UnknownWrites`, listing
    them, unless `despite_unknown`; `WordsNotKept`. Else raises as `start_run`.
    """
    first = run_head(asked.run_id)
    earlier = find_started(asked.started_by, first.agent_key, asked.start_key, asked.body_digest)
    if earlier is not None:
        return earlier
    _check_ended(first)
    _check_last(first)
    unknown = unknown_behind(first)
    if unknown and not asked.despite_unknown:
        raise _unknown_writes(first, unknown)
    before = _so_far(first)
    word = clean_text(asked.word).strip()
    try:
        return start_run(
            agent_key=first.agent_key,
            task=f"{before.task}\n\n{word}" if word else before.task,
            history=before.history,
            entry=first.entry,
            started_by=asked.started_by,
            mission=first.mission,
            request_id=asked.request_id,
            start_key=asked.start_key,
            body_digest=asked.body_digest,
            continues=first.id,
            told={"continues": str(first.id), "despite_unknown": [it.id for it in unknown]},
        )
    except UniqueViolation as error:
        if error.diag.constraint_name != CONSTRAINT:
            raise
        _check_last(first)
        raise AlreadyContinued(run=first.id) from error


def may_be_continued(run: Run) -> bool:
    """Whether a run is one of those that can be gone on from, as far as its head tells; a workflow's begins again or not at all."""
    is_rest = run.is_ended and run.status != RunStatus.ANSWERED and run.parent_id is None
    return is_rest and not run.workflow


def continuations_of(run: Run) -> list[Run]:
    """Return the runs that go on, or went on, from it, the newest first, at most 20."""
    rows = Run.objects.filter(continues=run.id).order_by("-id")
    return list(rows.only("id", "status", "calls_made")[:MOST_CONTINUATIONS])


def unknown_behind(run: Run) -> list[Call]:
    """Return the writes of unknown outcome of a run, of those below it and of those it goes on from; at most 100."""
    chain, at = [run.correlation_id], run.continues
    while at is not None and len(chain) < LONGEST_CHAIN:
        row = Run.objects.filter(id=at).values_list("correlation_id", "continues").first()
        if row is None:
            break
        chain.append(row[0])
        at = row[1]
    found = unknown_calls().filter(correlation_id__in=chain).order_by("marked_at", "id")
    return list(found.defer("sealed", "outcome")[:MOST_UNKNOWN])


def _check_ended(run: Run) -> None:
    if run.workflow:
        raise OfWorkflow(run=run.id)
    if run.parent_id is not None:
        raise NotItsOwn(f"run {run.id} was asked for by run {run.parent_id}: go on with that one")
    family = Run.objects.filter(correlation_id=run.correlation_id).exclude(status__in=ENDED)
    open_run = family.only("id", "status").first()
    if open_run is not None:
        raise RunGoesOn(f"run {open_run.id} is {open_run.status}: it goes on by itself")
    if run.status == RunStatus.ANSWERED:
        raise RunAnswered(run=run.id)


def _check_last(run: Run) -> None:
    """One that ended before it did anything does not stand in the way; what another did, only that one knows."""
    for it in continuations_of(run):
        if not it.is_ended:
            raise AlreadyContinued(f"run {it.id} goes on from it, and is {it.status}")
        if it.status == RunStatus.ANSWERED:
            raise AlreadyContinued(f"run {it.id} went on from it, and has answered")
        if it.calls_made:
            raise AlreadyContinued(
                f"run {it.id} went on from it, and ended as {it.status}: go on from that one"
            )


def _so_far(run: Run) -> SoFar:
    try:
        messages = messages_kept(run)
    except (KeyMissing, SealBroken) as error:
        raise WordsNotKept(f"what was said in run {run.id} cannot be opened: {error}") from error
    if not messages:
        raise WordsNotKept(run=run.id)
    return so_far(run, messages)


def _unknown_writes(run: Run, calls: Sequence[Call]) -> UnknownWrites:
    named = ", ".join(f"call {it.id} ({it.server}/{it.tool})" for it in calls[:MOST_NAMED])
    more = ", and more" if len(calls) > MOST_NAMED else ""
    error = UnknownWrites(
        f"of run {run.id} nobody knows what became of {named}{more}: say what happened to each, or go on despite them"
    )
    error.errors = [
        {
            "field": f"calls.{it.id}",
            "detail": f"{it.server}/{it.tool}, step {it.step} of run {it.run_id}, step key {it.step_key}",
        }
        for it in calls
    ]
    return error
