"""What a mission's timeline tells of what came in, and of what is owed for it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any
from uuid import UUID

from django.db.models import Q
from django.urls import reverse

from liyagent.access.permissions import VIEW_RUN
from liyagent.entry.models import Arrival, Delivery
from missions.places import behind, place_of, read_place
from missions.timeline import Entry, Source, register

# A task can be told of each of its moves; of more the list of deliveries tells.
MOST_DELIVERIES = 20
DELIVERY_FACTS = ("id", "kind", "state", "attempts", "settled_at")


def arrivals_of(mission: str, before: str, limit: int) -> list[Entry]:
    """Return what came in for a mission, the newest first, each with the deliveries that are owed for it.

    Where nobody named one, the id is that of the run that it became: it came before any that names this id since.
    """
    after = Q()
    if before:
        at, last_id = read_place(before)
        after = behind(at, last_id, moment="received_at", name="run_id")
    rows = Arrival.objects.filter(after).defer("sealed").order_by("-received_at", "-run_id")
    found = list(rows.filter(mission=mission).exclude(mission="")[:limit])
    own = _own_run(mission)
    if own is not None and len(found) < limit:
        found += rows.filter(run_id=own, mission="")
    owed = _owed([it.run_id for it in found])
    return [_entry(it, owed[it.run_id]) for it in found]


def _own_run(mission: str) -> UUID | None:
    try:
        return UUID(mission)
    except ValueError:
        return None


def _owed(run_ids: Sequence[UUID]) -> dict[UUID, list[dict[str, Any]]]:
    found: dict[UUID, list[dict[str, Any]]] = defaultdict(list)
    rows = Delivery.objects.filter(run_id__in=run_ids, number__lt=MOST_DELIVERIES).order_by("id")
    for row in rows.values("run_id", *DELIVERY_FACTS):
        found[row.pop("run_id")].append(row)
    return found


def _entry(arrival: Arrival, owed: list[dict[str, Any]]) -> Entry:
    became = arrival.outcome or arrival.state
    return Entry(
        at=arrival.received_at,
        place=place_of(arrival.received_at, arrival.run_id),
        kind="arrival",
        told=f"{arrival.source} came in by {arrival.way}, for agent {arrival.agent_key}; it is {became}",
        by=arrival.started_by,
        run_id=arrival.run_id,
        url=reverse("arrival", args=[arrival.run_id]),
        facts={
            "way": arrival.way,
            "source": arrival.source,
            "delivery_id": arrival.delivery_id,
            "agent": arrival.agent_key,
            "state": arrival.state,
            "outcome": arrival.outcome,
            "request_id": arrival.request_id,
            "ended_at": arrival.ended_at,
            "deliveries": owed[:MOST_DELIVERIES],
        },
    )


register(Source(name="arrivals", needs=VIEW_RUN, entries=arrivals_of))
