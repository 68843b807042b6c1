"""Fires of cron over the death of processes: each slot one run and one outcome, its writes once (CR-03, FL-68)."""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Iterator, Sequence
from uuid import UUID

import pytest

from tests.processes.place import WRITES_A_RUN, Place, make_whole
from tests.processes.test_outages import assert_kept
from tests.trials.scripts import AGENTS
from tests.trials.watch import Row

pytestmark = [pytest.mark.timeout(900)]

# 20 kills around the slots of five triggers are the hundred fires of FL-68; fewer unless `CRON_KILLS` asks for them.
KILLS = int(os.environ.get("CRON_KILLS", "3"))
SEED = int(os.environ.get("CRON_SEED", "68"))
TRIGGERS = {f"t-{kind}-{number}": kind for kind, number in [("keyed", 1), ("keyed", 2), ("readable", 1), ("readable", 2), ("blind", 1)]}  # fmt: skip
KEYS = sorted(TRIGGERS)
AHEAD_SECONDS, BEFORE_SECONDS, AFTER_SECONDS = 0.4, 0.05, 0.15
# A slot a little ahead, by the one clock; what comes after it is the line's own, far away.
SLOT = """
UPDATE cron_crontrigger SET next_slot = it.slot FROM (
    SELECT liyagent_now() + make_interval(secs => %s) AS slot OFFSET 0) AS it WHERE key = ANY(%s)
    RETURNING key, it.slot
"""
ANOTHER = """
INSERT INTO cron_crontrigger (key, agent_key, task, schedule, timezone, is_enabled, catch_up, overlap, started_by, next_slot, saved_by, updated_at)
    SELECT %s, %s, task, schedule, timezone, is_enabled, catch_up, overlap, started_by, next_slot, saved_by, updated_at
        FROM cron_crontrigger WHERE key = %s
    RETURNING key
"""
GONE = (
    "DELETE FROM cron_crontrigger WHERE key = ANY(%s) RETURNING key",
    "DELETE FROM entry_arrival WHERE way = 'cron' AND source = ANY(%s) RETURNING run_id",
)
FIRES = "SELECT source, delivery_id, run_id, state, outcome, reason FROM entry_arrival WHERE way = 'cron' AND source = ANY(%s) ORDER BY run_id"
OPEN = "SELECT count(*)::int AS n FROM entry_arrival WHERE way = 'cron' AND state IN ('received', 'started')"
BEHIND = "SELECT count(*)::int AS n FROM cron_crontrigger WHERE key = ANY(%s) AND next_slot < liyagent_now() + interval '1 hour'"
# What another process finds only once the ten seconds of whoever kept it are over; not waited for here.
CLAIMS_LAPSE = "UPDATE entry_arrival SET claimed_until = liyagent_now() WHERE state = 'received' RETURNING run_id"
RUNS = "SELECT count(*)::int AS n FROM runs_run WHERE entry = 'cron' AND id = ANY(%s)"
LOSSES = "SELECT sum(losses)::int AS n FROM runs_run WHERE id = ANY(%s)"


@pytest.fixture
def timed(place: Place) -> Iterator[Place]:
    """Triggers of each kind of agent, once in four years: their slots are set by the test."""
    first, *others = KEYS
    place.stage.manage(
        "cron", "save", first, f"--agent={AGENTS[TRIGGERS[first]]}", "--task=File two things.",
        "--schedule=0 0 29 2 *", "--started-by=admin",
    )  # fmt: skip
    for key in others:
        place.watch.rows(ANOTHER, [key, AGENTS[TRIGGERS[key]], first])
    yield place
    for gone in GONE:
        place.watch.rows(gone, [KEYS])


def fires(place: Place, keys: Sequence[str] = KEYS) -> list[Row]:
    """What was recorded of these triggers."""
    return place.watch.rows(FIRES, [list(keys)])


def wait_for_fires(place: Place, key: str, count: int) -> None:
    """Return once so many fires of a trigger were recorded."""
    place.until(lambda: len(fires(place, [key])) == count, f"{count} fires of {key}")


def kill_around(place: Place, victims: Sequence[str], seconds: float) -> None:
    """Let a slot of every trigger come, and kill these processes so many seconds after it (or before)."""
    until = time.monotonic() + AHEAD_SECONDS + seconds
    assert len(place.watch.rows(SLOT, [AHEAD_SECONDS, KEYS])) == len(KEYS)
    time.sleep(max(0.0, until - time.monotonic()))
    for name in victims:
        place.stage.signal(name, signal.SIGKILL)
    for name in victims:
        place.stage.wait_gone(name)


