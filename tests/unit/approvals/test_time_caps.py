"""The time that people take to decide is not the agent's: its cap of seconds leaves it out."""

from __future__ import annotations

import pytest

from tests.unit.approvals.deciding import approve, the_request
from tests.unit.runs.carrying.conftest import World, calls, says

CAP = "UPDATE agents_agent SET max_seconds = 60"
STARTED = "UPDATE runs_run SET created_at = created_at - interval '1 hour'"
FILED = "UPDATE approvals_approval SET created_at = created_at - make_interval(secs => %s)"


@pytest.mark.field("FL-58")
@pytest.mark.parametrize(
    ("waited_seconds", "status", "made"),
    [(3590, "answered", ["keyed"]), (3000, "failed", [])],
)
def test_what_is_left_of_an_hour_without_the_wait_is_held_against_the_cap(
    held: World, waited_seconds: int, status: str, made: list[str]
) -> None:
    held.sql(CAP)
    held.start(calls(("v/keyed", {"n": 1})), says("done"))
    held.process("first").carry()
    held.sql(STARTED)
    held.sql(FILED, waited_seconds)
    approve(the_request())
    ended = held.process("second").carry()
    assert (ended.status, held.vendor.received) == (status, made)
    assert ended.error == ("" if made else "cap.seconds")


def test_the_wait_of_a_run_that_was_started_before_is_not_left_out(held: World) -> None:
    held.sql(CAP)
    held.start(calls(("v/keyed", {"n": 1})), says("done"))
    held.process("first").carry()
    held.sql(STARTED)
    held.sql(FILED, 7200)
    approve(the_request())
    assert held.process("second").carry().error == "cap.seconds"
