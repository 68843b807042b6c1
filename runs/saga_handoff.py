"""What a failed run left, kept as a hand-off: what a person was given can be shown for ever, and that it is that (HO-03)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db import connection
from django.db.models import Max
from psycopg.types.json import Jsonb

from handoffs.content import fits
from handoffs.models import Version
from handoffs.named import flaw_of_named
from handoffs.ride import reading_of, ride_of
from liyagent.approvals.models import Approval
from liyagent.core.canonical import digest
from liyagent.core.transactions import require_transaction
from runs.event_buffer import FULL, event_buffer
from runs.models import Run
from runs.saga_told import FACTS
from sagas.models import Handoff, Saga

KIND = "saga"
ACTOR = "liyagent"
RECIPIENTS = {Handoff.APPROVAL: "people", Handoff.TICKET: "tickets"}
FACTS_OF_UNDO = (*FACTS, "write", "undo", "approval")
MOST_TRIES = 3
HAND = "SELECT liyagent_hand(%s)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """A version of a hand-off, as its event tells of it."""

    thread: UUID
    number: int
    digest: str

    @property
    def named(self) -> dict[str, str]:
        """How whoever gets it finds it."""
        return {"thread": str(self.thread), "digest": self.digest}


def thread_of_saga(saga_id: UUID) -> UUID:
    """Return the thread of what a failed run left: one a saga."""
    return UUID(digest(["handoff", "saga", str(saga_id)])[:32])


def flaw_of_handed(saga_id: UUID, digest: str) -> str:
    """Return why what a saga, or its request, says was handed over does not verify, "" where it does (HO-01)."""
    return flaw_of_named(thread_of_saga(saga_id), digest)


def write_hand_off(saga: Saga, root: Run, body: dict[str, Any]) -> Written:
    """Keep what is handed over within the caller's transaction, as the next version; the saga names it from now on.

    Words only where its whole family is recorded in full. Audited as `agent.handoff`.
    """
    require_transaction("writing a hand-off")
    thread, kept = thread_of_saga(saga.id), _kept(root, body)
    versions = Version.objects.filter(thread=thread)
    head = versions.aggregate(head=Max("number"))["head"] or 0
    for number in range(head + 1, head + 1 + MOST_TRIES):
        ride = ride_of(
            thread=thread,
            number=number,
            sender=f"workflow:{saga.workflow}" if saga.workflow else f"agent:{saga.agent_key}",
            recipient=RECIPIENTS[Handoff(saga.handoff)],
            kind=KIND,
            body=kept,
            author=ACTOR,
            mission=saga.mission,
            run_id=root.id,
            correlation_id=root.id,
            request_id=root.request_id,
        )
        _hand(ride)
        # A person may have written that very number meanwhile. What could not be kept holds nobody up.
        named = versions.filter(number=number).values_list("snapshot_id", flat=True).first()
        if named in {None, ride["digest"]}:
            Saga.objects.filter(id=saga.id).update(handoff_digest=ride["digest"])
            return Written(thread=thread, number=number, digest=ride["digest"])
    raise LookupError(f"thread {thread} is written faster than it can be added to")


def note_decider(approval: Approval) -> None:
    """Keep, within the decision's transaction, that whoever decided read what was handed over with the request."""
    if not approval.handoff_digest or not approval.decided_by:
        return
    thread = thread_of_saga(approval.run_id)
    known = Version.objects.filter(thread=thread, snapshot_id=approval.handoff_digest)
    number = known.values_list("number", flat=True).first() or 1
    _hand(
        reading_of(
            thread=thread,
            number=number,
            digest=approval.handoff_digest,
            reader=approval.decided_by,
            run_id=None,
        )
    )


def _hand(ride: dict[str, Any]) -> None:
    values: list[Any] = [Jsonb(ride)]
    with connection.cursor() as cursor:
        cursor.execute(HAND, values)


def _kept(root: Run, body: dict[str, Any]) -> dict[str, Any]:
    """The body where every run of the family keeps words, and it is none too large; else its facts, and the digest of the whole."""
    family = Run.objects.filter(correlation_id=root.id)
    if root.recording == FULL and fits(body) and not family.exclude(recording=FULL).exists():
        return body
    facts = {name: body[name] for name in ("run", "counted") if name in body}
    left = body.get("not_undone")
    if isinstance(left, list):
        facts["not_undone"] = [{name: it[name] for name in FACTS_OF_UNDO} for it in left]
    return {**facts, "words": event_buffer(root).digest(body)}
