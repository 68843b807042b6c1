"""A living process keeps its life-lock over the ends of its sessions, and is not claimed from meanwhile."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Iterator
from threading import Event
from uuid import UUID

import pytest
from pytest_django import Settings

from liyagent.leases.identity import own_identity
from liyagent.leases.models import Holder
from runs.models import Run
from runs.renewal import Renewal
from runs.runner import Carried, Runner
from runs.watch import Watch
from tests.unit.runs.carrying.conftest import Process, World, says
from tests.unit.runs.sql import wait_for

LEASE_SECONDS = 1.0
IS_LOCKED = "SELECT liyagent_is_locked(life_lock) FROM leases_holder WHERE id = %s"


@pytest.fixture
def living(world: World, settings: Settings) -> Iterator[Process]:
    """A process that carries a run and whose renewal runs."""
    settings.LIYAGENT = dataclasses.replace(
        settings.LIYAGENT, lease_seconds=LEASE_SECONDS, sweep_seconds=0.0
    )
    process = world.process("living")
    # Elsewhere, as far as a watcher can tell: nothing is proven of it.
    world.sql("UPDATE leases_holder SET boot_id = 'another host' WHERE id = %s", process.holder)
    runner = Runner(process.holder, name="living")
    world.start(says("done"))
    ((run_id, attempt),) = process.take()
    runner._carried[run_id] = Carried(run_id=run_id, attempt=attempt)
    renewal = Renewal(runner, register=_no_new_life)
    ended = Event()
    thread = threading.Thread(target=renewal.renew_until, args=(ended,), daemon=True)
    thread.start()
    wait_for(lambda: lock_of(process.holder) is not None)
    yield process
    ended.set()
    thread.join(5)


def _no_new_life() -> UUID:
    raise AssertionError("its holder is known")


def lock_of(holder: UUID) -> int | None:
    return Holder.objects.values_list("life_lock", flat=True).get(id=holder)


def looking(world: World) -> Watch:
    """A watcher whose grace has passed but for one lease."""
    watch = Watch(Runner(world.process("b").holder, name="b"), identity=own_identity())
    watch.look_once()
    return watch


@pytest.mark.promise("CR-12")
@pytest.mark.field("FL-13")
def test_a_session_ended_under_a_living_process_is_made_anew_with_another_lock(
    world: World, living: Process
) -> None:
    watch = looking(world)
    for _ in range(3):
        before = Holder.objects.get(id=living.holder)
        assert world.sql(IS_LOCKED, living.holder) == [(True,)]
        world.sql("SELECT pg_terminate_backend(%s, 5000)", before.backend_pid)

        def has_another_lock(before: int | None = before.life_lock) -> bool:
            watch.look_once()
            return lock_of(living.holder) not in {before, None}

        wait_for(has_another_lock)
        assert world.sql(IS_LOCKED, living.holder) == [(True,)]
    assert [(it.status, it.losses) for it in Run.objects.all()] == [("running", 0)]


@pytest.mark.promise("CR-12")
@pytest.mark.field("FL-13")
def test_no_living_process_is_claimed_from_when_all_sessions_end_at_once(
    world: World, living: Process
) -> None:
    """As after a crash of one backend: the start time stays, and every lock is free."""
    watch = looking(world)
    before = lock_of(living.holder)
    world.sql(
        "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity"
        " WHERE datname = current_database() AND pid <> pg_backend_pid()"
    )
    world.sql("UPDATE leases_holder SET renew_by = liyagent_now() - interval '1 s'")
    for _ in range(5):
        try_to_look(watch)
    wait_for(lambda: try_to_look(watch) and lock_of(living.holder) != before)
    assert world.sql(IS_LOCKED, living.holder) == [(True,)]
    assert [(it.status, it.losses) for it in Run.objects.all()] == [("running", 0)]


def try_to_look(watch: Watch) -> bool:
    """One turn of the watch, which outlives a database that is away."""
    ended = Event()
    threading.Timer(0.02, ended.set).start()
    watch.watch_until(ended)
    return True


def test_the_watch_claims_by_hint_and_needs_no_lead(world: World, settings: Settings) -> None:
    settings.LIYAGENT = dataclasses.replace(settings.LIYAGENT, lease_seconds=0.0, sweep_seconds=0.0)
    run = world.start(says("done"))
    dead = world.process("dead")
    dead.take()
    world.sql(
        "UPDATE leases_holder SET boot_id = 'another host', life_lock = 5,"
        " renew_by = liyagent_now() - interval '1 s' WHERE id = %s",
        dead.holder,
    )
    world.sql(
        "INSERT INTO leases_lease VALUES ('leader', gen_random_uuid(), 1, liyagent_now() + interval '1 h')"
    )
    watch = Watch(Runner(world.process("b").holder, name="b"), identity=own_identity())

    def is_claimed() -> bool:
        watch.look_once()
        return Run.objects.get(id=run.id).status == "queued"

    wait_for(is_claimed)
    assert Run.objects.get(id=run.id).last_loss == "hint"
    assert Holder.objects.filter(id=dead.holder).exists()  # no proof: should it live, it is told
