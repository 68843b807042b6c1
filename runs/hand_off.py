"""Hand what a failed run left to a person: once, when all was tried, with everything they have to know (SG-08 to SG-10)."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import DataError, Error, IntegrityError, InterfaceError, connection, transaction
from django.db.models import Value

from liyagent.approvals.digests import digest_of
from liyagent.approvals.handlers import SAGA
from liyagent.approvals.models import Approval
from liyagent.approvals.words import FORMAT, WORDS
from liyagent.audit.record import record
from liyagent.core.canonical import digest
from liyagent.core.errors import LiyagentError
from liyagent.core.ids import new_id
from liyagent.tickets.file_ticket import file_ticket
from liyagent.tickets.models import NOW
from runs.checkpoint import keyring
from runs.event_buffer import event_buffer
from runs.handed import WRITTEN, tell_version
from runs.models import Run, RunStatus
from runs.outside_ticket import LOOP as TICKET_LOOP
from runs.outside_ticket import begin_ticket_run, came_of, ticket_run_of
from runs.saga_handoff import Written, write_hand_off
from runs.saga_told import hand_off_body
from runs.undo_run import is_undo_run
from sagas.models import Handoff, Saga, SagaStatus
from sagas.wording import CAUSES

logger = logging.getLogger(__name__)

ACTOR = "liyagent"
SOURCE, GATE, AGAIN = "saga", "saga", "begin_again"
FILED = (Handoff.APPROVAL, Handoff.TICKET)
# All was tried that is tried by itself.
TRIED = (SagaStatus.COMPENSATED, SagaStatus.PARTIAL, SagaStatus.HANDED_OFF)
# A request runs out of time; what a failed run left does not. Nobody waits for it in a process meanwhile.
EXPIRY = timedelta(days=3650)
# How it ended, behind `A run of …`.
ENDED: Mapping[str, str] = {
    "stopped": "was stopped",
    "rejected": "ended, because a person said no",
    "cap": "met a cap",
}
FLUSH = "SELECT liyagent_flush_events(%s, %s, %s, %s, %s, %s::text[], %s::text[])"
# What a dead process left: its family's last end said where the saga stands, and nobody went on. The index holds those
# alone that are to be handed off. Runs are looked up one by one: an EXISTS might be answered by reading all that are open.
DUE = """
SELECT s.id, s.status = 'compensating'
    FROM sagas_saga s WHERE s.handed_off_at IS NULL AND s.handoff IN ('approval', 'ticket')
        AND (s.status IN ('compensated', 'partial', 'handed_off') OR s.status = 'compensating'
            AND (SELECT r.ended_at FROM runs_run r WHERE r.id = s.compensating_run) IS NOT NULL)
        AND (SELECT t.ended_at IS NULL FROM runs_run t WHERE t.correlation_id = s.id AND t.loop = 'handoff') IS NOT TRUE
    ORDER BY s.changed_at LIMIT %s
