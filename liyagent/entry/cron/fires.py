"""The fires of triggers, as they are shown: what became of each slot, and of what was run by hand."""

from __future__ import annotations

from collections.abc import Sequence

from django.db.models import OuterRef, Subquery

from liyagent.entry.cron.fire import MANUAL, MISSED
from liyagent.entry.cron.models import WAY, CronFire, CronTrigger
from liyagent.entry.models import Arrival


def kind_of(fire: Arrival) -> str:
    """Return what a fire is: a `slot`, `manual` where it was asked for by hand, `missed` for many slots in one row."""
    if fire.delivery_id.startswith(MANUAL):
        return "manual"
    return "missed" if fire.delivery_id.startswith(MISSED) else "slot"


def slot_of(fire: Arrival) -> str | None:
    """Return the instant of a slot, in UTC; None of one that has none."""
    return fire.delivery_id if kind_of(fire) == "slot" else None


def last_fires(triggers: Sequence[CronTrigger]) -> dict[str, CronFire]:
    """Return the newest fire of each of these triggers, by the trigger's key; those without one are left out."""
    newest = Arrival.objects.filter(way=WAY, source=OuterRef("key")).order_by("-received_at")
    rows = CronTrigger.objects.filter(pk__in=[it.pk for it in triggers])
    ids = rows.values_list(Subquery(newest.values("run_id")[:1]), flat=True)
    return {it.source: it for it in CronFire.objects.filter(run_id__in=[it for it in ids if it])}
