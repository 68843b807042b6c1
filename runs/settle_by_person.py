"""A person says what happened to a write that nobody could tell of, or has it looked for once more (rulings 7, 8)."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db import connection, transaction

from liyagent.agents.models import ConfigVersion
from liyagent.audit.record import record
from liyagent.core.errors import BadInput, Conflict
from liyagent.core.plain import NotJson, NotStorable, clean_text, parse_json, to_plain
from liyagent.core.seal import KeyMissing, SealBroken
from liyagent.gateway.contracts import contracts_for
from liyagent.gateway.outcome import Contract, Fate, Outcome
from liyagent.leases.models import Holder
from runs.checkpoint import sealer_of
from runs.errors import (
    CallFound,
    CallNotFound,
    CallSettled,
    CallUnderWay,
    CheckpointBroken,
    NoReader,
)
from runs.event_buffer import event_buffer
from runs.hot import NO_UNDO
from runs.late_look import FOUND
from runs.marks import open_mark, seal_outcome
from runs.models import Call, Intent, Run, RunStatus
from runs.undo_found import undo_found

BY_PERSON = "by_person"
SETTLE = (
    "SELECT was, withdrawn, waiting FROM liyagent_settle_by_person("
    "%s, %s, %s, %s, %s, %s, %s::text[], %s::text[], %s::jsonb, %s)"
)
LOOK = "SELECT finding FROM liyagent_look_again(%s)"
MOST_ID = (1 << 63) - 1
LONGEST_REASON = 500
NO_RESULT = "It took effect, as a person found; what it returned is not known."
DID_NOT = "This call did not take effect, as a person found. It may be asked for again."
# Why a mark that is not settled is its run's own, by where that stands.
OWN = {
    RunStatus.RUNNING: "its run is being carried and settles it at its next statement",
    RunStatus.QUEUED: "its run waits for a process, which settles it first of all",
    RunStatus.WAITING: "its run waits, and settles it when that comes",
    RunStatus.PAUSED: "its run is paused for want of its sealing key; put that back, or stop the run: then it is unknown",
}
HELD = "it was not sent: it is held for a person; decide about its request"


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """A call as a person settled it; requests for the same intent that were withdrawn, or still wait."""

    call: Call
    withdrawn: tuple[UUID, ...]
    waiting: tuple[UUID, ...]


def it_happened(*, call_id: int, result: Any, actor: str, reason: str, typed_by: str = "") -> Said:
    """Settle a call of unknown outcome as done; `result` is what it returned, None where that is not known.

    `actor` is the user who says so, `typed_by` who typed it for them at the shell. Requests that wait because of it are
    withdrawn, and their runs are told. Raises `CallNotFound`, `CallUnderWay`,
    `CallSettled`, `KeyMissing`, and `BadInput` for a reason or a result that cannot be kept.
    """
    call, run = _found(call_id)
    plain = _plain(result, limit_bytes=_limit_of(run, call))
    said = NO_RESULT if plain is None else plain
    outcome = Outcome(fate=Fate.DONE, result=said, key=call.step_key, settlement=BY_PERSON)
    is_needed = plain is not None or not run.is_ended
    sealed = _sealed(run, call, outcome, is_needed=is_needed)
    return _settle(call, run, outcome, sealed, actor=actor, reason=reason, typed_by=typed_by)


def it_did_not(*, call_id: int, actor: str, reason: str, typed_by: str = "") -> Said:
    """Settle a call of unknown outcome as failed: the same intent may be sent again from here on (ruling 8).

    A request that waits because of it stays with those who decide. Raises as `it_happened`, and `CallFound`.
    """
    call, run = _found(call_id)
    outcome = Outcome(fate=Fate.FAILED, error=DID_NOT, key=call.step_key, settlement=BY_PERSON)
    sealed = _sealed(run, call, outcome, is_needed=not run.is_ended)
    return _settle(call, run, outcome, sealed, actor=actor, reason=reason, typed_by=typed_by)


def look_again(*, call_id: int, actor: str, reason: str, typed_by: str = "") -> Call:
    """Have a call of unknown outcome looked for at its vendor once more, within a sweep. Nothing is sent again.

    Raises as `it_did_not`; `NoReader` where its tool cannot be read back.
    """
    reason = _checked(reason)
    call, run = _found(call_id)
    if call.fate == Fate.UNKNOWN and not has_reader(call):
        raise NoReader(f"{call.server}/{call.tool} has no reader; look at the vendor yourself")
    with transaction.atomic(durable=True):
        rows = _ask(LOOK, [call_id])
        if not rows:
            raise _why_not(call_id, Fate.FAILED)
        detail = {
            **_named(call),
            "by": actor,
            "reason": reason,
            "was": {"late_finding": rows[0][0]},
        }
        _record("agent.call.look_again", run, actor=typed_by or actor, detail=detail)
    return Call.objects.get(id=call_id)


def result_given(text: str) -> Any:
    """Return what a person says that a call returned: JSON, and what is none are words; None for nothing.

    Raises `BadInput` for what cannot be kept.
    """
    if not text.strip():
        return None
    try:
        return parse_json(text)
    except NotJson:
        return text
    except NotStorable as error:
        raise BadInput(f"result cannot be kept: {error}") from error


def has_reader(call: Call) -> bool:
    """Whether the contract of its tool, as it stands now, says how such a write is found again."""
    name, version = f"{call.server}/{call.tool}", ConfigVersion.objects.values_list("version")
    contract = contracts_for((name,), version=version.get()[0]).get(name)
    return contract is not None and contract.reader is not None


def find_call(call_id: int) -> Call:
    """Return a marked call. Raises `CallNotFound`."""
    call = Call.objects.filter(id=call_id).first() if 0 < call_id <= MOST_ID else None
    if call is None:
        raise CallNotFound(
            f"there is no marked call {call_id}; `GET /api/calls/in-doubt` and `manage.py doubts list` show those in doubt, "
            "`manage.py runs show RUN` those of a run"
        )
    return call


def _found(call_id: int) -> tuple[Call, Run]:
    call = find_call(call_id)
    run = Run.objects.filter(id=call.run_id).first()
    if run is None:
        raise CallNotFound(
            f"the run of call {call_id} is not kept any more, so that nothing can be said of it"
        )
    return call, run


def _settle(
    call: Call,
    run: Run,
    outcome: Outcome,
    sealed: bytes | None,
    *,
    actor: str,
    reason: str,
    typed_by: str,
) -> Said:
    reason = _checked(reason)
    kinds, contents = _event(call, run, outcome, actor)
    undo = undo_found(call, run, outcome.result, is_known=outcome.result != NO_RESULT)
    is_done = outcome.fate is Fate.DONE
    values: list[Any] = [call.id, outcome.fate.value, sealed, run.key_id, actor, reason]
    values += [kinds, contents, *(undo if is_done else NO_UNDO).values()]
    with transaction.atomic(durable=True):
        rows = _ask(SETTLE, values)
        if not rows:
            raise _why_not(call.id, outcome.fate)
        was, withdrawn, waiting = rows[0]
        detail = {**_named(call), "fate": outcome.fate.value, "by": actor, "reason": reason}
        detail["was"] = json.loads(was)
        detail |= {"withdrawn": list(map(str, withdrawn)), "waiting": list(map(str, waiting))}
        _record("agent.call.settled_by_person", run, actor=typed_by or actor, detail=detail)
        for approval in detail["withdrawn"]:
            told = {"approval": approval, "by": actor, "reason": reason, "settled_call": call.id}
            _record("agent.approval.withdrawn", run, actor=typed_by or actor, detail=told)
    settled = Call.objects.get(id=call.id)
    return Said(call=settled, withdrawn=tuple(withdrawn), waiting=tuple(waiting))


def _ask(statement: str, values: list[Any]) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        return list(cursor.fetchall())


def _record(action: str, run: Run, *, actor: str, detail: dict[str, Any]) -> None:
    record(
        action,
        actor=actor,
        mission=run.mission,
        correlation_id=run.correlation_id,
        run_id=run.id,
        request_id=run.request_id,
        detail=detail,
    )


def _named(call: Call) -> dict[str, Any]:
    name = f"{call.server}/{call.tool}"
    return {"id": call.id, "call": name, "step": call.step, "index": call.index}


def _event(call: Call, run: Run, outcome: Outcome, actor: str) -> tuple[list[str], list[str]]:
    events = event_buffer(run)
    events.add(
        "call.settled",
        step=call.step,
        index=call.index,
        server=call.server,
        tool=call.tool,
        fate=outcome.fate.value,
        settlement=BY_PERSON,
        by=actor,
    )
    return [kind for kind, _ in events.pending], [line for _, line in events.pending]


def _sealed(run: Run, call: Call, outcome: Outcome, *, is_needed: bool) -> bytes | None:
    """The outcome sealed for its run; of one that ended, and whose key is gone, nothing has to be kept."""
    try:
        sealer = sealer_of(run)
    except KeyMissing:
        if is_needed:
            raise
        return None
    return seal_outcome(sealer, outcome, step=call.step, index=call.index)


def _limit_of(run: Run, call: Call) -> int:
    """What its tool may return at most, as it was marked."""
    try:
        return open_mark(sealer_of(run), call).payload.limit_bytes
    except (KeyMissing, SealBroken, CheckpointBroken):
        return Contract(server=call.server, tool=call.tool).limit_bytes


def _plain(result: Any, *, limit_bytes: int) -> Any:
    try:
        return to_plain(result, limit_bytes=limit_bytes)
    except NotStorable as error:
        raise BadInput(f"result cannot be kept: {error}") from error


def _checked(reason: str) -> str:
    cleaned = clean_text(reason).strip()
    if not 0 < len(cleaned) <= LONGEST_REASON:
        raise BadInput(
            f"reason wants 1 to {LONGEST_REASON} characters: what was looked at, and seen"
        )
    if not cleaned.isprintable():
        raise BadInput("reason holds what cannot be seen; it wants one line of text")
    return cleaned


def _why_not(call_id: int, fate: Fate) -> Exception:
    """What is in the way, read after nothing was changed."""
    call, run = _found(call_id)
    if not call.fate:
        if call.intent == Intent.HELD:
            return CallUnderWay(HELD, call=call_id, approval=call.approval_id)
        return CallUnderWay(OWN.get(RunStatus(run.status), "its run has just ended; ask again"))
    if call.fate == Fate.UNKNOWN and call.late_finding == FOUND and fate is not Fate.DONE:
        return CallFound("its record with this key is there", call=call_id, key=call.step_key)
    if call.fate == Fate.UNKNOWN and fate is not Fate.DONE and _may_be_sent(call):
        told = f"a process that stalls may still send it until {call.deadline:%H:%M:%S} UTC; say so after that"
        return CallUnderWay(told, call=call_id)
    if call.fate == Fate.UNKNOWN:
        return Conflict("it was changed meanwhile; read it again, and say it again")
    if call.settlement == BY_PERSON:
        said = "it happened" if call.fate == Fate.DONE else "it did not happen"
        return CallSettled(f"{call.settled_by} said that {said}: {call.settled_reason}")
    return CallSettled(f"it is {call.fate}")


def _may_be_sent(call: Call) -> bool:
    """Whether the process that marked it may be alive, and its mark's own deadline has not passed."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT %s > liyagent_now()", [call.deadline])
        is_before = bool(cursor.fetchone()[0])
    return is_before and Holder.objects.filter(id=call.holder).exists()
