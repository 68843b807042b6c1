"""Answers and sequences of calls beside each other: what differs is marked, nothing is lost, and long ones take no time."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from liyagent.core.marked import MOST_COMPARED, Piece, marked
from liyagent.replays.beside import MOST_BESIDE, beside


def others(pieces: list[Piece]) -> list[str]:
    return [it.text.strip() for it in pieces if it.is_other]


@pytest.mark.promise("RP-05")
def test_what_only_one_answer_says_is_marked() -> None:
    was, now = marked(
        "INC-1 is open. Whoever is on call has been paged.",
        "Done. INC-1 is open. Nobody has been paged.",
    )
    assert (others(was), others(now)) == (["Whoever is on call"], ["Done.", "Nobody"])
    same, again = marked("a  b\n", "a b")
    assert others(same) == others(again) == []
    assert others(marked("", "new")[1]) == ["new"]
    assert marked("", "") == ([], [])


@given(was=st.text(alphabet="ab \n", max_size=60), now=st.text(alphabet="ab \n", max_size=60))
def test_the_pieces_are_the_texts_and_what_is_not_marked_is_in_both(was: str, now: str) -> None:
    one, other = marked(was, now)
    assert ("".join(it.text for it in one), "".join(it.text for it in other)) == (was, now)
    kept = [" ".join(it.text for it in side if not it.is_other).split() for side in (one, other)]
    assert kept[0] == kept[1]


@pytest.mark.parametrize(
    ("was", "now"),
    [
        ("x " * 100_000, "y " * 100_000),
        ("x " * 50_000, "y " + "x " * 50_000),
        (" ".join(str(it % 97) for it in range(MOST_COMPARED)), " ".join(str(it % 89) for it in range(MOST_COMPARED))),
        (" " * 200_000, "a" * 200_000),
    ],
)  # fmt: skip
def test_long_answers_are_compared_in_bounded_time(was: str, now: str) -> None:
    begun = time.monotonic()
    marked(was, now)
    assert time.monotonic() - begun < 3


def test_calls_of_one_tool_stand_beside_each_other_and_what_is_new_or_gone_alone() -> None:
    pairs = beside(["read", "page", "say"], ["read", "look", "say", "say"])
    assert pairs == [(0, 0), (1, None), (None, 1), (2, 2), (None, 3)]
    assert beside([], ["a"]) == [(None, 0)]
    assert beside([], []) == []


@given(was=st.lists(st.sampled_from("abc"), max_size=12), now=st.lists(st.sampled_from("abc"), max_size=12))  # fmt: skip
def test_each_call_stands_once_and_in_its_order(was: list[str], now: list[str]) -> None:
    pairs = beside(was, now)
    assert [it for it, _ in pairs if it is not None] == list(range(len(was)))
    assert [it for _, it in pairs if it is not None] == list(range(len(now)))
    assert all(was[it] == now[at] for it, at in pairs if it is not None and at is not None)


def test_as_many_calls_as_are_shown_are_laid_beside_each_other_at_once() -> None:
    begun = time.monotonic()
    beside(["a", "b"] * (MOST_BESIDE // 2), ["b", "a"] * (MOST_BESIDE // 2))
    assert time.monotonic() - begun < 1
