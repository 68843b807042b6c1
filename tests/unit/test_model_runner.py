"""The runner of the protocol's models notices what was not expected, and what was not all visited."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.model.variants import VARIANTS
from tests.model.verdict import BREAKS, HOLDS, line_of, seen_in

MODELS = Path(__file__).resolve().parents[1] / "model"
HELD = """
Full statespace search for:
State-vector 116 byte, depth reached 87, errors: 0
  1375643 states, stored
unreached in init
"""
BROKE = """
pan:1: assertion violated (effects<=1) (at depth 41)
pan: wrote in_flight.pml.trail

Warning: Search not completed
State-vector 116 byte, depth reached 65, errors: 1
     3984 states, stored
"""


def test_all_states_visited_without_an_error_is_that_it_holds() -> None:
    seen = seen_in(HELD)
    assert (seen.outcome, seen.states) == (HOLDS, 1_375_643)


def test_an_assertion_that_is_violated_is_that_it_breaks_and_is_told() -> None:
    seen = seen_in(BROKE)
    assert (seen.outcome, seen.states, seen.assertion) == (BREAKS, 3984, "(effects<=1)")


@pytest.mark.parametrize(
    "words",
    [
        "error: max search depth too small",
        "Warning: Search not completed",
        "pan: out of memory",
        "pan: reached -DMEMLIM bound\nmemory limit",
    ],
)
def test_a_search_that_was_cut_short_does_not_hold(words: str) -> None:
    assert seen_in(HELD + words).outcome.startswith("not all visited")


@pytest.mark.parametrize("output", ["", "sh: pan: not found", "errors: 0"])
def test_no_verdict_is_no_success(output: str) -> None:
    assert seen_in(output).outcome.startswith("no verdict")


def test_an_error_that_no_assertion_of_ours_found_is_none_that_was_expected() -> None:
    output = HELD.replace("errors: 0", "errors: 1") + "pan:1: invalid end state (at depth 3)"
    assert seen_in(output).outcome not in (HOLDS, BREAKS)


@pytest.mark.parametrize(
    ("expected", "output", "ok"),
    [(HOLDS, HELD, "ok"), (HOLDS, BROKE, "NOT"), (BREAKS, BROKE, "ok"), (BREAKS, HELD, "NOT")],
)
def test_a_line_says_whether_what_was_seen_was_expected(
    expected: str, output: str, ok: str
) -> None:
    line = line_of(model="in_flight", name="a variant", expected=expected, seen=seen_in(output))
    assert ok in line.split()


def test_every_flag_of_a_variant_is_one_of_its_model_and_every_guard_is_taken_out_once() -> None:
    taken = {(it.model, flag.partition("=")[0]) for it in VARIANTS for flag in it.flags}
    for path in MODELS.glob("*.pml"):
        text = path.read_text()
        assert {flag for model, flag in taken if model == path.stem and flag not in text} == set()
        words = text.replace("(", " ").replace(")", " ").split()
        guards = {word for word in words if word.startswith("WITHOUT_")}
        assert guards - {flag for model, flag in taken if model == path.stem} == set(), path.name
