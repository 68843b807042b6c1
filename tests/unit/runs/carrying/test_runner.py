"""The threads of a process: taking, carrying, renewing, draining, and what happens when one of them dies."""

from __future__ import annotations

import dataclasses
import threading
import time
from collections.abc import Callable, Iterator
from uuid import UUID

import psycopg
import pytest
from django.conf import settings

from liyagent.leases.holding import register_holder
from liyagent.leases.identity import own_identity
from liyagent.providers.types import ModelAnswer, ModelRequest
from runs import hot, model_mind
from runs.checkpoint import keyring
from runs.models import Run
from runs.renewal import Renewal
from runs.runner import FORMATS, Carried, Runner
from runs.transcript import read_transcript
from tests.unit.runs.carrying.conftest import Model, World, calls, says
from tests.unit.runs.carrying.vendor import VENDOR

CUTS = 12


def register(name: str = "a") -> UUID:
    return register_holder(
        own_identity(), name=name, lease_seconds=30, formats=FORMATS, key_ids=keyring().ids
    )


@pytest.fixture
def runner(world: World) -> Iterator[Runner]:
    """A runner with its take loop, drained at the end."""
    runner = Runner(register(), name="a")
    thread = threading.Thread(target=runner.take_until_drained, daemon=True)
    thread.start()
    yield runner
    VENDOR.before_effect = VENDOR.after_effect = lambda _tool: None
    runner.drain(seconds=2)
    thread.join(timeout=2)


def eventually(holds: Callable[[], bool], *, seconds: float = 10) -> None:
    until = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < until, "it never came true"
        time.sleep(0.02)


def status_of(run: Run) -> str:
    return Run.objects.get(id=run.id).status


class Gate:
    """Holds a call at the vendor until it is opened."""

    def __init__(self) -> None:
        self.reached = threading.Event()
        self.opened = threading.Event()

    def __call__(self, _tool: str) -> None:
        self.reached.set()
        self.opened.wait(10)


def test_a_queued_run_is_taken_and_ends(world: World, runner: Runner) -> None:
    run = world.start(calls(("v/blind", {"n": 1})), says("done"))
    eventually(lambda: status_of(run) == "answered")
    eventually(lambda: runner.carried() == [])


