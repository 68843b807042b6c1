"""What guardrails find in a text, what they do about it, and how they are written."""

from __future__ import annotations

import time
from typing import Any

import pytest

from liyagent.agents.guardrails import Screened, clean_guardrails, screen


def screened(text: str, *checks: dict[str, Any]) -> Screened:
    cleaned = clean_guardrails({"output": list(checks)})
    return screen(text, checks=cleaned["output"], direction="output")


KEYS = {"kind": "pattern", "name": "no-keys", "pattern": "AKIA[0-9A-Z]{4}"}


def test_a_text_that_no_check_finds_anything_in_goes_on_as_it_is() -> None:
    left = screened("all well", KEYS, {"kind": "length", "most": 8})
    assert (left.text, left.acted, left.refused) == ("all well", (), None)


def test_a_check_refuses_unless_it_says_otherwise() -> None:
    refused = screened("the key AKIA12AB", KEYS).refused
    assert refused is not None
    assert refused.told == "guardrail pattern no-keys of its output"


def test_a_mask_stands_where_something_was_found_and_the_next_check_sees_it() -> None:
    left = screened(
        "AKIA12AB of a@b.io",
        {**KEYS, "action": "mask"},
        {"kind": "personal_data", "what": ["email"], "action": "mask"},
        {"kind": "pattern", "name": "x", "pattern": "AKIA"},
    )
    assert left.text == "[no-keys] of [email]"
    assert [(it.kind, it.action) for it in left.acted] == [
        ("pattern", "mask"),
        ("personal_data", "mask"),
    ]
    assert left.refused is None


def test_too_long_a_text_is_refused() -> None:
    assert screened("x" * 9, {"kind": "length", "most": 8}).refused


def test_nothing_of_what_was_found_is_told() -> None:
    acted = screened("the key AKIA12AB", KEYS).acted
    assert "AKIA12AB" not in repr(acted)


@pytest.mark.parametrize("pattern", ["(a+)+$", "(a|aa)+$", "(a|a)*b", "a*a*a*a*c", r"(\w+\s?)+$"])
def test_no_expression_of_an_operator_holds_a_thread(pattern: str) -> None:
    check = {"kind": "pattern", "name": "-", "pattern": pattern}
    began = time.thread_time()
    screened("a" * 100_000 + "!", check)
    assert time.thread_time() - began < 3


def test_what_cannot_be_searched_in_time_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("liyagent.core.bounded_regex.MOST_SECONDS", -1)
    cleaned = [{"kind": "pattern", "name": "no-keys", "action": "mask", "pattern": "AKIA"}]
    assert screen("x" * 500, checks=cleaned, direction="input").refused


def test_guardrails_are_kept_with_their_defaults_and_in_one_form() -> None:
    given = {"input": [{"kind": "personal_data", "what": ["phone", "email"]}], "output": []}
    cleaned = clean_guardrails(given)
    assert cleaned == {
        "input": [{"kind": "personal_data", "action": "refuse", "what": ["email", "phone"]}]
    }
    assert clean_guardrails(cleaned) == cleaned
