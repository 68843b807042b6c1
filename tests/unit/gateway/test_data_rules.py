"""Where data policies look, what they find there and how it is masked."""

from __future__ import annotations

import time
from typing import Any

import pytest

from liyagent.core.bounded_regex import TooSlow
from liyagent.core.errors import BadInput
from liyagent.gateway.data_rules import DataRule, first_denied, masked, read_path, read_regex

CARD = 4111111111111111


def a_rule(path: str = "*", **changes: Any) -> DataRule:
    """A rule for mail addresses anywhere, but for `changes`."""
    given: dict[str, Any] = {"name": "r", "kind": "email", "tools": "*", "denies": False}
    return DataRule(path=read_path(path), **(given | changes))


def mask(args: dict[str, Any], *rules: DataRule) -> dict[str, Any]:
    """What is left of `args`."""
    return masked(args, rules)[0]


@pytest.mark.parametrize(
    ("path", "args", "left"),
    [
        ("*", {"a": "x a@b.de y"}, {"a": "x [email] y"}),
        (
            "*",
            {"a": {"b": [["a@b.de"], {"c": "a@b.de"}]}},
            {"a": {"b": [["[email]"], {"c": "[email]"}]}},
        ),
        ("a", {"a": {"b": "a@b.de"}, "b": "a@b.de"}, {"a": {"b": "[email]"}, "b": "a@b.de"}),
        ("a.b", {"a": [{"b": "a@b.de", "c": "a@b.de"}]}, {"a": [{"b": "[email]", "c": "a@b.de"}]}),
        ("a.*", {"a": "a@b.de", "b": "a@b.de"}, {"a": "[email]", "b": "a@b.de"}),
        ("*.mail", {"mail": "a@b.de", "x": "a@b.de"}, {"mail": "[email]", "x": "a@b.de"}),
        (
            "*.mail",
            {"to": [{"deep": {"mail": ["a@b.de"]}}]},
            {"to": [{"deep": {"mail": ["[email]"]}}]},
        ),
        (
            "a.*.c",
            {"a": {"x": {"y": {"c": "a@b.de"}}, "c": "a@b.de"}},
            {"a": {"x": {"y": {"c": "[email]"}}, "c": "[email]"}},
        ),
        ("b", {"a": "a@b.de"}, {"a": "a@b.de"}),
        ("*", {"a@b.de": 1, "c@d.de": 2}, {"[email]": 1, "[email] 2": 2}),
        ("*", {"a@b.de": 1, "[email]": 2}, {"[email] 2": 1, "[email]": 2}),
        ("a", {"a@b.de": 1}, {"a@b.de": 1}),
        ("*", {"n": None, "t": True, "i": 7, "f": 0.5}, {"n": None, "t": True, "i": 7, "f": 0.5}),
    ],
)
def test_a_path_leads_to_what_it_names_and_all_below(
    path: str, args: dict[str, Any], left: dict[str, Any]
) -> None:
    assert mask(args, a_rule(path)) == left


@pytest.mark.parametrize("value", [CARD, float(CARD), str(CARD), [CARD], {"n": CARD}])
def test_a_card_number_is_found_as_a_number_too(value: Any) -> None:
    card = a_rule(kind="card", denies=True)
    assert first_denied({"a": value}, [card]) is card
    left = mask({"a": value}, a_rule(kind="card"))
    assert "[card]" in str(left)
    assert str(CARD) not in str(left)


def test_what_nothing_is_found_in_stays_the_same_value() -> None:
    args = {"a": [1, 2.5, "x", {"y": None}]}
    left, hits = masked(args, [a_rule(kind=kind) for kind in ("email", "phone", "iban", "card")])
    assert (left, hits) == (args, [])


def test_several_rules_mask_one_after_the_other_and_are_named() -> None:
    staff = a_rule(name="staff", kind="regex", regex=read_regex("EMP-[0-9]{6}"))
    left, hits = masked({"a": "EMP-123456 a@b.de"}, [a_rule(name="mail"), staff])
    assert left == {"a": "[staff] [email]"}
    assert hits == ["mail", "staff"]


@pytest.mark.parametrize("path", ["", ".", "a.", ".a", "a..b", " ", "a. .b", "x" * 201])
def test_a_path_that_leads_nowhere_is_refused(path: str) -> None:
    with pytest.raises(BadInput, match="it wants a dotted path"):
        read_path(path)


def test_a_search_of_all_arguments_has_one_time_limit() -> None:
    hard = a_rule(kind="regex", regex=read_regex("[0-9]+x"))
    args = {"a": ["1" * 3000] * 2000}
    started = time.thread_time()
    with pytest.raises(TooSlow):
        masked(args, [hard])
    assert time.thread_time() - started < 4


def test_twenty_thousand_names_masked_alike_are_told_apart_in_good_time() -> None:
    args = {f"a{number}@b.de": number for number in range(20_000)}
    started = time.thread_time()
    left = mask(args, a_rule())
    assert len(left) == 20_000
    assert time.thread_time() - started < 2
