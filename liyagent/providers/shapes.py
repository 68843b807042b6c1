"""Reading what an endpoint sent, whatever shape it has. Pure: no network, no SDK."""

from __future__ import annotations

from typing import Any

from liyagent.core.plain import clean_text, json_bytes
from liyagent.providers.types import ModelUnavailable, ToolCall

# A checkpoint numbers the calls of a step in sixteen bits; and nobody means so many.
MOST_CALLS = 1000
# Longer than any tool's, so that a cut name is never one.
LONGEST_NAME = 300


def excerpt(body: Any) -> str:
    """Return the start of what an endpoint said, as one line, for a person."""
    text = body if isinstance(body, str) else json_bytes(body).decode()
    return " ".join(clean_text(text[:2000]).split())[:300] or "nothing"


def text_of(value: Any) -> str:
    """Text, also where it comes as a list of parts; a number as its digits (ids of some servers)."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "".join(text_of(part.get("text")) for part in value if isinstance(part, dict))
    return "" if value is None or isinstance(value, dict) else json_bytes(value).decode()


def list_of(value: Any) -> list[Any]:
    """A list, empty where it is none."""
    return value if isinstance(value, list) else []


def object_of(value: Any) -> dict[str, Any]:
    """An object, empty where it is none."""
    return value if isinstance(value, dict) else {}


def count_of(usage: Any, name: str) -> int:
    """A number of tokens, 0 where it is none."""
    count = usage.get(name) if isinstance(usage, dict) else None
    return count if type(count) is int and 0 <= count < 2**63 else 0


def known_name(name: str, table: dict[str, str]) -> str:
    """The name of the tool meant; what was not offered is kept as it came, cut where no name is so long."""
    return table.get(name, name[:LONGEST_NAME])


def unreadable_call(raw: Any) -> ToolCall:
    """What stands for a call of no shape at all: it has a result like any other."""
    return ToolCall(id="", name="", arguments_text=excerpt(raw), args=None)


def check_number_of_calls(calls: list[Any]) -> None:
    """Raise `ModelUnavailable` where a step asks for more calls than can be told apart."""
    if len(calls) > MOST_CALLS:
        raise ModelUnavailable(
            f"the model's answer asks for {len(calls)} calls; {MOST_CALLS} is the most"
        )
