"""The database's clock hours off from the process's: nothing that is decided by time notices (ruling 1)."""

from __future__ import annotations

from uuid import uuid4

import pytest

from liyagent.leases.holding import prune_holders
from liyagent.leases.lease import take_lease
from runs import hot
from runs.late_look import look_late
from runs.models import Run
from tests.unit.runs.carrying.conftest import Process, World, calls, never, says
from tests.unit.runs.carrying.vendor import Killed, die_after_effect, die_before_effect

LEASE = 30.0
RENEW = "SELECT lost, orphans FROM liyagent_renew(%s, %s, ARRAY[%s]::uuid[], ARRAY[%s])"


@pytest.fixture(params=["- interval '13 hours'", "+ interval '13 hours'"])
def skewed(world: World, request: pytest.FixtureRequest) -> World:
    """The world, by a clock that is thirteen hours off: past half of any key's day."""
    world.sql(
        "CREATE OR REPLACE FUNCTION liyagent_now() RETURNS timestamptz LANGUAGE sql VOLATILE"
        f" AS $$ SELECT clock_timestamp() {request.param} $$"
    )
    return world


def die_in(world: World, process: Process) -> None:
    with pytest.raises(Killed):
        process.carry()


def read(world: World, run: Run, columns: str) -> tuple[object, ...]:
    (row,) = world.sql(f"SELECT {columns} FROM runs_run WHERE id = %s", run.id)
    return row


@pytest.mark.field("FL-16")
@pytest.mark.promise("CR-11")
def test_what_lives_keeps_its_lease_and_what_lapsed_is_claimed(skewed: World) -> None:
    world = skewed
    run = world.start(calls(("v/readable", {"n": 1})), says("done"))
    first, second = world.process("first"), world.process("second")
    die_after_effect("readable")
    die_in(world, first)
    sweep = "SELECT * FROM liyagent_sweep(gen_random_uuid(), 100, 0)"
    assert world.sql(sweep) == []
    assert world.sql(RENEW, first.holder, LEASE, run.id, 1) == [(None, None)]
    assert prune_holders(older_than_seconds=60) == 0
    assert take_lease("leader", holder=first.holder, seconds=LEASE) == 1
    assert take_lease("leader", holder=uuid4(), seconds=LEASE) is None
    # Neither wall clock has moved: the holder's own deadline is made to pass.
    assert world.lapse(first) == [run.id]
    waiting = second.carry()
    assert (waiting.status, waiting.losses) == ("queued", 1)
    assert read(world, run, "not_before = settle_after, settle_after > liyagent_now()") == (
        True,
        True,
    )
    assert second.take() == []
    world.sql("UPDATE runs_run SET settle_after = liyagent_now(), not_before = liyagent_now()")
    ended = second.carry()
    assert (ended.status, ended.losses) == ("answered", 1)
    assert world.call(run, 1).settlement == "read_back"
    assert world.vendor.received == ["readable", "find"]


@pytest.mark.field("FL-16")
@pytest.mark.promise("CR-22")
def test_a_mark_s_deadline_and_a_key_s_window_are_measured_by_one_clock(skewed: World) -> None:
    world = skewed
    run = world.start(calls(("v/keyed", {"n": 1})), says("done"))
    first = world.process("first")
    die_after_effect("keyed")
    die_in(world, first)
    call = world.call(run, 1)
    assert 0 < (call.deadline - call.marked_at).total_seconds() <= LEASE
    assert abs((hot.database_now(never) - call.marked_at).total_seconds()) < LEASE
    world.prove_dead(first)
    ended = world.process("second").carry()
    assert (ended.status, ended.losses) == ("answered", 1)
    assert world.call(run, 1).settlement == "sent_with_same_key"
    assert len(world.vendor.of("keyed")) == 1


@pytest.mark.field("FL-16")
def test_a_late_look_comes_when_it_is_due_and_not_before(skewed: World) -> None:
    world = skewed
    run = world.start(calls(("v/readable", {"n": 1})), says("done"))
    first = world.process("first")
    die_before_effect("readable")
    die_in(world, first)
    world.prove_dead(first)
    assert world.process("second").carry().status == "answered"
    due = "SELECT late_look_at > liyagent_now() - interval '1 minute' FROM runs_call WHERE run_id = %s"
    assert world.sql(due, run.id) == [(True,)]
    world.sql("UPDATE runs_call SET late_look_at = liyagent_now() + interval '1 minute'")
    assert look_late() == 0
    world.sql("UPDATE runs_call SET late_look_at = liyagent_now()")
    assert look_late() == 1
    assert world.call(run, 1).late_finding == "not_found"
