"""The shape of what a routine's row keeps as JSON; what has another is read as nothing. Pure."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from liyagent.core.shapes import COUNT, SHARE, TEXT, is_map, is_shaped

STEP = {"id": TEXT, "type": TEXT}
ORIGIN = {"place": TEXT, "shown": TEXT, "kind": TEXT, "reads": TEXT, "distinct": COUNT, "why": TEXT}  # fmt: skip
PARAMETER = {"name": TEXT, "types": [TEXT], "description": TEXT, "places": [TEXT], "distinct": COUNT, "is_sensitive": False}  # fmt: skip
MISMATCH = {"run": TEXT, "step": TEXT, "shown": TEXT, "why": TEXT}


def is_definition(value: Any) -> bool:
    """Whether it may be one: of one that is not offered there is none."""
    return value == {} or is_shaped(value, {"steps": [STEP]})


def is_texts(value: Any) -> bool:
    """Whether it is a list of texts."""
    return is_shaped(value, [TEXT])


def is_runs(value: Any) -> bool:
    """Whether it is a list of ids."""
    try:
        return is_texts(value) and all(map(UUID, value))
    except ValueError:
        return False


def is_origins(value: Any) -> bool:
    """Whether it says where values come from."""
    return is_shaped(value, [ORIGIN])


def is_parameters(value: Any) -> bool:
    """Whether it says what a run is given."""
    return is_shaped(value, [PARAMETER])


def is_made(value: Any) -> bool:
    """Whether it is a list of the places that a person made parameters."""
    return is_shaped(value, [{"place": TEXT, "name": TEXT}])


def is_score(value: Any) -> bool:
    """Whether it is a score, or nothing."""
    if not isinstance(value, dict) or not is_shaped(value.get("mismatches", []), [MISMATCH]):
        return False
    return is_map({name: it for name, it in value.items() if name != "mismatches"}, COUNT)


def is_seen(value: Any) -> bool:
    """Whether it has a fingerprint of each tool."""
    return is_map(value, TEXT)


def is_baseline(value: Any) -> bool:
    """Whether it is what runs took, or nothing."""
    return is_map(value, SHARE)
