"""Which parts of an event are anybody's words: told to those alone who may read them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from events.kinds import fact_names

# What is told to everybody who may see a run. A name that is not here counts as words.
FACTS = fact_names()


def without_words(content: Mapping[str, Any]) -> dict[str, Any]:
    """Return an event's facts; `withheld` names what was left out."""
    told = {name: value for name, value in content.items() if name in FACTS}
    withheld = sorted(content.keys() - told.keys())
    return {**told, "withheld": withheld} if withheld else told
