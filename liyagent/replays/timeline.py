"""What a mission's timeline tells of cohort replays."""

from __future__ import annotations

from django.urls import reverse

from liyagent.access.permissions import OPERATE
from liyagent.replays.models import CohortReplay
from missions.places import behind, place_of, read_place
from missions.timeline import Entry, Source, register

FACTS = ("id", "agent_key", "status", "verdict", "asked_by", "created_at", "ended_at")


def replays_of(mission: str, before: str, limit: int) -> list[Entry]:
    """Return the cohort replays of a mission, the newest first."""
    rows = CohortReplay.objects.filter(mission=mission).only(*FACTS)
    if before:
        at, last = read_place(before)
        rows = rows.filter(behind(at, last, moment="created_at"))
    return [_entry(it) for it in rows.order_by("-created_at", "-id")[:limit]]


def _entry(replay: CohortReplay) -> Entry:
    came_to = f", {replay.verdict}" if replay.verdict else ""
    return Entry(
        at=replay.created_at,
        place=place_of(replay.created_at, replay.id),
        kind="cohort_replay",
        told=f"past runs of agent {replay.agent_key} are tried another way; it is {replay.status}{came_to}",
        by=replay.asked_by,
        url=reverse("cohort-replay", args=[replay.id]),
        facts={
            "replay": str(replay.id),
            "agent": replay.agent_key,
            "status": replay.status,
            "verdict": replay.verdict,
            "ended_at": replay.ended_at,
        },
    )


register(Source(name="replays", needs=OPERATE, entries=replays_of))
