"""Conditions hold or do not, are refused where they cannot be read, and cost no more than their length."""

from __future__ import annotations

from typing import Any

import pytest

from liyagent.core.conditions import BadCondition, CannotBeJudged, check_condition, holds

ISSUE: dict[str, Any] = {
    "status": "open",
    "priority": 2,
    "labels": [{"name": "disk"}, {"name": "db"}],
    "flag": False,
    "count": 0,
    "none": [],
}


@pytest.mark.parametrize(
    ("text", "is_so"),
    [
        ("status == 'open' && priority <= `2`", True),
        ("contains(labels[].name, 'disk')", True),
        ("labels[?name == 'db']", True),
        ("starts_with(status, 'clo')", False),
        ("missing.path", False),
        ("missing.path == `null`", True),
        ("flag", False),
        ("none", False),
        ("count", True),
        ("!flag && length(keys(@)) > `3`", True),
    ],
)
def test_what_is_missing_is_null_and_what_is_empty_does_not_hold(text: str, is_so: bool) -> None:
    assert holds(text, ISSUE) is is_so


@pytest.mark.parametrize("text", ["", " ", "a ==", "a b", "'open", "x" * 501, "(" * 400, "nope(a)"])
def test_what_is_no_condition_is_refused(text: str) -> None:
    with pytest.raises(BadCondition):
        check_condition(text)


@pytest.mark.parametrize(
    "text", ["[@,@]|[@,@]", "{a: @}", "to_string(@)", "map(&a, @)", "sort_by(@, &a)", "merge(@, @)"]
)
def test_what_makes_more_than_it_was_given_is_refused(text: str) -> None:
    with pytest.raises(BadCondition, match="is not taken in a condition"):
        check_condition(text)


def test_a_function_given_what_it_does_not_take_cannot_be_judged() -> None:
    with pytest.raises(CannotBeJudged, match="contains"):
        holds("contains(missing, 'x')", ISSUE)


def test_a_deep_value_is_judged_or_refused_and_never_ends_the_process() -> None:
    deep: Any = 1
    for _ in range(100):
        deep = [deep]
    assert not holds("[]" * 200 + ".x", deep)
