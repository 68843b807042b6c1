"""A standby took over that had not received the reservation: the approved call may have left, and looks unsent (ruling 40)."""

from __future__ import annotations

import pytest

from liyagent.approvals.models import Approval
from runs.keys import approved_call_key
from tests.unit.approvals.deciding import approve, the_request
from tests.unit.runs.carrying.conftest import World, calls, says
from tests.unit.runs.carrying.vendor import Killed, die_after_effect

ANOTHER_TIMELINE = """
    CREATE OR REPLACE FUNCTION liyagent_timeline() RETURNS int LANGUAGE sql STABLE AS $$ SELECT 77 $$
"""
LATER = """
    CREATE OR REPLACE FUNCTION liyagent_now() RETURNS timestamptz LANGUAGE sql STABLE AS
        $$ SELECT clock_timestamp() + interval '13 hours' $$
"""


def lose_the_reservation(held: World, tool: str) -> Approval:
    """An approved call is sent and its process dies; then nothing of its attempt is stored, and another server answers."""
    run = held.start(calls((f"v/{tool}", {"n": 1})), says("done"))
    held.process("first").carry()
    approval = approve(the_request())
    head = held.sql("SELECT sequence, seal, status, holder FROM runs_run")[0]
    mark = held.sql("SELECT intent, sealed, step_key, attempt, deadline FROM runs_call")[0]
    second = held.process("second")
    die_after_effect(tool)
    with pytest.raises(Killed):
        second.carry()
    held.sql(
        "UPDATE runs_call SET intent = %s, sealed = %s, step_key = %s, attempt = %s, deadline = %s",
        *mark,
    )
    held.sql(
        "UPDATE runs_run SET sequence = %s, seal = %s, status = %s, holder = %s WHERE id = %s",
        *head,
        run.id,
    )
    held.sql("UPDATE approvals_approval SET status = 'approved', consumed_at = NULL")
    held.sql(ANOTHER_TIMELINE)
    return approval


@pytest.mark.promise("CR-26")
@pytest.mark.field("FL-05")
@pytest.mark.parametrize("tool", ["blind", "readable"])
def test_what_may_have_left_before_the_failover_is_asked_anew_with_that_in_sight(
    held: World, tool: str
) -> None:
    old = lose_the_reservation(held, tool)
    assert held.process("third").carry().status == "waiting"
    assert held.vendor.received == [tool]
    new = the_request(status="pending")
    assert new.replaces == old.id
    assert "failed over" in new.held_reason
    assert approved_call_key(old.id) in new.held_reason
    approve(new)
    assert held.process("fourth").carry().status == "answered"
    assert held.vendor.received == [tool, tool]


@pytest.mark.promise("CR-22")
def test_a_vendor_that_dedupes_is_sent_the_same_bytes_with_the_same_key(held: World) -> None:
    old = lose_the_reservation(held, "keyed")
    assert held.process("third").carry().status == "answered"
    assert [row["key"] for row in held.vendor.rows] == [approved_call_key(old.id)]
    assert the_request().status == "consumed"


@pytest.mark.promise("CR-22")
def test_a_vendor_that_forgets_keys_before_that_is_sent_nothing(held: World) -> None:
    lose_the_reservation(held, "keyed")
    held.sql(LATER)
    assert held.process("third").carry().status == "waiting"
    assert held.vendor.received == ["keyed"]


def test_what_was_held_after_the_failover_is_made_as_approved(held: World) -> None:
    held.start(calls(("v/blind", {"n": 1})), says("done"))
    held.sql(
        "CREATE OR REPLACE FUNCTION liyagent_timeline() RETURNS int LANGUAGE sql STABLE AS $$ SELECT 5 $$"
    )
    held.process("first").carry()
    held.sql("UPDATE runs_run SET timeline = 4")
    approve(the_request())
    assert held.process("second").carry().status == "answered"
    assert held.vendor.received == ["blind"]
