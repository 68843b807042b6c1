"""Which parts of an event are anybody's words: told to those alone who may read them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

# What is told to everybody who may see a run. A name that is not here counts as words.
FACTS = frozenset(
    {
        *(
            "agent",
            "version",
            "entry",
            "started_by",
            "holder",
            "status",
            "reason",
            "error",
            "steps",
        ),
        *("calls", "input_tokens", "output_tokens", "cost_micros", "unsettled", "losses", "loss"),
        *("step", "index", "server", "tool", "effect", "fate", "posture", "gate", "policy", "key"),
        *("direction", "check", "name", "action"),
        *("approval", "by", "ceiling", "decision", "digest", "run_as"),
        *("settlement", "settlements", "ms", "finish", "missing", "attempt", "cause", "left"),
    }
)


def without_words(content: Mapping[str, Any]) -> dict[str, Any]:
    """Return an event's facts; `withheld` names what was left out."""
    told = {name: value for name, value in content.items() if name in FACTS}
    withheld = sorted(content.keys() - told.keys())
    return {**told, "withheld": withheld} if withheld else told
