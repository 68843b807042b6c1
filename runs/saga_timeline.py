"""What a mission's timeline tells of sagas: what each run of it did that can be undone, and how that stands."""

from __future__ import annotations

from django.urls import reverse

from liyagent.access.permissions import VIEW_RUN
from missions.places import behind, place_of, read_place
from missions.timeline import Entry, Source, register
from sagas.models import Handoff, Saga
from sagas.wording import CAUSES, STATUSES

FACTS = (
    "id", "agent_key", "workflow", "status", "cause", "failed_step", "registered", "round", "handoff", "handoff_id",
    "handoff_digest", "handed_off_at", "closed_by", "closed_at", "created_at", "changed_at",
)  # fmt: skip


def sagas_of(mission: str, before: str, limit: int) -> list[Entry]:
    """Return the sagas of a mission by their beginning, the newest first: an entry each, with how it stands now."""
    rows = Saga.objects.filter(mission=mission).only(*FACTS).order_by("-created_at", "-id")
    if before:
        at, last_id = read_place(before)
        rows = rows.filter(behind(at, last_id, moment="created_at"))
    return [_entry(it) for it in rows[:limit]]


def _entry(saga: Saga) -> Entry:
    return Entry(
        at=saga.created_at,
        place=place_of(saga.created_at, saga.id),
        kind="saga",
        told=told_of(saga),
        by=saga.closed_by,
        run_id=saga.id,
        url=reverse("saga-one", args=[saga.id]),
        facts={
            "saga": str(saga.id),
            "agent": saga.agent_key,
            "workflow": saga.workflow,
            "status": saga.status,
            "cause": saga.cause,
            "failed_step": saga.failed_step,
            "undos": saga.registered,
            "rounds": saga.round,
            "handoff": saga.handoff,
            "handoff_id": saga.handoff_id,
            "handoff_digest": saga.handoff_digest,
            "handed_off_at": saga.handed_off_at,
            "closed_at": saga.closed_at,
            "changed_at": saga.changed_at,
        },
    )


def told_of(saga: Saga) -> str:
    """Return how it stands, in a sentence without anybody's words."""
    of = f"workflow {saga.workflow}" if saga.workflow else f"agent {saga.agent_key}"
    number = f"{saga.registered} write{'' if saga.registered == 1 else 's'}"
    words = STATUSES.get(saga.status, (saga.status, ""))[0]
    because = f", because {CAUSES.get(saga.cause, saga.cause)}" if saga.cause else ""
    told = f"{of} made {number} that can be undone: {words}{because}"
    if saga.handoff_id and saga.handoff == Handoff.TICKET:
        return f"{told}; handed to people as ticket {saga.handoff_id}"
    if saga.handoff_id:
        return f"{told}; a person is, or was, asked whether it begins again"
    return told


register(Source(name="sagas", needs=VIEW_RUN, entries=sagas_of))
