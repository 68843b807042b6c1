"""Rows of marked calls that somebody edits with SQL: what decides about a write in doubt is under a seal."""

from __future__ import annotations

from datetime import timedelta
from uuid import uuid4

import pytest

from runs.models import Run
from tests.unit.runs.carrying.conftest import World, calls, says
from tests.unit.runs.carrying.vendor import Killed, die_after_effect

EDITS = {
    "a key's window": "UPDATE runs_call SET key_window_seconds = 86400, has_identity = true",
    "an identity": "UPDATE runs_call SET has_identity = NOT has_identity",
    "a key": "UPDATE runs_call SET step_key = 'another'",
    "a tool": "UPDATE runs_call SET tool = 'keyed'",
    "the marked bytes": "UPDATE runs_call SET sealed = set_byte(sealed, 20, 255 - get_byte(sealed, 20))",
    "no bytes at all": "UPDATE runs_call SET sealed = ''",
}
FORGERIES = {
    "the row gone": "DELETE FROM runs_call WHERE step = 1 AND index = 0",
    "no outcome": "UPDATE runs_call SET outcome = NULL WHERE step = 1 AND index = 0",
    "another's outcome": (
        "UPDATE runs_call a SET outcome = b.outcome FROM runs_call b WHERE a.index = 0 AND b.index = 1"
    ),
}


def killed_in_the_last_call(world: World, *tools: str) -> Run:
    """Start a run whose process dies in the last of one step's calls, and lapse it."""
    asked = [(f"v/{tool}", {"n": number}) for number, tool in enumerate(tools)]
    run = world.start(calls(*asked), says("done"))
    first = world.process("first")
    die_after_effect(tools[-1])
    with pytest.raises(Killed):
        first.carry()
    world.lapse(first)
    return run


@pytest.mark.promise("CR-16")
@pytest.mark.promise("CR-26")
@pytest.mark.parametrize("edit", EDITS.values(), ids=EDITS)
def test_a_mark_with_another_column_fails_the_run_and_nothing_is_sent(
    world: World, edit: str
) -> None:
    killed_in_the_last_call(world, "blind")
    world.sql(edit)
    ended = world.process("second").carry()
    assert world.vendor.received == ["blind"]
    assert (ended.status, ended.losses) == ("failed", 1)
    assert "its checkpoint does not verify" in ended.reason


HEADS = ("agent_key", "started_by", "entry", "mission", "recording", "loop", "correlation_id")


@pytest.mark.promise("CR-16")
@pytest.mark.promise("CR-17")
@pytest.mark.parametrize("column", HEADS)
def test_a_head_of_another_agent_starter_or_chain_fails_the_run(world: World, column: str) -> None:
    run = killed_in_the_last_call(world, "keyed")
    world.sql("UPDATE agents_agent SET key = 'other'")
    world.sql(
        'INSERT INTO agents_agent SELECT (jsonb_populate_record(a, \'{"id": 99, "key": "triage"}\')).* FROM agents_agent a'
    )
    other = {"agent_key": "other", "recording": "metadata", "correlation_id": str(uuid4())}
    world.sql(f"UPDATE runs_run SET {column} = %s WHERE id = %s", other.get(column, "olga"), run.id)
    ended = world.process("second").carry()
    assert world.vendor.received == ["keyed"]
    assert ended.status == "failed"
    assert "not that of the run that was started" in ended.reason


@pytest.mark.promise("CR-16")
@pytest.mark.parametrize("forgery", FORGERIES.values(), ids=FORGERIES)
def test_a_settled_write_whose_row_is_not_the_one_written_is_never_made_again(
    world: World, forgery: str
) -> None:
    killed_in_the_last_call(world, "blind", "readable", "keyed")
    world.sql(forgery)
    ended = world.process("second").carry()
    assert world.vendor.received == ["blind", "readable", "keyed"]
    assert (ended.status, ended.losses) == ("failed", 1)
    assert "its checkpoint does not verify" in ended.reason


@pytest.mark.promise("CR-26")
def test_a_mark_made_younger_is_as_old_as_its_seal_says(world: World) -> None:
    world.sql("UPDATE gateway_tool SET key_window_seconds = 300 WHERE name = 'keyed'")
    run = killed_in_the_last_call(world, "keyed")
    sealed_at = world.call(run, 1).marked_at
    # The vendor's clock goes on, and with it the database's; the row alone is put forward.
    world.sql(
        "CREATE OR REPLACE FUNCTION liyagent_now() RETURNS timestamptz LANGUAGE sql STABLE AS"
        " $$ SELECT clock_timestamp() + interval '200 s' $$"
    )
    world.sql("UPDATE runs_call SET marked_at = %s", sealed_at + timedelta(seconds=199))
    world.process("second").carry()
    assert world.vendor.received == ["keyed"]
    assert world.call(run, 1).settlement == "told_unknown"


@pytest.mark.promise("CR-16")
def test_outcomes_of_earlier_steps_are_not_read_by_a_resume(world: World) -> None:
    run = world.start(
        calls(("v/blind", {"n": 1})),
        calls(("v/look", {"n": 2}), ("v/blind", {"n": 3})),
        says("done"),
    )
    first = world.process("first")
    world.vendor.before_effect = lambda tool: die_after_effect("blind") if tool == "look" else None
    with pytest.raises(Killed):
        first.carry()
    world.lapse(first)
    world.sql("UPDATE runs_call SET outcome = NULL, sealed = '' WHERE step = 1")
    assert world.process("second").carry().status == "answered"
    assert world.call(run, 2, 1).fate == "unknown"
