"""Find a mission by an id, and read its timeline as far as whoever asks may."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from uuid import UUID

from django.db.models import Q

from liyagent.core.errors import BadInput, NotFound
from missions.models import Mission
from missions.names import clean_mission
from missions.timeline import TimelinePage, page_of, sources_named
from runs.models import Run

MISSION_WANTS = "1 to 128 letters, digits, '.', '_', ':' and '-', first a letter or digit"


class MissionNotFound(NotFound):
    """Nothing that you may see bears this mission."""

    code = "mission.not_found"


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A mission; `row` is None where nobody named it: then it is the id of a run or of a request."""

    id: str
    row: Mission | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """A page of a mission's timeline; `withheld` names the sources that whoever asks may not see."""

    mission: Found
    page: TimelinePage
    withheld: tuple[str, ...]


def find_mission(text: str) -> Found:
    """Return the mission of an id: itself, or that of the run whose id, or correlation id, it is. Raises `BadInput`."""
    mission = clean_mission(text)
    if mission is None:
        raise BadInput(f"mission is {text[:80]!r}; it wants {MISSION_WANTS}")
    row = Mission.objects.filter(id=mission).first()
    if row is None:
        mission = _mission_of_run(mission) or mission
        row = Mission.objects.filter(id=mission).first()
    return Found(id=mission, row=row)


def timeline_of(
    text: str,
    *,
    may_see: Callable[[str], bool],
    sources: str = "",
    limit: int,
    cursor: str = "",
) -> Told:
    """Return a page of the timeline, of the `sources` named (all for none) that `may_see` lets see by their permission.

    Raises `BadInput`; `MissionNotFound` where nobody named the mission and nothing to be seen bears it.
    """
    mission = find_mission(text)
    asked = sources_named(sources)
    seen = [it for it in asked if may_see(it.needs)]
    page = page_of(mission.id, seen, limit=limit, cursor=cursor)
    if mission.row is None and not page.lines and not cursor:
        raise MissionNotFound(f"nothing bears the mission {mission.id}")
    withheld = tuple(it.name for it in asked if it not in seen)
    return Told(mission=mission, page=page, withheld=withheld)


def _mission_of_run(text: str) -> str:
    try:
        asked = UUID(text)
    except ValueError:
        return ""
    runs = Run.objects.filter(Q(id=asked) | Q(correlation_id=asked, parent_id__isnull=True))
    return runs.values_list("mission", flat=True).first() or ""
