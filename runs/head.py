"""What is told of a run beside its head: lease, calls, takeovers, answer. For the API, console and command line."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from events.content import HIGHEST, some_text
from liyagent.audit.models import AuditRow
from liyagent.core.errors import LiyagentError
from liyagent.leases.models import Holder
from runs.decisions import gate_told, requests_of, settlement_told, with_decision
from runs.errors import no_run
from runs.models import Call, Run, RunStatus
from runs.told_events import LAST, Told, Window, told_in
from runs.transcript import read_transcript
from runs.unknown import with_unknown_writes

MOST_CALLS = 1000
MOST_TAKEOVERS = 100
WHOLE, OF_CALLS = Window(0, LAST), " AND kind = 'tool.call'"
RESUMED = "agent.run.crash_resumed"
# Bodies are never read for a list (ruling 12).
BODIES = ("seal",)
CALL_FACTS = (
    "id",
    "step",
    "index",
    "server",
    "tool",
    "step_key",
    "fate",
    "settlement",
    "intent",
    "attempt",
    "marked_at",
    "settled_at",
    "late_finding",
    "approval_id",
)


def run_head(run_id: UUID) -> Run:
    """Return a run's head with its `unknown_writes`. Raises `RunNotFound`."""
    run = with_unknown_writes(Run.objects.defer(*BODIES)).filter(id=run_id).first()
    if run is None:
        raise no_run(run_id)
    return run


def lease_of(run: Run) -> dict[str, Any] | None:
    """Return the lease of a running run: the head's holder and that holder's deadline; None for any other."""
    if run.status != RunStatus.RUNNING or run.holder is None:
        return None
    holder = Holder.objects.filter(id=run.holder).first()
    return {
        "name": f"checkpoint:{run.id}",
        "holder": holder.name if holder else str(run.holder),
        "until": holder.renew_by if holder else None,
    }


def calls_of(run: Run) -> tuple[list[dict[str, Any]], bool]:
    """Return the run's calls in order, at most 1000, and whether there are more.

    A write is told from its mark, anything else from its event: without the event log, reads are not told. `decision` is
    what a person, or a gate, said of it.
    """
    told: dict[tuple[int, int], dict[str, Any]] = {}
    events = told_in(run.correlation_id, [run.id], WHOLE, limit=MOST_CALLS + 1, more=OF_CALLS)
    for event in events:
        if (call := _from_event(event)) is not None:
            told[call["step"], call["index"]] = call
    rows = Call.objects.filter(run_id=run.id).order_by("step", "index").values(*CALL_FACTS)
    marks = list(rows[: MOST_CALLS + 1])
    requests = requests_of(mark["approval_id"] for mark in marks)
    for mark in marks:
        told[mark["step"], mark["index"]] = {**with_decision(mark, requests), "effect": "write"}
    calls = [told[place] for place in sorted(told)]
    return calls[:MOST_CALLS], len(calls) > MOST_CALLS


def _from_event(event: Told) -> dict[str, Any] | None:
    """Return a call as its event tells it, without args and result; None for an event that tells of no call of ours."""
    place = {it: event.content.get(it) for it in ("step", "index")}
    if not all(type(it) is int and 0 <= it < HIGHEST for it in place.values()):
        return None
    names = ("server", "tool", "effect", "key", "fate", "settlement", "posture", "gate")
    known = {it: some_text(event.content.get(it)) for it in names}
    return {
        **place,
        "server": known["server"],
        "tool": known["tool"],
        "effect": known["effect"],
        "step_key": known["key"],
        "fate": known["fate"],
        "settlement": settlement_told(fate=known["fate"], settlement=known["settlement"]),
        "decision": gate_told(fate=known["fate"], posture=known["posture"], gate=known["gate"]),
        "marked_at": None,
        "settled_at": event.at,
    }


def takeovers_of(run: Run) -> list[dict[str, Any]]:
    """Return each crash resume as the audit log tells it (CR-19), oldest first, at most 100."""
    rows = AuditRow.objects.filter(run_id=run.id, action=RESUMED).order_by("id")[:MOST_TAKEOVERS]
    return [{**row.detail, "at": row.at} for row in rows]


def answer_of(run: Run) -> dict[str, Any]:
    """Return `answer`, None before the end; where it cannot be opened, `answer_missing` says why."""
    if not run.is_ended:
        return {"answer": None}
    try:
        return {"answer": read_transcript(run)["answer"]}
    except LiyagentError as error:
        return {"answer": None, "answer_missing": error.title}
