"""From a payload to what an agent is asked: pure, so that it is tried as it will be used."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from liyagent.core.conditions import holds
from liyagent.core.errors import LiyagentError
from liyagent.core.plain import json_bytes
from liyagent.core.templates import render
from liyagent.entry.arrive import LONGEST_DELIVERY_ID
from liyagent.entry.webhooks.errors import PayloadMisfit
from missions.names import clean_mission
from runs.start import LONGEST_TASK

TASK, MISSION, FILTER, DELIVERY_ID = "mapping.task", "mapping.mission", "filter", "delivery_id"
MISSION_WANTS = "1 to 128 letters, digits and . _ : - of ASCII, first a letter or digit"


@dataclass(frozen=True, slots=True, kw_only=True)
class Fitting:
    """The parts of a trigger that look at a payload; `delivery_id` is empty where `webhook-id` names the delivery."""

    task: str
    mission: str = ""
    filter: str = ""
    delivery_id: str = ""

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Fitting:
        """Return those of a trigger's values."""
        return cls(**{name: values[name] for name in cls.__slots__})


@dataclass(frozen=True, slots=True, kw_only=True)
class Fitted:
    """What a payload would start. Without words where the filter does not want it."""

    is_wanted: bool
    delivery_id: str
    task: str
    mission: str


def try_mapping(fitting: Fitting, payload: Any) -> Fitted:
    """Return what a payload would start; nothing is kept. Raises `PayloadMisfit`."""
    wanted = is_wanted(fitting, payload)
    task, mission = words_of(fitting, payload) if wanted else ("", "")
    return Fitted(
        is_wanted=wanted,
        delivery_id=delivery_id_of(fitting, payload) if fitting.delivery_id else "",
        task=task,
        mission=mission,
    )


def delivery_id_of(fitting: Fitting, payload: Any) -> str:
    """Return what names a delivery within the payload. Raises `PayloadMisfit`."""
    found = _filled(DELIVERY_ID, fitting.delivery_id, payload)
    if not 1 <= len(found) <= LONGEST_DELIVERY_ID:
        raise PayloadMisfit(DELIVERY_ID, f"wants 1 to {LONGEST_DELIVERY_ID} characters; it has {len(found)}")  # fmt: skip
    return found


def is_wanted(fitting: Fitting, payload: Any) -> bool:
    """Whether the filter holds of a payload; without one it does. Raises `PayloadMisfit` where it cannot be judged."""
    try:
        return not fitting.filter or holds(fitting.filter, payload)
    except LiyagentError as error:
        raise PayloadMisfit(FILTER, str(error)) from None


def words_of(fitting: Fitting, payload: Any) -> tuple[str, str]:
    """Return the task, and the mission or nothing. Raises `PayloadMisfit`."""
    task = _filled(TASK, fitting.task, payload)
    if not task.strip() or len(task) > LONGEST_TASK:
        raise PayloadMisfit(TASK, f"wants 1 to {LONGEST_TASK} characters; it has {len(task)}")
    mission = _filled(MISSION, fitting.mission, payload) if fitting.mission else ""
    if mission and clean_mission(mission) is None:
        raise PayloadMisfit(MISSION, f"wants {MISSION_WANTS}")
    return task, mission


def _filled(field: str, template: str, payload: Any) -> str:
    try:
        found = render(template, payload)
    except LiyagentError as error:
        raise PayloadMisfit(field, str(error)) from None
    return found if isinstance(found, str) else json_bytes(found).decode()
