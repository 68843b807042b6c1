"""Real processes, a database that goes away under them, and what the vendors remember afterwards."""

from __future__ import annotations

import signal
import time
from collections.abc import Sequence
from uuid import UUID

import pytest

from liyagent.demo.judge import Verdict
from liyagent.demo.vendors.process import VENDORS
from tests.processes.place import LEASE_SECONDS, Place

# The first test of this file waits for all that is set up.
pytestmark = [pytest.mark.timeout(180), pytest.mark.field("FL-16")]

FUNCTION_CALLS = (
    "SELECT coalesce(sum(calls), 0)::int AS n FROM pg_stat_user_functions WHERE funcname = %s"
)
RING_AGAIN = """
    INSERT INTO django_q_ormq (key, payload, lock)
    SELECT key, payload, now() FROM (SELECT key, payload FROM django_q_ormq LIMIT 1) AS ring, generate_series(1, 5)
    RETURNING id
"""
RINGS = "SELECT count(*)::int AS n FROM django_q_ormq WHERE lock <= now()"
RUNNING = "SELECT count(*)::int AS n FROM runs_run WHERE status = 'running'"
# As a process that drains: it lives, renews and watches, and takes nothing.
TAKES_NOTHING = "UPDATE leases_holder SET is_draining = %s WHERE id = ANY(%s) RETURNING id"
HELD = "SELECT count(*)::int AS n FROM runs_run WHERE status = 'running' AND holder = ANY(%s) AND id = ANY(%s)"
MOST_RINGS = 60
KINDS = ("keyed", "readable", "blind")
# Far more than two looks of a pool that tries again each second, far less than one that doubles its pauses.
BACK_SECONDS = 4.5


def assert_kept(verdict: Verdict) -> None:
    """Nothing lost, doubled, missing, hidden or unsettled; unknown only what nobody can know."""
    assert verdict.lost == ()
    assert verdict.duplicates == ()
    assert verdict.missing == ()
    assert verdict.hidden == ()
    assert verdict.unsettled == ()
    assert verdict.left_out == ()
    assert [it for it in verdict.unknown if not it.is_allowed] == []


def charged(place: Place, runs: Sequence[UUID]) -> list[tuple[int, int]]:
    """Losses and attempt of each run."""
    return [(it["losses"], it["attempt"]) for it in place.heads(runs)]


@pytest.mark.field("FL-01")
@pytest.mark.field("FL-02")
@pytest.mark.promise("CR-11")
def test_a_write_of_two_leases_is_made_once_while_sweeps_and_rings_go_on(place: Place) -> None:
    place.stage.vendors.set_pace("servicenow", before_ms=0, after_ms=2_500 * LEASE_SECONDS)
    place.one("SELECT pg_stat_reset() IS NULL AS done")
    runs = place.start_runs("blind")
    place.wait_for_requests("servicenow", runs)
    rung: list[int] = []
    until = time.monotonic() + 2 * LEASE_SECONDS
    while time.monotonic() < until and len(rung) < MOST_RINGS:
        rung += [it["id"] for it in place.watch.rows(RING_AGAIN)]
        time.sleep(0.05)
    assert place.effects(runs)["servicenow"] == 1
    assert place.heads(runs)[0]["status"] == "running"
    place.stage.set_pace(0)
    place.wait_for_ends(runs)
    assert charged(place, runs) == [(0, 1)]
    assert place.effects(runs) == {"incident": 0, "jira": 0, "servicenow": 2}
    assert_kept(place.judged(runs))
    place.check_chains(runs)
    # The same ring was delivered again and again, each was swept for, and none is left.
    assert rung != []
    left = "SELECT count(*)::int AS n FROM django_q_ormq WHERE id = ANY(%s)"
    place.until(lambda: place.one(left, rung) == 0, "the last second delivery")
    place.until(
        lambda: place.one(FUNCTION_CALLS, "liyagent_sweep") > len(rung), "a sweep for each delivery"
    )
    assert charged(place, runs) == [(0, 1)]


