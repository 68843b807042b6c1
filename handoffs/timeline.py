"""What a mission's timeline tells of hand-offs: each version as it was written."""

from __future__ import annotations

from django.urls import reverse

from handoffs.listing import facts_of
from handoffs.models import Snapshot, Version
from liyagent.access.permissions import VIEW_RUN
from missions.places import behind, place_of, read_numbered
from missions.timeline import Entry, Source, register


def handoffs_of(mission: str, before: str, limit: int) -> list[Entry]:
    """Return the versions of a mission, the newest first; nothing of what was handed over."""
    rows = Version.objects.filter(mission=mission).order_by("-at", "-id")
    if before:
        rows = rows.filter(behind(*read_numbered(before), moment="at"))
    found = list(rows[:limit])
    about = facts_of([it.snapshot_id for it in found])
    return [_entry(it, about.get(it.snapshot_id)) for it in found]


def _entry(version: Version, about: Snapshot | None) -> Entry:
    done = "was handed over" if version.number == 1 else "took the place of the one before"
    what = f"{about.kind} from {about.sender} to {about.recipient}" if about else "what is gone"
    return Entry(
        at=version.at,
        place=place_of(version.at, version.id),
        kind="handoff",
        told=f"{what}: version {version.number} {done}",
        by=version.author,
        run_id=version.run_id,
        url=reverse("handoff", args=[version.thread]),
        facts={
            "handoff": str(version.thread),
            "version": version.number,
            "digest": version.snapshot_id,
            "parent": version.parent,
        },
    )


register(Source(name="handoffs", needs=VIEW_RUN, entries=handoffs_of))
