"""Cohort replays of an agent, the newest first, a page at a time; one by its id; and what came of its runs."""

from __future__ import annotations

from collections.abc import Mapping
from uuid import UUID

from liyagent.agents.listing import find_agent
from liyagent.core.paging import PAGING, Page, check_names, limit_of, read_cursor, write_cursor
from liyagent.replays.errors import ReplayUnknown
from liyagent.replays.models import CohortReplay, Replayed
from missions.places import behind, place_of, read_place


def list_replays(agent_key: str, asked: Mapping[str, str]) -> Page[CohortReplay]:
    """Return the page that `asked` names, the newest first. Raises `AgentUnknown`, `BadInput`."""
    check_names(asked, PAGING)
    limit = limit_of(asked)
    rows = CohortReplay.objects.filter(agent_key=find_agent(agent_key).key)
    if "cursor" in asked:
        (place,) = read_cursor(asked["cursor"], parts=1)
        at, last = read_place(place)
        rows = rows.filter(behind(at, last, moment="created_at"))
    found = list(rows.order_by("-created_at", "-id")[: limit + 1])
    more = ""
    if len(found) > limit:
        more = write_cursor([place_of(found[limit - 1].created_at, found[limit - 1].id)])
    return Page(rows=found[:limit], next_cursor=more)


def find_replay(replay_id: str | UUID) -> CohortReplay:
    """Return a cohort replay. Raises `ReplayUnknown`."""
    try:
        wanted = replay_id if isinstance(replay_id, UUID) else UUID(replay_id)
    except ValueError:
        raise ReplayUnknown(f"{str(replay_id)[:80]!r} is no id of a cohort replay") from None
    found = CohortReplay.objects.filter(id=wanted).first()
    if found is None:
        raise ReplayUnknown(f"there is no cohort replay {wanted}")
    return found


def results_of(replay: CohortReplay) -> list[Replayed]:
    """Return what came of its runs, lane by lane, without words: 300 at most."""
    return list(Replayed.objects.filter(cohort=replay).defer("sealed").order_by("number"))


def result_of(replay: CohortReplay, run_id: UUID, lane: int = 0) -> Replayed | None:
    """Return what came of one run in one lane, None where nothing did yet."""
    return Replayed.objects.filter(cohort=replay, run_id=run_id, lane=lane).first()
