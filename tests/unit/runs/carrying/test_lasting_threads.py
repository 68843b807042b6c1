"""What could end or block a thread of a process, or cost a run that nobody lost: the process goes on, or ends."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from types import SimpleNamespace
from uuid import UUID

import psycopg
import pytest
from django.db import connection

from liyagent.core.database import HOT_CONNECTIONS, hot_pool
from liyagent.core.hot_connection import HotConnection
from liyagent.leases.holding import register_holder
from liyagent.leases.identity import own_identity
from runs import hot, late_look
from runs.checkpoint import keyring
from runs.errors import LostLease
from runs.models import Run
from runs.renewal import Renewal
from runs.runner import FORMATS, Runner
from runs.threads import LastingThread
from tests.unit.runs.carrying.conftest import World, calls, never, says
from tests.unit.runs.carrying.vendor import VENDOR, Killed, die_before_effect


def register() -> UUID:
    try:
        return register_holder(
            own_identity(), name="a", lease_seconds=30, formats=FORMATS, key_ids=keyring().ids
        )
    finally:
        connection.close()


@pytest.fixture
def runner(world: World) -> Iterator[Runner]:
    """A runner without its take loop, drained at the end."""
    runner = Runner(register(), name="a")
    yield runner
    runner.drain(seconds=2)


def take_in_thread(runner: Runner) -> None:
    threading.Thread(target=runner.take_until_drained, daemon=True).start()


def eventually(holds: Callable[[], bool], *, seconds: float = 8) -> None:
    until = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < until, "it never came true"
        time.sleep(0.02)


def answered(run: Run) -> bool:
    return Run.objects.get(id=run.id).status == "answered"


class LosingPool:
    """The hot pool, whose connection breaks once after what it was asked has been committed."""

    def __init__(self, after: Callable[[], bool]) -> None:
        self.after = after
        self.has_lost = False

    def getconn(self) -> HotConnection:
        return hot_pool().getconn()

    def putconn(self, connection: HotConnection) -> None:
        hot_pool().putconn(connection)
        if not self.has_lost and self.after():
            self.has_lost = True
            raise psycopg.OperationalError("the answer was lost")


@pytest.mark.promise("CR-13")
@pytest.mark.field("FL-19")
def test_a_take_whose_answer_is_lost_is_carried_and_no_loss(
    world: World, runner: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    running = "SELECT 1 FROM runs_run WHERE status = 'running'"
    pool = LosingPool(lambda: bool(world.sql(running)))
    monkeypatch.setattr(hot, "hot_pool", lambda: pool)
    take_in_thread(runner)
    # The loop has begun before the run is there: what is adopted at its start alone would not do.
    eventually(
        lambda: bool(world.sql("SELECT 1 FROM pg_stat_activity WHERE query ~ 'liyagent_take'"))
    )
    run = world.start(says("done"))
    eventually(lambda: answered(run))
    assert pool.has_lost
    assert Run.objects.get(id=run.id).losses == 0


@pytest.mark.promise("CR-13")
def test_a_run_whose_thread_cannot_be_started_is_carried_by_a_later_one(
    world: World, runner: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At a limit of processes or memory; the loop that takes must outlive it, and the run must not stay."""
    failures = [RuntimeError("can't start new thread")] * 2

    class Thread(threading.Thread):
        def start(self) -> None:
            if failures and (self.name or "").startswith("run-"):
                raise failures.pop()
            super().start()

    monkeypatch.setattr("runs.runner.threading", SimpleNamespace(Thread=Thread))
    first, second = world.start(says("done")), world.start(says("done"))
    take_in_thread(runner)
    eventually(lambda: answered(first) and answered(second))
    assert not failures
    assert [Run.objects.get(id=it.id).losses for it in (first, second)] == [0, 0]


