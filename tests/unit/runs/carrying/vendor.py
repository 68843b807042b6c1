"""A vendor in this process, with a ledger of its own: real local tools, each of another kind."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from liyagent.gateway.local import local_tool
from liyagent.gateway.outcome import Effect, Payload

TOOLS: dict[str, dict[str, Any]] = {
    "look": {"effect": "read"},
    "keyed": {"key_place": "meta", "key_window_seconds": 86_400},
    "readable": {
        "key_place": "argument",
        "key_field": "client_key",
        "reader": {
            "tool": "v/find",
            "args": {"client_key": "{{ key }}"},
            "match": {"records": "rows", "field": "client_key"},
        },
    },
    "blind": {},
    "find": {"effect": "read"},
}


class Killed(BaseException):
    """The process died here: nothing above may catch it."""


@dataclass(slots=True)
class Vendor:
    """What the vendor has stored, and where the process that calls it dies."""

    rows: list[dict[str, Any]] = field(default_factory=list)
    received: list[str] = field(default_factory=list)
    before_effect: Callable[[str], None] = field(default=lambda _tool: None)
    after_effect: Callable[[str], None] = field(default=lambda _tool: None)

    def apply(self, payload: Payload) -> dict[str, Any]:
        """Store a row, unless the keyed tool's key has one already."""
        self.received.append(payload.tool)
        self.before_effect(payload.tool)
        row = next(
            (
                it
                for it in self.rows
                if payload.tool == it["tool"] == "keyed" and it["key"] == payload.key
            ),
            None,
        )
        if row is None:
            number = len(self.rows) + 1
            row = {"id": number, "tool": payload.tool, "key": payload.key, **payload.args}
            self.rows.append(row)
        self.after_effect(payload.tool)
        return row

    def of(self, tool: str) -> list[dict[str, Any]]:
        """Return the rows of one tool."""
        return [row for row in self.rows if row["tool"] == tool]


VENDOR = Vendor()


def _die_once(tool: str) -> Callable[[str], None]:
    def die(called: str) -> None:
        if called == tool:
            VENDOR.before_effect = VENDOR.after_effect = lambda _tool: None
            raise Killed(tool)

    return die


def die_before_effect(tool: str) -> None:
    """The next call of `tool` reaches the vendor, and the caller dies before it takes effect."""
    VENDOR.before_effect = _die_once(tool)


def die_after_effect(tool: str) -> None:
    """The next call of `tool` takes effect, and the caller dies before it hears of it."""
    VENDOR.after_effect = _die_once(tool)


@local_tool("v/look", effect=Effect.READ)
def look(payload: Payload) -> dict[str, Any]:
    """Look at something."""
    VENDOR.received.append("look")
    VENDOR.before_effect("look")
    return {"seen": payload.args}


@local_tool("v/find", effect=Effect.READ)
def find(payload: Payload) -> dict[str, Any]:
    """Find rows by the key that a readable write stored."""
    VENDOR.received.append("find")
    key = payload.args["client_key"]
    return {"rows": [row for row in VENDOR.rows if row.get("client_key") == key]}


@local_tool("v/keyed")
def keyed(payload: Payload) -> dict[str, Any]:
    """A write that the vendor dedupes on its key."""
    return VENDOR.apply(payload)


@local_tool("v/readable")
def readable(payload: Payload) -> dict[str, Any]:
    """A write that stores our key and does not dedupe."""
    return VENDOR.apply(payload)


@local_tool("v/blind")
def blind(payload: Payload) -> dict[str, Any]:
    """A write that nobody can find again."""
    return VENDOR.apply(payload)