@pytest.mark.promise("CR-18")
def test_a_slot_that_becomes_free_is_filled_without_waiting_for_the_next_poll(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    conf = dataclasses.replace(settings.LIYAGENT, run_slots=1, poll_seconds=60)
    monkeypatch.setattr(settings, "LIYAGENT", conf)
    runs = [world.start(says("done")) for _ in range(4)]
    runner = Runner(register(), name="a")
    thread = threading.Thread(target=runner.take_until_drained, daemon=True)
    thread.start()
    eventually(lambda: all(status_of(run) == "answered" for run in runs))
    runner.drain(seconds=1)
    thread.join(timeout=2)


def test_an_attempt_that_breaks_counts_as_a_loss_and_the_third_fails_the_run(
    world: World, runner: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    def break_down(*_args: object, **_facts: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(model_mind, "messages_of", break_down)
    run = world.start(says("never"))
    eventually(lambda: Run.objects.get(id=run.id).losses == 2)
    ((run_id, attempt),) = hot.take_one(
        runner.holder,
        run.id,
        formats=FORMATS,
        key_ids=keyring().ids,
        give_up=lambda: False,
    )
    runner.carry_in_threads([(run_id, attempt)])
    eventually(lambda: status_of(run) == "failed")
    ended = Run.objects.get(id=run.id)
    assert (ended.losses, ended.attempt) == (3, 4)
    assert "lost 3 times" in ended.reason


@pytest.mark.field("FL-23")
def test_a_drain_hands_back_at_the_next_boundary_without_a_loss(
    world: World, runner: Runner
) -> None:
    gate = Gate()
    VENDOR.before_effect = gate
    run = world.start(calls(("v/look", {"n": 1}), ("v/look", {"n": 2})), says("done"))
    assert gate.reached.wait(5)
    draining = threading.Thread(target=runner.drain, kwargs={"seconds": 5})
    draining.start()
    gate.opened.set()
    draining.join(timeout=6)
    handed = Run.objects.get(id=run.id)
    assert (handed.status, handed.losses, handed.handovers, handed.holder) == ("queued", 0, 1, None)
    assert VENDOR.received == ["look"]
    VENDOR.before_effect = lambda _tool: None
    ended = world.process("b").carry()
    assert (ended.status, ended.losses) == ("answered", 0)
    assert world.audit("agent.run.crash_resumed") == []
    assert "run.handed_over" in [it.kind for it in world.events(run)]


@pytest.mark.field("FL-23")
def test_a_write_longer_than_the_grace_is_handed_over_in_doubt_without_a_loss(
    world: World, runner: Runner
) -> None:
    gate = Gate()
    VENDOR.after_effect = gate
    run = world.start(calls(("v/readable", {"n": 1})), says("done"))
    assert gate.reached.wait(5)
    runner.drain(seconds=0.05)
    handed = Run.objects.get(id=run.id)
    assert (handed.status, handed.losses, handed.handovers) == ("queued", 0, 1)
    assert handed.settle_after == world.call(run, 1).deadline
    gate.opened.set()
    eventually(lambda: runner.carried() == [])
    VENDOR.after_effect = lambda _tool: None
    world.sql("UPDATE runs_run SET settle_after = liyagent_now() - interval '1 s'")
    ended = world.process("b").carry()
    assert (ended.status, ended.losses) == ("answered", 0)
    assert len(VENDOR.of("readable")) == 1
    assert world.call(run, 1).settlement == "read_back"


@pytest.mark.promise("CR-12")
@pytest.mark.field("FL-13")
@pytest.mark.field("FL-15")
def test_a_stalled_attempt_that_wakes_writes_nothing_more(world: World, runner: Runner) -> None:
    gate = Gate()
    VENDOR.before_effect = gate
    run = world.start(calls(("v/look", {"n": 1})), says("done"))
    assert gate.reached.wait(5)
    stalled = runner.carried()[0]
    world.sql("UPDATE leases_holder SET is_draining = true WHERE id = %s", runner.holder)
    world.sql("SELECT * FROM liyagent_claim(ARRAY[%s]::uuid[], ARRAY[1], 'lapse', NULL)", run.id)
    VENDOR.before_effect = lambda _tool: None
    ended = world.process("b").carry()
    assert (ended.status, ended.attempt) == ("answered", 2)
    told = [(it.number, it.kind) for it in world.events(run)]
    gate.opened.set()
    assert stalled.thread is not None
    stalled.thread.join(timeout=5)
    assert [(it.number, it.kind) for it in world.events(run)] == told
    assert [kind for _, kind in told].count("run.ended") == 1
    assert Run.objects.get(id=run.id).attempt == 2


@pytest.mark.promise("CR-12")
@pytest.mark.field("FL-15")
def test_an_answer_that_comes_after_its_run_was_taken_over_is_kept_by_nobody(
    world: World,
    runner: Runner,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """It stalled in its last model step, and wakes with the answer when another has answered."""
    gate, ask = Gate(), type(world.model).ask

    def ask_late(model: Model, request: ModelRequest) -> ModelAnswer:
        if request.steps_taken == 1 and not gate.reached.is_set():
            gate("ask")
            return says("the answer of who stalled")
        return ask(model, request)

    monkeypatch.setattr(type(world.model), "ask", ask_late)
    run = world.start(calls(("v/blind", {"n": 1})), says("the answer of who took over"))
    assert gate.reached.wait(5)
    stalled = runner.carried()[0]
    world.sql("UPDATE leases_holder SET is_draining = true WHERE id = %s", runner.holder)
    world.sql("SELECT * FROM liyagent_claim(ARRAY[%s]::uuid[], ARRAY[1], 'lapse', NULL)", run.id)
    ended = world.process("b").carry()
    assert (ended.status, ended.attempt, ended.losses) == ("answered", 2, 1)
    told = [(it.number, it.kind, it.content) for it in world.events(run)]
    gate.opened.set()
    assert stalled.thread is not None
    stalled.thread.join(timeout=5)
    assert not stalled.thread.is_alive()
    assert [(it.number, it.kind, it.content) for it in world.events(run)] == told
    assert [kind for _, kind, _ in told].count("run.ended") == 1
    assert read_transcript(ended)["answer"] == "the answer of who took over"
    assert VENDOR.received == ["blind"]
    assert "this attempt is no longer ours" in caplog.text


def test_what_the_renewal_says_is_lost_is_stopped(world: World, runner: Runner) -> None:
    gate = Gate()
    VENDOR.before_effect = gate
    run = world.start(calls(("v/look", {"n": 1})), says("done"))
    assert gate.reached.wait(5)
    carried = runner.carried()[0]
    renewal = Renewal(runner, register=register)
    with psycopg.connect(world.url, autocommit=True) as connection:
        renewal.renew_once(connection)
        assert not carried.lost.is_set()
        world.sql(
            "SELECT * FROM liyagent_claim(ARRAY[%s]::uuid[], ARRAY[1], 'lapse', NULL)", run.id
        )
        renewal.renew_once(connection)
    assert carried.lost.is_set()
    gate.opened.set()


@pytest.mark.promise("CR-11")
def test_a_running_row_without_a_thread_is_given_back_at_the_second_renewal(world: World) -> None:
    run = world.start(says("done"))
    runner = Runner(register(), name="a")
    hot.take(
        runner.holder,
        again=1,
        fresh=1,
        formats=FORMATS,
        key_ids=keyring().ids,
        give_up=lambda: False,
    )
    renewal = Renewal(runner, register=register)
    with psycopg.connect(world.url, autocommit=True) as connection:
        renewal.renew_once(connection)
        assert status_of(run) == "running"
        renewal.renew_once(connection)
    given = Run.objects.get(id=run.id)
    assert (given.status, given.losses, given.last_loss) == ("queued", 1, "thread")


def test_a_row_that_has_its_thread_by_the_second_renewal_is_kept(world: World) -> None:
    run = world.start(says("done"))
    runner = Runner(register(), name="a")
    ((run_id, attempt),) = hot.take(
        runner.holder,
        again=1,
        fresh=1,
        formats=FORMATS,
        key_ids=keyring().ids,
        give_up=lambda: False,
    )
    renewal = Renewal(runner, register=register)
    with psycopg.connect(world.url, autocommit=True) as connection:
        renewal.renew_once(connection)
        runner._carried[run_id] = Carried(run_id=run_id, attempt=attempt)
        for _ in range(3):
            renewal.renew_once(connection)
    assert status_of(run) == "running"


@pytest.mark.promise("CR-13")
def test_of_many_runs_taken_at_once_none_is_lost_while_the_threads_of_others_start(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = [world.start(says("done")) for _ in range(3)]
    runner = Runner(register(), name="a")
    renewal = Renewal(runner, register=register)

    class SlowToStart(threading.Thread):
        def start(self) -> None:
            with psycopg.connect(world.url, autocommit=True) as connection:
                for _ in range(2):
                    renewal.renew_once(connection)
            super().start()

    with monkeypatch.context() as patch:
        patch.setattr(threading, "Thread", SlowToStart)
        assert runner._take_once()
    eventually(lambda: all(status_of(run) == "answered" for run in runs))
    assert [it.losses for it in Run.objects.filter(id__in=[it.id for it in runs])] == [0, 0, 0]


@pytest.mark.field("FL-18")
def test_a_holder_that_the_database_forgot_loses_all_and_starts_a_new_life(
    world: World, runner: Runner
) -> None:
    gate = Gate()
    VENDOR.before_effect = gate
    run = world.start(calls(("v/look", {"n": 1})), says("done"))
    assert gate.reached.wait(5)
    before, carried = runner.holder, runner.carried()[0]
    world.sql("DELETE FROM leases_holder WHERE id = %s", before)
    with psycopg.connect(world.url, autocommit=True) as connection:
        Renewal(runner, register=register).renew_once(connection)
    assert carried.lost.is_set()
    assert runner.holder != before
    assert [
        row[0] for row in world.sql("SELECT run FROM liyagent_sweep(%s, 9, 0)", runner.holder)
    ] == [run.id]
    VENDOR.before_effect = lambda _tool: None
    gate.opened.set()
    eventually(lambda: status_of(run) == "answered")
    assert Run.objects.get(id=run.id).losses == 1


def test_a_take_whose_answer_was_lost_is_adopted(world: World) -> None:
    run = world.start(says("done"))
    runner = Runner(register(), name="a")
    hot.take(
        runner.holder,
        again=1,
        fresh=1,
        formats=FORMATS,
        key_ids=keyring().ids,
        give_up=lambda: False,
    )
    thread = threading.Thread(target=runner.take_until_drained, daemon=True)
    thread.start()
    eventually(lambda: status_of(run) == "answered")
    assert Run.objects.get(id=run.id).losses == 0
    runner.drain(seconds=1)
    thread.join(timeout=2)


@pytest.mark.field("FL-25")
@pytest.mark.parametrize("tool", ["look", "blind", "keyed", "readable"])
def test_connections_cut_at_any_moment_are_no_loss_and_double_nothing(
    world: World, runner: Runner, tool: str
) -> None:
    run = world.start(*[calls((f"v/{tool}", {"n": n})) for n in range(12)], says("done"))
    for _ in range(CUTS):
        world.sql(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE application_name = 'liyagent hot' AND datname = current_database()"
        )
        time.sleep(0.1)
    eventually(lambda: status_of(run) in {"answered", "failed"}, seconds=40)
    ended = Run.objects.get(id=run.id)
    assert (ended.status, ended.losses) == ("answered", 0)
    assert len(VENDOR.of(tool)) == (0 if tool == "look" else 12)
    assert [it.kind for it in world.events(run)].count("run.ended") == 1


@pytest.mark.field("FL-29")
def test_no_session_is_idle_in_a_transaction_while_a_call_is_on_its_way(
    world: World, runner: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At the vendor and at the model; no transaction is open, so the server's limit ends no session."""
    gates = {name: Gate() for name in ("model", "vendor")}
    VENDOR.after_effect = gates["vendor"]
    ask = type(world.model).ask

    def ask_slowly(model: Model, request: ModelRequest) -> ModelAnswer:
        if request.steps_taken == 1:
            gates["model"]("ask")
        return ask(model, request)

    monkeypatch.setattr(type(world.model), "ask", ask_slowly)
    run = world.start(calls(("v/blind", {"n": 1})), says("done"))
    for name in ("vendor", "model"):
        assert gates[name].reached.wait(5)
        rows = world.sql(
            "SELECT query FROM pg_stat_activity WHERE datname = current_database()"
            " AND state LIKE 'idle in transaction%%'"
        )
        assert rows == [], name
        gates[name].opened.set()
    eventually(lambda: status_of(run) == "answered")


@pytest.mark.field("FL-02")
@pytest.mark.promise("CR-11")
def test_a_long_call_is_not_taken_over_while_its_holder_renews(
    world: World, runner: Runner
) -> None:
    gate = Gate()
    VENDOR.before_effect = gate
    world.sql("UPDATE leases_holder SET renew_by = liyagent_now() + interval '0.3 s'")
    run = world.start(calls(("v/look", {"n": 1})), says("done"))
    assert gate.reached.wait(5)
    renewal = Renewal(runner, register=register)
    with psycopg.connect(world.url, autocommit=True) as connection:
        for _ in range(15):
            renewal.renew_once(connection)
            assert world.sql("SELECT * FROM liyagent_sweep(gen_random_uuid(), 9, 0)") == []
            time.sleep(0.05)
    gate.opened.set()
    eventually(lambda: status_of(run) == "answered")
    assert Run.objects.get(id=run.id).losses == 0
    assert VENDOR.received == ["look"]