@pytest.mark.field("FL-03")
def test_a_database_away_for_longer_than_the_lease_ends_no_write_and_no_chain(place: Place) -> None:
    """One vendor answers while the database is away, one when it is long back; their runs wait and go on."""
    place.stage.vendors.set_pace("jira", before_ms=1_500, after_ms=1_500)
    place.stage.vendors.set_pace("servicenow", before_ms=100, after_ms=8_500)
    runs = place.start_runs("readable", "blind")
    place.wait_for_requests("jira", runs)
    place.wait_for_requests("servicenow", runs)
    pids = [place.stage.pid(name) for name in ("A", "B")]
    place.pause_database(4 * LEASE_SECONDS, how=signal.SIGINT)
    back_at = time.monotonic()
    place.stage.set_pace(0)
    place.until(
        lambda: {it["fate"] for it in place.watch.calls(runs[:1])} != {""}, "the settled write"
    )
    assert time.monotonic() - back_at < BACK_SECONDS
    place.wait_for_ends(runs)
    for losses, attempt in charged(place, runs):
        assert (losses, attempt) in {(0, 1), (1, 2)}
    assert place.effects(runs) == {"incident": 0, "jira": 2, "servicenow": 2}
    assert_kept(place.judged(runs))
    place.check_chains(runs)
    assert pids == [place.stage.pid(name) for name in ("A", "B")]


@pytest.mark.field("FL-26")
@pytest.mark.promise("CR-01")
def test_after_a_restart_of_the_database_the_same_processes_take_runs_and_take_over(
    place: Place,
) -> None:
    pids = [place.stage.pid(name) for name in ("A", "B")]
    place.pause_database(0, how=signal.SIGINT)
    runs = [*place.start_runs(*KINDS, at="A"), *place.start_runs(*KINDS, at="B")]
    place.wait_for_ends(runs)
    assert set(charged(place, runs)) == {(0, 1)}
    assert_kept(place.judged(runs))
    assert pids == [place.stage.pid(name) for name in ("A", "B")]
    # The clusters work through their rings again (one that was taken as the database went comes back after `retry`,
    # two minutes), and the sweep is made by whoever leads.
    swept = place.one(FUNCTION_CALLS, "liyagent_sweep")
    place.until(lambda: place.one(FUNCTION_CALLS, "liyagent_sweep") > swept, "a sweep")
    place.until(lambda: place.one(RINGS) == 0, "no ring that waits")
    place.stage.set_pace(400)
    later = place.start_runs(*KINDS, *KINDS, at="A")
    at_a = place.holders("A")
    place.until(lambda: place.one(HELD, at_a, later) > 0, "runs at A")
    place.stage.signal("A", signal.SIGKILL)
    place.stage.set_pace(0)
    place.wait_for_ends(later)
    assert set(charged(place, later)) <= {(0, 1), (1, 2)}
    assert (1, 2) in charged(place, later)
    assert_kept(place.judged(later))
    place.check_chains([*runs, *later])


@pytest.mark.field("FL-19")
@pytest.mark.promise("CR-13")
def test_a_database_that_dies_while_forty_runs_are_taken_over_charges_each_one_loss(
    place: Place,
) -> None:
    place.stage.set_pace(300)
    place.watch.rows(TAKES_NOTHING, [True, place.holders("A", "B")])
    runs = place.start_runs(*(KINDS * 14)[:40], at="A")
    at_a = place.holders("A")
    place.watch.rows(TAKES_NOTHING, [False, at_a])
    for vendor in VENDORS:
        place.wait_for_requests(vendor, runs, most=5)
    assert place.one(HELD, at_a, runs) == len(runs)
    place.stage.signal("A", signal.SIGKILL)
    place.watch.rows(TAKES_NOTHING, [False, place.holders("B")])
    claimed = "SELECT count(*)::int AS n FROM runs_run WHERE losses > 0 AND id = ANY(%s)"
    place.until(lambda: place.one(claimed, runs) > 0, "B's sweep")
    time.sleep(0.2)
    place.pause_database(1.5 * LEASE_SECONDS, how=signal.SIGQUIT)
    back_at = time.monotonic()
    place.wait_for_ends(runs, seconds=40)
    assert time.monotonic() - back_at < 15
    assert {it["losses"] for it in place.heads(runs)} == {1}
    assert place.one(RUNNING) == 0
    assert_kept(place.judged(runs))
    place.check_chains(runs)
