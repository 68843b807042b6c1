"""What the outcomes of tests say of the promises."""

from __future__ import annotations

from tests.promises.due import DUE, Due
from tests.promises.outcomes import FAILED, PASSED
from tests.promises.verdict import Kept, kept_promises, table

PROMISED = {"CR-01": Due(text="It goes on.")}


def verdict_on(outcomes: dict[str, dict[str, str]]) -> dict[str, Kept]:
    """Return the verdict by promise."""
    return {it.promise: it for it in kept_promises(outcomes, PROMISED)}


def test_a_due_promise_without_a_test_is_not_kept() -> None:
    assert not verdict_on({})["CR-01"].is_kept


def test_a_promise_is_kept_when_all_its_tests_pass() -> None:
    kept = verdict_on({"CR-01": {"test_a": PASSED, "test_b": PASSED}})["CR-01"]
    assert (kept.is_kept, kept.tests) == (True, 2)


def test_one_failing_test_breaks_a_promise_and_is_named() -> None:
    kept = verdict_on({"CR-01": {"test_a": PASSED, "test_b": FAILED}})["CR-01"]
    assert not kept.is_kept
    assert kept.failed == ("test_b",)
    assert "failed: test_b" in table([kept])


def test_promises_that_are_not_due_are_shown_too() -> None:
    assert verdict_on({"EV-02": {"test_a": PASSED}})["EV-02"].due is None


def test_every_due_promise_says_what_it_is() -> None:
    assert all(it.text.endswith(".") for it in DUE.values())
