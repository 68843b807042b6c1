"""Which recorded call answers a call of a replay (RP-03)."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from liyagent.replays.drift import MOST_DRIFT, drift_of
from liyagent.replays.made import How
from liyagent.replays.matching import Matcher, Served
from liyagent.replays.recorded import RecordedCall

EU, US = {"q": "mail-eu"}, {"q": "mail-us"}


def call(args: dict[str, Any], *, tool: str = "search_ci", **facts: Any) -> RecordedCall:
    known: dict[str, Any] = {
        "step": 1,
        "index": 0,
        "server": "cmdb",
        "tool": tool,
        "effect": "read",
        "fate": "done",
        "posture": "posture",
        "settlement": "",
        "result": args,
        "ms": 3,
    }
    return RecordedCall(args=args, **{**known, **facts})


def serve(matcher: Matcher, args: dict[str, Any], tool: str = "search_ci") -> Served | None:
    return matcher.serve("cmdb", tool, args)


def told(found: Served | None) -> tuple[Any, str] | None:
    return None if found is None else (found.recorded.result, found.how.value)


@pytest.mark.promise("RP-03")
@pytest.mark.field("FL-87")
def test_calls_in_another_order_get_each_its_own_answer_and_a_repeat_gets_none() -> None:
    matcher = Matcher([call(EU), call(US)], strict=False)
    assert told(serve(matcher, US)) == (US, "exact")
    assert told(serve(matcher, EU)) == (EU, "exact")
    assert serve(matcher, EU) is None
    assert matcher.unused == []


@pytest.mark.promise("RP-03")
@pytest.mark.field("FL-87")
def test_a_repeat_is_answered_by_the_next_unused_call_of_that_tool_and_told_as_such() -> None:
    asia = {"q": "mail-asia"}
    matcher = Matcher([call(EU), call(US), call(asia)], strict=False)
    assert told(serve(matcher, US)) == (US, "exact")
    assert told(serve(matcher, US)) == (EU, "by_order")
    assert told(serve(matcher, asia)) == (asia, "exact")
    # What answered by order is used up for its own arguments too.
    assert serve(matcher, EU) is None


@pytest.mark.promise("RP-03")
@pytest.mark.field("FL-88")
@pytest.mark.parametrize(
    ("was", "now"),
    [
        ({"a": 1, "b": {"c": 2, "d": 3}}, {"b": {"d": 3, "c": 2}, "a": 1}),
        ({"n": 5}, {"n": 5.0}),
        ({"n": [1, {"m": 1e2}]}, {"n": [1.0, {"m": 100}]}),
        ({"n": 0}, {"n": -0.0}),
        ({}, {}),
    ],
)
def test_the_same_call_is_known_by_its_canonical_form(
    was: dict[str, Any], now: dict[str, Any]
) -> None:
    for strict in (False, True):
        assert told(serve(Matcher([call(was)], strict=strict), now)) == (was, "exact")
    assert drift_of(was, now) == []


@pytest.mark.promise("RP-03")
@pytest.mark.field("FL-88")
@pytest.mark.parametrize(
    ("was", "now", "paths"),
    [
        ({"at": "2026-11-29T10:00:00Z"}, {"at": "2026-11-29T10:00:00+00:00"}, ["at"]),
        ({"at": "2026-11-29"}, {"at": "2026-11-30"}, ["at"]),
        ({"to": None}, {}, ["to"]),
        ({}, {"to": None}, ["to"]),
        ({"n": 1}, {"n": True}, ["n"]),
        ({"n": 1}, {"n": "1"}, ["n"]),
        ({"n": 0}, {"n": False}, ["n"]),
        ({"q": "mail"}, {"q": "mail "}, ["q"]),
        ({"q": "\u00e9"}, {"q": "e\u0301"}, ["q"]),
        ({"n": [1, 2]}, {"n": [2, 1]}, ["n[0]", "n[1]"]),
        ({"a": {"b": [1, {"c": 1}]}}, {"a": {"b": [1, {"c": 2, "d": 3}, 4]}}, ["a.b[1].c", "a.b[1].d", "a.b[2]"]),
        ({"n": 9007199254740993}, {"n": 9007199254740992.0}, ["n"]),
    ],
)  # fmt: skip
def test_what_only_looks_alike_is_served_by_order_and_its_drift_is_told(
    was: dict[str, Any], now: dict[str, Any], paths: list[str]
) -> None:
    assert told(serve(Matcher([call(was)], strict=False), now)) == (was, "by_order")
    assert serve(Matcher([call(was)], strict=True), now) is None
    assert [it.path for it in drift_of(was, now)] == paths


def test_null_and_absent_are_told_apart_in_the_drift() -> None:
    assert [it.kind for it in drift_of({"a": None}, {})] == ["dropped"]
    assert [it.kind for it in drift_of({}, {"a": None})] == ["added"]
    assert [it.kind for it in drift_of({"a": None}, {"a": 1})] == ["changed"]


def test_drift_is_bounded() -> None:
    was = {f"k{number}": number for number in range(1000)}
    assert len(drift_of(was, {})) == MOST_DRIFT


@pytest.mark.promise("RP-03")
def test_a_call_of_another_tool_or_server_answers_nothing() -> None:
    matcher = Matcher([call(EU)], strict=False)
    assert serve(matcher, EU, "other") is None
    assert matcher.serve("other", "search_ci", EU) is None
    # Two names that would read the same when they are put together.
    split = Matcher([call(EU, server="a/b", tool="c")], strict=False)
    assert split.serve("a", "b/c", EU) is None


@pytest.mark.promise("RP-03")
def test_with_strict_nothing_is_served_by_order() -> None:
    matcher = Matcher([call(EU), call(US)], strict=True)
    assert serve(matcher, {"q": "mail"}) is None
    assert told(serve(matcher, US)) == (US, "exact")
    assert [it.args for it in matcher.unused] == [EU]


def test_the_same_call_made_twice_is_answered_in_the_order_of_the_record() -> None:
    matcher = Matcher([call(EU, result="first"), call(EU, result="second")], strict=False)
    assert [told(serve(matcher, EU)) for _ in range(3)] == [
        ("first", "exact"),
        ("second", "exact"),
        None,
    ]


def test_what_is_refused_today_uses_up_only_what_was_refused_then() -> None:
    matcher = Matcher([call(EU), call(EU, fate="refused")], strict=False)
    found = matcher.refused("cmdb", "search_ci", EU)
    assert found is not None
    assert found.fate == "refused"
    assert matcher.refused("cmdb", "search_ci", EU) is None
    assert told(serve(matcher, EU)) == (EU, "exact")


def test_arguments_that_have_no_canonical_form_are_served_by_order() -> None:
    odd = {"n": float("nan")}
    assert told(serve(Matcher([call(EU)], strict=False), odd)) == (EU, "by_order")
    assert serve(Matcher([call(odd)], strict=True), odd) is None


ARGS = st.fixed_dictionaries({"q": st.sampled_from([1, True, "1", None, 1.0, 2])})
TOOLS = st.sampled_from(["one", "two"])


@pytest.mark.promise("RP-03")
@given(
    recorded=st.lists(st.tuples(TOOLS, ARGS), max_size=8),
    asked=st.lists(st.tuples(TOOLS, ARGS), max_size=10),
    strict=st.booleans(),
)
def test_each_recorded_call_answers_at_most_once_and_none_is_left_while_one_fits(
    recorded: list[tuple[str, dict[str, Any]]],
    asked: list[tuple[str, dict[str, Any]]],
    *,
    strict: bool,
) -> None:
    rows = [call(args, tool=tool, index=place) for place, (tool, args) in enumerate(recorded)]
    matcher = Matcher(rows, strict=strict)
    given_out: list[int] = []
    for tool, args in asked:
        left = [it for it in matcher.unused if it.tool == tool]
        same = [it for it in left if not drift_of(it.args, args)]
        found = serve(matcher, args, tool)
        if same:
            assert found == Served(recorded=same[0], how=How.EXACT)
        elif left and not strict:
            assert found == Served(recorded=left[0], how=How.BY_ORDER)
        else:
            assert found is None
        given_out += [found.recorded.index] if found else []
    assert len(set(given_out)) == len(given_out)
    assert {it.index for it in matcher.unused} | set(given_out) == set(range(len(rows)))
