"""The arguments of a call as a model wrote them."""

from __future__ import annotations

from typing import Any

from liyagent.core.plain import NotStorable, parse_json


def parse_arguments(text: str) -> dict[str, Any] | None:
    """Return the arguments, None where the text is no storable JSON object; never repaired (ruling 20)."""
    try:
        args = parse_json(text)
    except NotStorable:
        return None
    return args if isinstance(args, dict) else None