"""
JUDGE = "SELECT liyagent_judge_saga(%s)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Filed:
    """What was filed: its id, "" while a run is to file it elsewhere. `written`: the version that was handed over just now."""

    id: str
    written: Written | None = None


def hand_off(saga_id: UUID, *, skip_locked: bool = False) -> Saga | None:
    """Put it before a person, in one commit, as its run's definition says; None where that is not its turn, or was done.

    With `skip_locked` also where somebody else is at it. An approval, which begins it again, or a ticket; audited as
    `saga.handoff`, and told in the run's chain.
    """
    with transaction.atomic(durable=True):
        # The head before the saga: the lock order of all that is done to one.
        heads = Run.objects.select_for_update(no_key=True, skip_locked=skip_locked)
        root = heads.filter(id=saga_id).first()
        due = Saga.objects.filter(id=saga_id, handed_off_at=None, handoff__in=FILED)
        saga = due.filter(status__in=TRIED).select_for_update(skip_locked=skip_locked).first()
        if root is None or saga is None:
            return None
        filed = WAYS[saga.handoff](saga, root)
        if filed.id:
            _note(saga, root, filed)
        _tell(root, saga, filed)
        return Saga.objects.get(id=saga_id) if filed.id else None


def _note(saga: Saga, root: Run, filed: Filed) -> None:
    rows = Saga.objects.filter(id=saga.id)
    rows.update(handoff_id=filed.id, handed_off_at=NOW, changed_at=NOW)
    record(
        "saga.handoff",
        actor=ACTOR,
        mission=saga.mission,
        correlation_id=saga.id,
        run_id=saga.id,
        request_id=root.request_id,
        agent=saga.agent_key,
        detail={"kind": saga.handoff, "id": filed.id, "status": saga.status},
    )


def hand_off_behind(run: Run, status: RunStatus) -> None:
    """Hand off what is due now that a run has ended. Never raises for what the next sweep mends (`hand_off_due`)."""
    is_root = run.id == run.correlation_id and status is not RunStatus.ANSWERED
    if not is_root and not is_undo_run(run) and run.loop != TICKET_LOOP:
        return
    try:
        # Most of what fails had nothing to be undone: that is seen without a lock.
        if Saga.objects.filter(id=run.correlation_id, handed_off_at=None).exists():
            hand_off(run.correlation_id)
    except (LiyagentError, Error, InterfaceError):
        logger.warning("run %s is handed off by a sweep", run.correlation_id, exc_info=True)


def hand_off_due(*, limit: int = 20) -> int:
    """Hand off what a process that died left, the longest due first, and say how much.

    One that cannot be handed off is told in the log, and keeps no other from it.
    """
    with connection.cursor() as cursor:
        cursor.execute(DUE, [limit])
        due = list(cursor.fetchall())
    return sum(_is_handed_off(saga_id, is_left=is_left) for saga_id, is_left in due)


def _is_handed_off(saga_id: UUID, *, is_left: bool) -> bool:
    try:
        if is_left:
            _judge(saga_id)
        return hand_off(saga_id, skip_locked=True) is not None
    except (LiyagentError, ValueError, LookupError, TypeError, DataError, IntegrityError):
        logger.exception("run %s cannot be handed off", saga_id)
        Saga.objects.filter(id=saga_id, handed_off_at=None).update(changed_at=NOW)
        return False


def _judge(saga_id: UUID) -> None:
    with transaction.atomic(durable=True), connection.cursor() as cursor:
        cursor.execute(JUDGE, [saga_id])


def _approval(saga: Saga, root: Run) -> Filed:
    """A request to begin again; its words are all that is to be known, under the seal of every request."""
    body = hand_off_body(saga, root)
    written = write_hand_off(saga, root, body)
    request_id, ring = new_id(), keyring()
    ceiling: dict[str, Any] = {}
    sealer = ring.sealer(key_id=ring.newest, run_id=request_id, format_number=FORMAT)
    reminder = settings.LIYAGENT.approval_reminder_seconds
    name = {"server": SOURCE, "tool": root.workflow or AGAIN}
    covered = digest_of(**name, args=body, agent=saga.agent_key, run_as="", policy_fingerprint="")
    Approval.objects.create(
        id=request_id, kind=SAGA, run_id=root.id, correlation_id=root.id, step=0, index=0, run_waits=False,
        mission=saga.mission, agent_key=saga.agent_key, entry=root.entry, **name, gate=GATE,
        held_reason=_reason(saga, body), digest=covered, policy_fingerprint="", ceiling=ceiling,
        ceiling_digest=digest(ceiling), sealed=sealer.seal({"args": body}, kind=WORDS, number=0), key_id=ring.newest,
        created_at=NOW, expires_at=NOW + Value(EXPIRY),
        remind_at=NOW + Value(timedelta(seconds=reminder)) if reminder else None, handoff_digest=written.digest,
    )  # fmt: skip
    return Filed(id=str(request_id), written=written)


def _ticket(saga: Saga, root: Run) -> Filed:
    """A ticket, here or where the settings say. What a run cannot file there is filed here, as a further version."""
    run = ticket_run_of(saga.id)
    if run is not None and not run.is_ended:
        return Filed(id="")
    if run is not None and (came := came_of(run)):
        return Filed(id=came)
    body = hand_off_body(saga, root)
    if run is not None:
        body = {**body, "not_filed_elsewhere": {"run": str(run.id), "reason": run.reason}}
    written = write_hand_off(saga, root, body)
    body = {**body, "handoff": written.named}
    what = f"workflow {saga.workflow}" if saga.workflow else f"agent {saga.agent_key}"
    subject = f"A run of {what} {ENDED.get(saga.cause, 'failed')}: {_counted(saga, body)}"
    conf = settings.LIYAGENT.tickets
    if run is None and conf is not None:
        begin_ticket_run(root, conf, subject=subject, body=body)
        return Filed(id="", written=written)
    ticket = file_ticket(
        source_kind=SOURCE,
        source_id=str(saga.id),
        subject=subject,
        body=body,
        actor=ACTOR,
        priority="P2",
        mission=saga.mission,
        correlation_id=root.id,
        run_id=root.id,
        agent_key=saga.agent_key,
    )
    return Filed(id=ticket.number, written=written)


WAYS: Mapping[str, Callable[[Saga, Run], Filed]] = {
    Handoff.APPROVAL: _approval,
    Handoff.TICKET: _ticket,
}


def _reason(saga: Saga, body: dict[str, Any]) -> str:
    return (
        f"{CAUSES.get(saga.cause, saga.cause)}: {_counted(saga, body)}. Approving begins it again from the start with the same "
        "input: what was not undone is made a second time. Rejecting closes it."
    )


def _counted(saga: Saga, body: dict[str, Any]) -> str:
    left = body["counted"]["not_undone"] if "counted" in body else saga.registered
    unknown = len(body.get("writes_of_unknown_outcome", ()))
    if not saga.registered:
        told = "it made no write that has an undo"
    else:
        told = (
            f"{left} of {saga.registered} undos {'is' if left == 1 else 'are'} not made"
            if left
            else "all is undone that has an undo"
        )
    return f"{told}, {unknown} of unknown outcome" if unknown else told


def _tell(root: Run, saga: Saga, filed: Filed) -> None:
    """In one flush: an event that the one before left missing would be told of twice."""
    events = event_buffer(root)
    if filed.written is not None:
        it = filed.written
        tell_version(
            events, thread=it.thread, number=it.number, digest=it.digest, direction=WRITTEN
        )
    if filed.id:
        events.add("saga.handoff", handoff=saga.handoff, id=filed.id)
    kinds, lines = [kind for kind, _ in events.pending], [line for _, line in events.pending]
    values: list[Any] = [
        root.id,
        root.id,
        root.mission,
        root.recording,
        root.events_missing,
        kinds,
        lines,
    ]
    with connection.cursor() as cursor:
        cursor.execute(FLUSH, values)
