"""A write of unknown outcome is looked for once more; what is found is added to the audit, nothing is sent."""

from __future__ import annotations

from typing import Any

import pytest
from psycopg.types.json import Jsonb

from liyagent.gateway.local import local_tool
from liyagent.gateway.outcome import Effect, Payload
from runs.late_look import look_late
from runs.models import Run
from tests.unit.runs.carrying.conftest import World, calls, says
from tests.unit.runs.carrying.vendor import VENDOR, Killed, die_before_effect


def unknown_write(world: World, tool: str) -> Run:
    """A run that ended with a write whose outcome nobody could tell."""
    run = world.start(calls((f"v/{tool}", {"n": 1})), says("done"))
    first = world.process("first")
    die_before_effect(tool)
    with pytest.raises(Killed):
        first.carry()
    world.prove_dead(first)
    world.process("second").carry()
    assert world.call(run, 1).fate == "unknown"
    return run


def pass_the_time(world: World) -> None:
    world.sql(
        "UPDATE runs_call SET late_look_at = liyagent_now() - interval '1 s' WHERE late_look_at IS NOT NULL"
    )


@pytest.mark.field("FL-11")
def test_a_vendor_that_commits_late_is_found_later_and_only_told(world: World) -> None:
    run = unknown_write(world, "readable")
    assert look_late() == 0
    key = world.call(run, 1).step_key
    world.vendor.rows.append({"id": 1, "tool": "readable", "client_key": key})
    pass_the_time(world)
    assert look_late() == 1
    call = world.call(run, 1)
    assert (call.fate, call.late_finding, call.late_look_at) == ("unknown", "found", None)
    assert world.audit("agent.call.late_look") == [
        {"call": "v/readable", "step": 1, "index": 0, "finding": "found"}
    ]
    assert world.vendor.received == ["readable", "find", "find"]
    assert look_late() == 0


@pytest.mark.parametrize(("tool", "finding"), [("readable", "not_found"), ("blind", "no_reader")])
def test_what_is_not_found_stays_unknown(world: World, tool: str, finding: str) -> None:
    run = unknown_write(world, tool)
    pass_the_time(world)
    look_late()
    assert (world.call(run, 1).fate, world.call(run, 1).late_finding) == ("unknown", finding)
    assert world.vendor.rows == []


@local_tool("v/away", effect=Effect.READ)
def away(payload: Payload) -> dict[str, Any]:
    """A reader whose vendor is down."""
    VENDOR.received.append("away")
    raise ConnectionError("down")


VENDOR_DOWN = """
    INSERT INTO gateway_tool SELECT (jsonb_populate_record(t, '{"id": 99, "name": "away"}')).* FROM gateway_tool t
        WHERE name = 'find' ON CONFLICT DO NOTHING;
    UPDATE gateway_tool SET reader = jsonb_set(reader, '{tool}', '"v/away"') WHERE name = 'readable'
"""


@pytest.mark.field("FL-11")
def test_a_vendor_that_is_away_was_not_asked_and_is_asked_once_it_is_back(world: World) -> None:
    """That nobody answered is no finding: whoever reads 'not found' may say that it did not happen."""
    run = unknown_write(world, "readable")
    reader = world.sql("SELECT reader FROM gateway_tool WHERE name = 'readable'")[0][0]
    world.vendor.rows.append(
        {"id": 1, "tool": "readable", "client_key": world.call(run, 1).step_key}
    )
    world.sql(VENDOR_DOWN)
    pass_the_time(world)
    look_late()
    call = world.call(run, 1)
    assert (call.fate, call.late_finding) == ("unknown", "")
    assert call.late_look_at is not None
    assert world.audit("agent.call.late_look") == []
    world.sql("UPDATE gateway_tool SET reader = %s WHERE name = 'readable'", Jsonb(reader))
    pass_the_time(world)
    look_late()
    assert world.call(run, 1).late_finding == "found"


def test_a_vendor_that_is_away_for_a_day_is_asked_no_more_and_that_is_said(world: World) -> None:
    run = unknown_write(world, "readable")
    world.sql(VENDOR_DOWN)
    world.sql("UPDATE runs_call SET settled_at = settled_at - interval '1 day'")
    pass_the_time(world)
    look_late()
    call = world.call(run, 1)
    assert (call.late_finding, call.late_look_at) == ("not_asked", None)
    (told,) = world.audit("agent.call.late_look")
    assert told["finding"] == "not_asked"


def test_a_vendor_that_is_away_is_asked_once_a_look_however_many_wait(world: World) -> None:
    for _ in range(3):
        unknown_write(world, "readable")
    world.sql(VENDOR_DOWN)
    pass_the_time(world)
    assert look_late() == 3
    assert world.vendor.received.count("away") == 1


def test_a_late_finding_lifts_the_guard_of_the_same_intent(world: World) -> None:
    same = ("v/readable", {"n": 1})
    run = world.start(calls(same), calls(("v/look", {})), calls(same), says("done"))
    first = world.process("first")
    die_before_effect("readable")
    with pytest.raises(Killed):
        first.carry()
    world.prove_dead(first)

    def find_it_meanwhile(_tool: str) -> None:
        key = world.call(run, 1).step_key
        world.vendor.rows.append({"id": 1, "tool": "readable", "client_key": key})
        pass_the_time(world)
        look_late()
        world.vendor.before_effect = lambda _tool: None

    world.vendor.before_effect = find_it_meanwhile
    assert world.process("second").carry().status == "answered"
    assert (world.call(run, 1).late_finding, world.call(run, 3).fate) == ("found", "done")
