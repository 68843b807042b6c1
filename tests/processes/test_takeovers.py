"""Real processes that are stopped in the middle of their writes: killed, frozen, replaced, told to end."""

from __future__ import annotations

import signal
import time
from collections.abc import Sequence
from uuid import UUID

import pytest

from tests.processes.place import LEASE_SECONDS, Place
from tests.processes.test_outages import HELD, KINDS, TAKES_NOTHING, assert_kept, charged
from tests.trials.watch import Row

# The first test of this file waits for all that is set up.
pytestmark = [pytest.mark.timeout(180)]

# The effect is there long before a lease ends; the answer is not. Of a keyed write it comes sooner: while the first
# request is in progress the same key is a conflict, and is asked again for a second and a half alone (ruling 9).
EFFECT_MS = 300
ANSWER_MS = {"incident": 1_200, "jira": 6_000, "servicenow": 6_000}
GIVEN_UP = "this attempt is no longer ours"
RENEWS = (
    "SELECT count(*)::int AS n FROM leases_holder WHERE id = ANY(%s) AND renew_by > liyagent_now()"
)
CAUSES = "SELECT DISTINCT last_loss FROM runs_run WHERE id = ANY(%s)"
TOLD = "SELECT * FROM events_runevent WHERE run_id = ANY(%s) ORDER BY run_id, number"
RESUMES = "SELECT count(*)::int AS n FROM audit_auditrow WHERE action = 'agent.run.crash_resumed' AND run_id = ANY(%s)"


def in_their_writes(place: Place, *kinds: str) -> list[UUID]:
    """Start runs that A alone carries, and return once each vendor has a write of them in its hands."""
    for vendor, answer_ms in ANSWER_MS.items():
        place.stage.vendors.set_pace(vendor, before_ms=EFFECT_MS, after_ms=answer_ms)
    at_b = place.holders("B")
    place.watch.rows(TAKES_NOTHING, [True, at_b])
    runs = place.start_runs(*kinds, at="A")
    for vendor in ANSWER_MS:
        place.wait_for_requests(vendor, runs)
    assert place.one(HELD, place.holders("A"), runs) == len(runs)
    return runs


def let_b_take(place: Place) -> None:
    """End what `in_their_writes` told B."""
    place.watch.rows(TAKES_NOTHING, [False, place.holders("B")])
    place.stage.set_pace(0)


def causes(place: Place, runs: Sequence[UUID]) -> list[Row]:
    """What these runs were lost by."""
    return place.watch.rows(CAUSES, [list(runs)])


@pytest.mark.promise("CR-01")
@pytest.mark.promise("CR-11")
@pytest.mark.promise("CR-12")
@pytest.mark.promise("EV-05")
@pytest.mark.field("FL-13")
@pytest.mark.field("FL-15")
def test_a_frozen_process_loses_its_runs_by_their_leases_and_does_nothing_more_once_it_wakes(
    place: Place,
) -> None:
    runs = in_their_writes(place, *KINDS, *KINDS)
    pid = place.stage.pid("A")
    place.stage.signal("A", signal.SIGSTOP)
    frozen_at = time.monotonic()
    let_b_take(place)
    place.wait_for_ends(runs)
    assert time.monotonic() - frozen_at > LEASE_SECONDS / 2
    assert causes(place, runs) == [{"last_loss": "lapse"}]
    assert set(charged(place, runs)) == {(1, 2)}
    told, effects = place.watch.rows(TOLD, [runs]), place.effects(runs)
    place.stage.signal("A", signal.SIGCONT)
    log = place.stage.processes["A"].log
    place.until(
        lambda: log.read_text().count(GIVEN_UP) >= len(runs), "A to give up all that it carried"
    )
    place.until(lambda: place.one(RENEWS, place.holders("A")) > 0, "A's renewal")
    assert place.watch.rows(TOLD, [runs]) == told
    assert place.effects(runs) == effects
    assert set(charged(place, runs)) == {(1, 2)}
    assert place.one(RESUMES, runs) == len(runs)
    assert_kept(place.judged(runs))
    place.check_chains(runs)
    assert place.stage.pid("A") == pid


@pytest.mark.promise("CR-01")
@pytest.mark.field("FL-18")
def test_a_process_that_is_killed_and_started_again_at_once_keeps_no_run_of_its_old_life_alive(
    place: Place,
) -> None:
    """B takes nothing: the new life itself goes on with what the old one left."""
    runs = in_their_writes(place, *KINDS)
    old = place.holders("A")
    place.stage.signal("A", signal.SIGKILL)
    killed_at = time.monotonic()
    place.stage.start("A")
    place.stage.set_pace(0)
    place.wait_for_ends(runs)
    assert time.monotonic() - killed_at < 15
    assert set(place.holders("A")).isdisjoint(old)
    assert set(charged(place, runs)) == {(1, 2)}
    let_b_take(place)
    assert_kept(place.judged(runs))
    place.check_chains(runs)


@pytest.mark.field("FL-23")
def test_a_process_that_is_told_to_end_hands_over_and_charges_no_run_a_loss(place: Place) -> None:
    """Its grace is a second; two of the vendors answer later than that: had it waited for them, nothing would go over."""
    runs = in_their_writes(place, *KINDS)
    place.stage.signal("A", signal.SIGTERM)
    let_b_take(place)
    place.stage.wait_gone("A")
    place.wait_for_ends(runs)
    heads = place.heads(runs)
    assert {(it["status"], it["losses"]) for it in heads} == {("answered", 0)}
    assert all(it["handovers"] > 0 for it in heads)
    assert place.one(RESUMES, runs) == 0
    assert_kept(place.judged(runs))
    place.check_chains(runs)
