"""How a mission comes with what is asked of us: by the one rule of all ways in, and under one name."""

from __future__ import annotations

from collections.abc import Mapping

from missions.baggage import mission_in_baggage
from missions.names import clean_mission

MISSION_HEADER = "X-Liyagent-Mission"
BAGGAGE_HEADER = "baggage"
# In `_meta` of MCP and A2A, and in A2A's `metadata`.
META_KEY = "io.liyagent/mission"


def mission_named(header: object, baggage: object, *metas: object) -> str:
    """Return the mission that a message names, empty for none (MI-01).

    Looked for in its header, its baggage and then in each of `metas` (objects that may hold `META_KEY`): the first that
    fits the rule counts. What does not fit is as if it were not there, and never repaired; so is a header that came twice,
    whose values reach us joined by a comma. Never raises.
    """
    return clean_mission(header) or mission_in_baggage(baggage) or _in_metas(metas)


def _in_metas(metas: tuple[object, ...]) -> str:
    found = (clean_mission(it.get(META_KEY)) for it in metas if isinstance(it, Mapping))
    return next((it for it in found if it), "")