def test_a_fault_of_the_moment_does_not_end_the_take_loop(
    world: World,
    runner: Runner,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """As a server that was made a standby: it answers, and refuses to write."""
    run = world.start(says("done"))
    with monkeypatch.context() as patch:
        patch.setattr(hot, "TAKE", hot.TAKE.replace("liyagent_take", "liyagent_gone"))
        take_in_thread(runner)
        eventually(lambda: "a take went wrong" in caplog.text)
    eventually(lambda: answered(run))


@pytest.mark.promise("CR-11")
def test_a_renewal_waits_for_no_connection_of_the_hot_pool(world: World, runner: Runner) -> None:
    world.start(says("never"))
    ((run_id, _attempt),) = hot.take(
        runner.holder, again=1, fresh=1, formats=FORMATS, key_ids=keyring().ids, give_up=never
    )
    renewal = Renewal(runner, register=register)
    with ExitStack() as borrowed, psycopg.connect(world.url, autocommit=True) as own:
        for _ in range(HOT_CONNECTIONS):
            borrowed.enter_context(hot_pool().connection())

        def renew_thrice() -> None:
            for _ in range(3):
                renewal.renew_once(own)

        renewing = threading.Thread(target=renew_thrice, daemon=True)
        renewing.start()
        renewing.join(timeout=1.5)
        assert not renewing.is_alive()
    given = Run.objects.get(id=run_id)
    assert (given.status, given.losses) == ("queued", 1)


def test_a_renewal_outlives_a_server_that_refuses_its_statement(
    world: World, runner: Runner
) -> None:
    ended = threading.Event()
    renewal = Renewal(runner, register=register)
    world.sql("ALTER FUNCTION liyagent_renew RENAME TO liyagent_renewed")
    thread = threading.Thread(target=renewal.renew_until, args=(ended,), daemon=True)
    thread.start()
    thread.join(timeout=0.4)
    assert thread.is_alive()
    world.sql("ALTER FUNCTION liyagent_renewed RENAME TO liyagent_renew")
    world.sql("UPDATE leases_holder SET renew_by = liyagent_now() - interval '1 s'")
    eventually(
        lambda: world.sql("SELECT renew_by > liyagent_now() FROM leases_holder") == [(True,)]
    )
    ended.set()
    thread.join(timeout=2)


def test_a_call_that_cannot_be_looked_for_does_not_keep_the_others_from_it(world: World) -> None:
    for _ in range(2):
        run = world.start(calls(("v/readable", {"n": 1})), says("done"))
        first = world.process()
        die_before_effect("readable")
        with pytest.raises(Killed):
            first.carry()
        world.prove_dead(first)
        assert world.process().carry().status == "answered"
        row = {"id": 1, "tool": "readable", "client_key": world.call(run, 1).step_key}
        world.vendor.rows.append(row)
    world.sql("DELETE FROM runs_run WHERE id <> %s", run.id)
    world.sql(
        "UPDATE runs_call SET late_look_at = liyagent_now() - interval '1 s' WHERE run_id <> %s",
        run.id,
    )
    world.sql("UPDATE runs_call SET late_look_at = liyagent_now() WHERE run_id = %s", run.id)
    assert late_look.look_late() == 2
    assert world.call(run, 1).late_finding == "found"


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_thread_that_dies_ends_its_process_and_one_that_is_told_to_end_does_not() -> None:
    deaths: list[str] = []
    ending = threading.Event()

    def fall() -> None:
        raise SystemExit

    def live(name: str, work: Callable[[], None]) -> None:
        thread = LastingThread(
            name, work, is_ending=ending.is_set, on_death=lambda: deaths.append(name)
        )
        thread.start()
        thread.join(timeout=2)

    live("falls", fall)
    live("returns", lambda: None)
    ending.set()
    live("ends", lambda: None)
    assert deaths == ["falls", "returns"]


@pytest.mark.promise("CR-12")
@pytest.mark.field("FL-23")
def test_an_attempt_that_was_given_up_marks_nothing_and_tells_no_failure(world: World) -> None:
    """A drain out of grace, just before a write leaves: the next process makes it, as if never asked for."""
    run = world.start(calls(("v/look", {"n": 1}), ("v/blind", {"n": 2})), says("done"))
    first = world.process("first")

    def give_up(_tool: str) -> None:
        first.gives_up = True

    VENDOR.before_effect = give_up
    with pytest.raises(LostLease):
        first.carry()
    VENDOR.before_effect = lambda _tool: None
    hot.hand_over(first.holder, give_up=never)
    ended = world.process("second").carry()
    assert (ended.status, ended.losses) == ("answered", 0)
    assert world.vendor.received == ["look", "look", "blind"]
    assert world.call(run, 1, 1).fate == "done"
