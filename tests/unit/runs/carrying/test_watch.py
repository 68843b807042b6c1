"""The watch: what it claims from the dead, and what it must not forget of them."""

from __future__ import annotations

import dataclasses

import psycopg
import pytest
from pytest_django import Settings

from liyagent.leases.identity import own_identity
from liyagent.leases.models import Holder
from runs.models import Run
from runs.runner import Runner
from runs.watch import Watch
from tests.unit.runs.carrying.conftest import World, says


@pytest.mark.promise("CR-13")
def test_a_dead_holder_is_remembered_while_a_locked_run_of_it_is_still_to_be_claimed(
    world: World,
) -> None:
    """The dead process's last statement may still be running in its backend."""
    run = world.start(says("done"))
    dead = world.process("dead")
    dead.take()
    world.sql("UPDATE leases_holder SET pid = 1, started_ticks = -1 WHERE id = %s", dead.holder)
    watch = Watch(Runner(world.process("b").holder, name="b"), identity=own_identity())
    with psycopg.connect(world.url) as late:
        late.execute("SELECT 1 FROM runs_run WHERE id = %s FOR UPDATE", [run.id])
        watch.look_once()
        assert Holder.objects.filter(id=dead.holder).exists()
        assert Run.objects.get(id=run.id).status == "running"
    watch.look_once()
    claimed = Run.objects.get(id=run.id)
    assert (claimed.status, claimed.last_loss, claimed.losses) == ("queued", "proof", 1)
    assert not Holder.objects.filter(id=dead.holder).exists()


def lapsed_run(world: World) -> None:
    """A run whose holder did not renew."""
    world.start(says("done"))
    stalled = world.process("stalled")
    stalled.take()
    world.sql(
        "UPDATE leases_holder SET renew_by = liyagent_now() - interval '1 s' WHERE id = %s",
        stalled.holder,
    )


@pytest.mark.promise("CR-11")
@pytest.mark.promise("CR-13")
def test_the_leader_claims_what_lapsed_at_each_tick_and_another_leads_once_it_is_silent(
    world: World, settings: Settings
) -> None:
    """By the lease alone: the processes are alive, so nothing proves them dead."""
    settings.LIYAGENT = dataclasses.replace(settings.LIYAGENT, lease_seconds=0.0, sweep_seconds=0.0)
    leader, other = (
        Watch(Runner(world.process(name).holder, name=name), identity=own_identity())
        for name in ("leader", "other")
    )
    claimed = ("queued", 1, "lapse")

    def look(watch: Watch) -> tuple[str, int, str]:
        watch.look_once()
        run = Run.objects.get(status__in=("running", "queued"))
        return run.status, run.losses, run.last_loss

    lapsed_run(world)
    assert look(leader) == claimed
    assert world.process("third").carry().status == "answered"
    lapsed_run(world)
    world.sql("UPDATE leases_lease SET until = liyagent_now() + interval '1 h'")
    assert look(other) == ("running", 0, "")
    world.sql("UPDATE leases_lease SET until = liyagent_now() - interval '1 s'")
    assert look(other) == claimed


def test_the_sweep_s_connection_ages_from_the_first_look_on(world: World) -> None:
    """A process that never led must be able to sweep as soon as it leads: its grace has passed by then."""
    watch = Watch(Runner(world.process("b").holder, name="b"), identity=own_identity())
    world.sql(
        "INSERT INTO leases_lease VALUES ('leader', gen_random_uuid(), 1, liyagent_now() + interval '1 h')"
    )
    watch.look_once()
    assert watch._connection is not None
    opened = watch._connection.info.backend_pid
    world.sql("DELETE FROM leases_lease")
    watch.tick()
    assert watch._connection.info.backend_pid == opened
