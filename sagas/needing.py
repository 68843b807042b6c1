"""Which sagas a person has to look after: what they left is not undone, and nobody has said yet that this is well."""

from __future__ import annotations

from django.db.models import CharField, Exists, OuterRef, Q, QuerySet
from django.db.models.functions import Cast

from liyagent.approvals.handlers import SAGA
from liyagent.approvals.models import Approval, ApprovalStatus
from liyagent.tickets.models import Ticket, TicketState
from sagas.models import Handoff, Saga, SagaStatus

LEFT = (SagaStatus.PARTIAL, SagaStatus.HANDED_OFF)
# Of what was left so many are looked at, the newest of them.
MOST_LOOKED_THROUGH = 10_000
# What these did is known to whoever said so: begun again, or worked off.
BEGUN_AGAIN = (ApprovalStatus.APPROVED, ApprovalStatus.CONSUMED)
WORKED_OFF = (TicketState.RESOLVED, TicketState.CLOSED)


def needing_a_person() -> QuerySet[Saga]:
    """Return the sagas that need a person: partial ones, and those handed off whose hand-off is open.

    One that was begun again on its request, or whose ticket is resolved, needs nobody any more; nor does one of which
    nothing was to be undone and nobody was to be told. Of 10,000 at the most.
    """
    newest = Saga.objects.filter(status__in=LEFT).order_by("-created_at", "-id")
    again = Approval.objects.filter(run_id=OuterRef("pk"), kind=SAGA, status__in=BEGUN_AGAIN)
    source = Cast(OuterRef("pk"), CharField())
    worked = Ticket.objects.filter(source_kind="saga", source_id=source, state__in=WORKED_OFF)
    return (
        Saga.objects.filter(pk__in=newest.values("pk")[:MOST_LOOKED_THROUGH])
        .exclude(status=SagaStatus.HANDED_OFF, handoff__in=("", Handoff.NONE))
        .filter(~(Q(Exists(again)) | Q(Exists(worked))))
    )
