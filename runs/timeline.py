"""What a mission's timeline tells of runs, and of their writes in doubt."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from django.db.models import Q
from django.urls import reverse

from liyagent.access.permissions import VIEW_RUN
from liyagent.gateway.outcome import Fate
from missions.places import behind, place_of, read_numbered, read_place
from missions.timeline import Entry, Source, register
from runs.models import ROOT_LOOP, Call, Run
from runs.undo_run import is_undo_run
from runs.unknown import UNKNOWN
from runs.unsettled import UNSETTLED

VIEW_CALL = "runs.view_call"
FACTS = (
    "id", "correlation_id", "parent_id", "loop", "agent_key", "agent_version", "entry", "started_by", "request_id", "status",
    "error", "attempt", "losses", "model_steps", "calls_made", "created_at", "ended_at", "continues",
    "workflow",
)  # fmt: skip
CALL_FACTS = (
    "id", "run_id", "step", "index", "server", "tool", "fate", "step_key", "marked_at", "approval_id",
)  # fmt: skip
# How many calls in doubt, of all missions, are looked through for one page, at most, and how many at once.
MOST_LOOKED_THROUGH, LOOKED_AT_ONCE = 5_000, 250


def runs_of(mission: str, before: str, limit: int) -> list[Entry]:
    """Return the runs of a mission by their start: an entry each, with where it stands now."""
    rows = Run.objects.filter(mission=mission).only(*FACTS).order_by("-created_at", "-id")
    if before:
        at, last_id = read_place(before)
        rows = rows.filter(behind(at, last_id, moment="created_at"))
    return [_run_entry(run) for run in rows[:limit]]


def doubts_of(mission: str, before: str, limit: int) -> list[Entry]:
    """Return the calls in doubt of a mission by their mark, the newest first; what is settled is here no more.

    Where 5,000 calls in doubt, of whatever mission, were looked through, the last entry says so, and leads on behind them.
    """
    found: list[Entry] = []
    looked = _newest_doubts(read_numbered(before) if before else None)
    for count, (call, its_mission) in enumerate(looked, start=1):
        if its_mission == mission:
            found.append(_call_entry(call))
        if len(found) == limit:
            break
        if count == MOST_LOOKED_THROUGH:
            found.append(_looked_through(call))
            break
    return found


def _newest_doubts(place: tuple[datetime, int] | None) -> Iterator[tuple[Call, str]]:
    """Yield what is in doubt, each with the mission of its run; each fate by its own part of the index."""
    while True:
        calls = sorted(
            (call for state in (UNKNOWN, UNSETTLED) for call in _next(state, place)),
            key=lambda it: (it.marked_at, it.id),
            reverse=True,
        )[:LOOKED_AT_ONCE]
        runs = Run.objects.filter(id__in={it.run_id for it in calls})
        missions = dict(runs.values_list("id", "mission"))
        yield from ((it, missions.get(it.run_id, "")) for it in calls)
        if len(calls) < LOOKED_AT_ONCE:
            return
        place = calls[-1].marked_at, calls[-1].id


def _next(state: Q, place: tuple[datetime, int] | None) -> list[Call]:
    rows = Call.objects.filter(state).only(*CALL_FACTS)
    if place is not None:
        at, last_id = place
        rows = rows.filter(behind(at, last_id, moment="marked_at"))
    return list(rows.order_by("-marked_at", "-id")[:LOOKED_AT_ONCE])


def _run_entry(run: Run) -> Entry:
    what = f"agent {run.agent_key} was asked by {run.entry}"
    if is_undo_run(run):
        what = f"what run {run.correlation_id} did is undone, the newest first"
    elif run.workflow and run.loop != ROOT_LOOP:
        what = f"a branch of workflow {run.workflow} began"
    elif run.workflow:
        what = f"workflow {run.workflow} of agent {run.agent_key} was started by {run.entry}"
    elif run.loop != ROOT_LOOP:
        what = f"agent {run.agent_key} was handed work"
    elif run.continues:
        what = f"agent {run.agent_key} was asked to go on from run {run.continues}"
    return Entry(
        at=run.created_at,
        place=place_of(run.created_at, run.id),
        kind="run",
        told=f"{what}; the run is {run.status}",
        by=run.started_by,
        run_id=run.id,
        url=reverse("run-one", args=[run.id]),
        facts={
            "agent": run.agent_key,
            "workflow": run.workflow,
            "version": run.agent_version,
            "entry": run.entry,
            "status": run.status,
            "error": run.error,
            "correlation_id": str(run.correlation_id),
            "parent_id": str(run.parent_id) if run.parent_id else None,
            "continues": str(run.continues) if run.continues else None,
            "request_id": run.request_id,
            "attempts": run.attempt,
            "losses": run.losses,
            "steps": run.model_steps,
            "calls": run.calls_made,
            "ended_at": run.ended_at,
        },
    )


def _call_entry(call: Call) -> Entry:
    is_unknown = call.fate == Fate.UNKNOWN
    known = "nobody knows whether it took effect" if is_unknown else "it is not settled yet"
    return Entry(
        at=call.marked_at,
        place=place_of(call.marked_at, call.id),
        kind="call.in_doubt",
        told=f"{call.server}/{call.tool} was marked to be sent, and {known}",
        run_id=call.run_id,
        url=reverse("doubt-one", args=[call.id]),
        facts={
            "call": call.id,
            "name": f"{call.server}/{call.tool}",
            "step": call.step,
            "index": call.index,
            "state": "unknown" if is_unknown else "open",
            "key": call.step_key,
            "approval": str(call.approval_id) if call.approval_id else None,
        },
    )


def _looked_through(call: Call) -> Entry:
    return Entry(
        at=call.marked_at,
        place=place_of(call.marked_at, call.id),
        kind="calls.looked_through",
        told=f"{MOST_LOOKED_THROUGH} calls in doubt were looked through; the next page looks further",
        url=reverse("doubt-list"),
        leads_on=True,
    )


register(Source(name="runs", needs=VIEW_RUN, entries=runs_of))
register(Source(name="doubts", needs=VIEW_CALL, entries=doubts_of))
