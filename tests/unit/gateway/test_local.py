"""Tools in this process."""

from __future__ import annotations

import enum
import uuid
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pytest

from liyagent.gateway.local import LOCAL_TOOLS, ToolFailed, call_local, local_tool
from liyagent.gateway.outcome import Effect, Fate, NotSent, Payload
from tests.unit.gateway.support import a_payload, a_read_payload, always, never

Register = Callable[[Callable[[Payload], Any]], None]


class Colour(enum.Enum):
    """An everyday enum."""

    RED = "red"


@pytest.fixture
def register() -> Iterator[Register]:
    """Register a callable as jira/create_issue for this test."""

    def add(run: Callable[[Payload], Any]) -> None:
        local_tool("jira/create_issue")(run)

    yield add
    LOCAL_TOOLS.pop("jira/create_issue", None)


def test_it_gets_the_arguments_the_key_and_the_mission(register: Register) -> None:
    register(lambda call: [call.args, call.key, call.mission])
    outcome = call_local(a_payload(), always)
    assert outcome.result == [{"title": "disk full"}, "step-key-1", "m-1"]


def test_it_cannot_change_what_was_marked(register: Register) -> None:
    register(lambda call: call.args.clear())
    payload = a_payload()
    call_local(payload, always)
    assert payload.args == {"title": "disk full"}


def test_it_is_not_called_once_the_mark_has_lapsed(register: Register) -> None:
    calls: list[Payload] = []
    register(calls.append)
    with pytest.raises(NotSent):
        call_local(a_payload(), never)
    assert calls == []


@pytest.mark.field("FL-42")
def test_values_of_everyday_types_become_defined_json(register: Register) -> None:
    value = {
        "at": datetime(2026, 11, 29, tzinfo=UTC),
        "on": date(2026, 11, 29),
        "price": Decimal("10.10"),
        "id": uuid.UUID(int=1),
        "raw": b"hi",
        "set": {"b", "a"},
        "colour": Colour.RED,
    }
    register(lambda call: value)
    assert call_local(a_payload(), always).result == {
        "at": "2026-11-29T00:00:00+00:00",
        "on": "2026-11-29",
        "price": "10.10",
        "id": "00000000-0000-0000-0000-000000000001",
        "raw": "aGk=",
        "set": ["a", "b"],
        "colour": "red",
    }


def test_a_value_that_has_no_plain_form_leaves_a_write_done(register: Register) -> None:
    register(lambda call: object())
    assert call_local(a_read_payload("create_issue"), always).fate is Fate.FAILED
    outcome = call_local(a_payload(), always)
    assert outcome.fate is Fate.DONE
    assert "no plain JSON form" in outcome.result["error"]


def test_a_tool_that_says_that_it_failed_has_failed(register: Register) -> None:
    def run(call: Payload) -> None:
        raise ToolFailed("the project is closed")

    register(run)
    outcome = call_local(a_payload(), always)
    assert (outcome.fate, outcome.error) == (Fate.FAILED, "the project is closed")


def test_any_other_exception_leaves_a_write_in_doubt_and_fails_a_read(register: Register) -> None:
    def run(call: Payload) -> None:
        raise KeyError("somewhere in the middle")

    register(run)
    assert call_local(a_payload(), always).fate is Fate.UNKNOWN
    assert call_local(a_read_payload("create_issue"), always).fate is Fate.FAILED


def test_a_tool_that_is_not_registered_fails_and_nothing_is_called() -> None:
    outcome = call_local(a_payload("nowhere"), always)
    assert outcome.fate is Fate.FAILED
    assert "no local tool jira/nowhere" in outcome.error


@pytest.mark.parametrize("name", ["", "jira", "/x", "jira/"])
def test_a_name_that_is_not_server_and_tool_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="server/tool"):
        local_tool(name, effect=Effect.READ)(lambda call: None)


def test_a_name_is_taken_once(register: Register) -> None:
    register(lambda call: None)
    with pytest.raises(ValueError, match="free name"):
        register(lambda call: None)
