"""A standby took over that had not received the last commits: the mark is gone, and what it announced is not (ruling 40)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from pytest_django import Settings

from runs.in_doubt import counts_as_marked
from runs.models import Call, Run
from tests.unit.runs.carrying.conftest import Process, World, calls, says
from tests.unit.runs.carrying.vendor import Killed, die_after_effect, die_before_effect

HEAD = "SELECT sequence, seal FROM runs_run WHERE id = %s"
FALL_BACK = "UPDATE runs_run SET sequence = %s, seal = %s WHERE id = %s"
ANOTHER_TIMELINE = "UPDATE runs_run SET timeline = timeline + 1"


def lose_the_mark(
    world: World, tool: str, *, die: Callable[[str], None] = die_after_effect
) -> tuple[Run, Process]:
    """A step that looks and then writes; the process dies in the write, and what was committed after the step is lost."""
    run = world.start(calls(("v/look", {"n": 0}), (f"v/{tool}", {"n": 1})), says("done"))
    first = world.process("first")
    stored: list[Any] = []

    def remember(called: str) -> None:
        if called == "look" and not stored:
            stored.extend(world.sql(HEAD, run.id))
            die(tool)

    world.vendor.before_effect = remember
    with pytest.raises(Killed):
        first.carry()
    assert len(stored) == 1
    assert world.sql("DELETE FROM runs_call RETURNING tool") == [(tool,)]
    world.sql(FALL_BACK, *stored[0], run.id)
    assert Run.objects.get(id=run.id).timeline > 0
    return run, first


def failed_over(world: World, first: Process) -> None:
    """The server writes on another timeline than the step was written on, and the process is found dead."""
    world.sql(ANOTHER_TIMELINE)
    world.lapse(first)


def told(world: World) -> list[tuple[int, str]]:
    (resumed,) = world.audit("agent.run.crash_resumed")
    return [(it["index"], it["settlement"]) for it in resumed["calls"]]


@pytest.mark.promise("CR-26")
@pytest.mark.field("FL-05")
def test_a_blind_write_whose_mark_was_lost_is_unknown_and_not_sent_again(world: World) -> None:
    run, first = lose_the_mark(world, "blind")
    failed_over(world, first)
    assert world.process("second").carry().status == "answered"
    assert world.vendor.received == ["look", "blind", "look"]
    assert told(world) == [(0, "routed"), (1, "told_unknown")]
    call = world.call(run, 1, 1)
    assert (call.fate, call.settlement) == ("unknown", "told_unknown")
    assert "not sent again" in world.model.results()[1]


@pytest.mark.promise("CR-22")
@pytest.mark.parametrize("die", [die_before_effect, die_after_effect])
def test_a_keyed_write_whose_mark_was_lost_is_sent_with_the_same_key(
    world: World, die: Callable[[str], None]
) -> None:
    run, first = lose_the_mark(world, "keyed", die=die)
    failed_over(world, first)
    assert world.process("second").carry().status == "answered"
    assert len(world.vendor.of("keyed")) == 1
    assert told(world) == [(0, "routed"), (1, "sent_with_same_key")]
    assert world.call(run, 1, 1).fate == "done"


@pytest.mark.promise("CR-22")
def test_a_keyed_write_is_not_sent_again_where_the_run_is_older_than_the_vendor_s_window(
    world: World,
) -> None:
    """When it was first made nobody knows: no earlier than the run began."""
    _, first = lose_the_mark(world, "keyed")
    world.sql("UPDATE runs_run SET created_at = created_at - interval '13 hours'")
    failed_over(world, first)
    assert world.process("second").carry().status == "answered"
    assert world.vendor.received == ["look", "keyed", "look"]
    assert told(world)[1] == (1, "told_unknown")


@pytest.mark.promise("CR-24")
def test_a_readable_write_whose_mark_was_lost_is_looked_for_after_a_lease(
    world: World, settings: Settings
) -> None:
    """Who sent it may live, and send until its own deadline, which was lost too."""
    run, first = lose_the_mark(world, "readable")
    failed_over(world, first)
    assert world.process("second").carry().status == "queued"
    waits = Run.objects.get(id=run.id)
    assert waits.not_before is not None
    assert waits.taken_at is not None
    lease = settings.LIYAGENT.lease_seconds
    assert (waits.not_before - waits.taken_at).total_seconds() > lease - 1
    assert world.vendor.received == ["look", "readable", "look"]
    world.sql("UPDATE runs_run SET not_before = NULL, settle_after = NULL")
    world.sql("UPDATE runs_call SET deadline = liyagent_now() WHERE fate = ''")
    assert world.process("third").carry().status == "answered"
    assert world.vendor.received[3:] in (["find"], ["look", "find"])
    assert (world.call(run, 1, 1).fate, world.call(run, 1, 1).settlement) == ("done", "read_back")


@pytest.mark.promise("CR-25")
def test_a_write_that_the_gates_refuse_now_may_have_been_sent_then(world: World) -> None:
    _, first = lose_the_mark(world, "keyed")
    world.sql("UPDATE agents_agent SET write_posture = 'hold'")
    failed_over(world, first)
    assert world.process("second").carry().status == "answered"
    assert world.vendor.received == ["look", "keyed", "look"]
    assert told(world)[1] == (1, "told_unknown")


def test_on_the_timeline_of_the_step_an_unmarked_write_was_never_made(world: World) -> None:
    run = world.start(calls(("v/look", {"n": 0}), ("v/blind", {"n": 1})), says("done"))
    first = world.process("first")
    die_before_effect("look")
    with pytest.raises(Killed):
        first.carry()
    world.lapse(first)
    assert world.process("second").carry().status == "answered"
    assert told(world) == [(0, "routed"), (1, "routed")]
    assert len(world.vendor.of("blind")) == 1
    assert Call.objects.get(run_id=run.id).fate == "done"


def test_a_step_of_a_timeline_that_nobody_knows_raises_no_doubt(world: World) -> None:
    """Of a server that does not tell, or a step written before it was asked."""
    world.start(calls(("v/look", {"n": 0}), ("v/blind", {"n": 1})), says("done"))
    first = world.process("first")
    die_before_effect("look")
    with pytest.raises(Killed):
        first.carry()
    world.sql("UPDATE runs_run SET timeline = 0")
    world.lapse(first)
    assert world.process("second").carry().status == "answered"
    assert told(world) == [(0, "routed"), (1, "routed")]


def test_a_next_death_finds_the_mark_and_the_doubt(world: World) -> None:
    """The resume after the failover dies too: the step is still the old timeline's."""
    run, first = lose_the_mark(world, "blind")
    failed_over(world, first)
    second = world.process("second")
    die_before_effect("look")
    with pytest.raises(Killed):
        second.carry()
    world.lapse(second)
    world.sql("UPDATE runs_run SET losses = 1, resumes_recorded = 0")
    assert world.process("third").carry().status == "answered"
    assert world.vendor.received == ["look", "blind", "look", "look"]
    assert world.call(run, 1, 1).fate == "unknown"


def test_what_counts_as_marked() -> None:
    every = {"has_failed_over": True, "is_write": True, "could_be_sent": True}
    assert counts_as_marked(**every)
    for fact in every:
        assert not counts_as_marked(**{**every, fact: False})
