"""Deliveries in the story of the run whose answer they hand on."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from django.conf import settings

from liyagent.entry.models import Delivery
from liyagent.entry.ways import Sent
from liyagent.telemetry.kinds import Kind
from liyagent.telemetry.spans import NOTHING, Telling, span, story_of
from runs.models import Run


@contextmanager
def delivery_span(delivery: Delivery) -> Iterator[Telling]:
    """One attempt to hand on, as a span of its run; none where no collector is set, or where nothing was started."""
    is_traced = settings.LIYAGENT.traces is not None
    run = Run.objects.defer("seal").filter(id=delivery.run_id).first() if is_traced else None
    if run is None:
        yield NOTHING
        return
    with story_of(run), span(Kind.DELIVERY, delivery.way) as told:
        told.tell(
            way=delivery.way, kind=delivery.kind, number=delivery.number, tried=delivery.attempts
        )
        yield told


def tell_sent(told: Telling, sent: Sent | None) -> None:
    """Tell what came of it: never why, as that may be the other end's words."""
    if not told:
        return
    if sent is None:
        told.tell(outcome="lost")
    elif not sent.error:
        told.tell(outcome="delivered")
    else:
        told.tell(outcome="unconfirmed" if sent.is_unconfirmed else "failed")
        told.fail("unconfirmed" if sent.is_unconfirmed else "failed")