def settle(place: Place) -> None:
    """Both processes live; return once every slot was dealt with and every run has ended."""
    make_whole(place.stage)
    place.until(lambda: place.one(BEHIND, KEYS) == 0, "the fires")
    place.watch.rows(CLAIMS_LAPSE)
    place.until(lambda: place.one(OPEN) == 0, "the end of their runs", seconds=60)


@pytest.mark.promise("CR-03")
@pytest.mark.field("FL-68")
def test_processes_killed_around_their_fires_leave_each_slot_one_outcome_and_none_twice(
    timed: Place,
) -> None:
    chosen = random.Random(SEED)
    for _ in range(KILLS):
        victims = chosen.choice([["A"], ["B"], ["A", "B"]])
        kill_around(timed, victims, chosen.uniform(-BEFORE_SECONDS, AFTER_SECONDS))
        settle(timed)
    found = fires(timed)
    assert {(it["state"], it["outcome"]) for it in found} == {("ended", "answered")}
    slots = [(it["source"], it["delivery_id"]) for it in found]
    assert len(slots) == len(set(slots)) == KILLS * len(KEYS)
    runs: list[UUID] = [it["run_id"] for it in found]
    assert timed.one(RUNS, runs) == len(runs)
    assert_kept(timed.judged(runs, asked=WRITES_A_RUN))
    timed.check_chains(runs)
    print(f"{len(runs)} fires, {KILLS} kills, seed {SEED}, losses {timed.one(LOSSES, runs)}")  # noqa: T201


@pytest.mark.promise("CR-03")
def test_the_run_of_a_fire_whose_process_is_killed_goes_on_from_its_last_step(timed: Place) -> None:
    timed.stage.signal("B", signal.SIGKILL)
    timed.stage.wait_gone("B")
    key = "t-readable-1"
    timed.watch.rows(SLOT, [0.0, [key]])
    wait_for_fires(timed, key, 1)
    run: UUID = fires(timed, [key])[0]["run_id"]
    timed.wait_for_requests("jira", [run])
    timed.stage.signal("A", signal.SIGKILL)
    timed.stage.wait_gone("A")
    settle(timed)
    (fire,) = fires(timed, [key])
    assert (fire["state"], fire["outcome"]) == ("ended", "answered")
    (head,) = timed.heads([run])
    assert (head["losses"], head["attempt"]) == (1, 2)
    assert_kept(timed.judged([run], asked=WRITES_A_RUN))


@pytest.mark.field("FL-01")
@pytest.mark.promise("CR-03")
def test_a_fire_whose_write_is_slow_is_run_once_while_further_slots_are_recorded(
    timed: Place,
) -> None:
    """The vendor answers later than a lease lasts; both processes live, and look at what is due all the while."""
    key = "t-readable-2"
    timed.stage.vendors.set_pace("jira", before_ms=100, after_ms=3_000)
    timed.watch.rows(SLOT, [0.0, [key]])
    wait_for_fires(timed, key, 1)
    run: UUID = fires(timed, [key])[0]["run_id"]
    timed.wait_for_requests("jira", [run])
    for count in (2, 3):
        timed.watch.rows(SLOT, [0.0, [key]])
        wait_for_fires(timed, key, count)
    # The same fire, delivered to whoever looks.
    timed.watch.rows("UPDATE entry_arrival SET state = 'received', claimed_until = NULL WHERE run_id = %s RETURNING run_id", [run])  # fmt: skip
    timed.until(lambda: fires(timed, [key])[0]["state"] != "received", "the end of the delivery")
    timed.stage.set_pace(0)
    settle(timed)
    first, *others = fires(timed, [key])
    assert (first["state"], first["outcome"]) == ("ended", "answered")
    assert {(it["state"], it["reason"]) for it in others} == {("skipped", f"run {run} of an earlier slot still goes on")}  # fmt: skip
    (head,) = timed.heads([run])
    assert (head["losses"], head["attempt"]) == (0, 1)
    assert timed.effects([run])["jira"] == 2
    assert_kept(timed.judged([run], asked=WRITES_A_RUN))
