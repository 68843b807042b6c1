"""One approves and one rejects while the process that carried the run is dead and another takes it over (FL-55)."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from uuid import UUID

import psycopg
import pytest

from tests.processes.asking import ROUNDS, Asking, Request, asking, tokens
from tests.processes.decided import assert_decided_once
from tests.processes.place import Place
from tests.processes.racing import Met, figures, race
from tests.processes.test_approval_races import one_approves_and_one_rejects, who_won
from tests.processes.test_outages import HELD, TAKES_NOTHING

__all__ = ["asking", "tokens"]

# The first test of this file waits for all that is set up.
pytestmark = [pytest.mark.timeout(180 + 2 * ROUNDS)]

# A process carries 64 at once.
LOST_AT_ONCE = 50
WAKE = "SELECT liyagent_wake(id) IS NULL AS done FROM runs_run WHERE id = ANY(%s)"
NOBODY_READS = "LOCK TABLE approvals_approval IN ACCESS EXCLUSIVE MODE"
LOSSES = "SELECT id, losses, last_loss FROM runs_run WHERE id = ANY(%s)"
# How far the decision is from the moment in which the run was told of its recovery, in seconds; below 0: before it.
APART = """
    SELECT extract(epoch FROM a.decided_at - min(w.at))::float8 AS seconds
    FROM approvals_approval a JOIN audit_auditrow w ON w.run_id = a.run_id AND w.action = 'agent.run.crash_resumed'
    WHERE a.run_id = ANY(%s) GROUP BY a.id
"""


@contextmanager
def held_by(place: Place, victim: str, runs: Sequence[UUID]) -> Iterator[None]:
    """Wake these runs for nothing; the victim alone takes them, and stands before their requests until the block ends."""
    place.watch.rows(TAKES_NOTHING, [True, place.holders("A", "B")])
    try:
        with psycopg.connect(place.stage.database_url) as gate:
            gate.execute(NOBODY_READS)
            place.watch.rows(WAKE, [list(runs)])
            at_victim = place.holders(victim)
            place.until(
                lambda: place.one(HELD, at_victim, list(runs)) == len(runs), f"all at {victim}"
            )
            yield
    finally:
        place.watch.rows(TAKES_NOTHING, [False, place.holders("A", "B")])


def lose(place: Place, requests: Sequence[Request]) -> None:
    """Let a third process take the runs of these requests, and kill it."""
    place.stage.start("C")
    place.stage.wait_ready("C")
    with held_by(place, "C", [it.run for it in requests]):
        place.stage.signal("C", signal.SIGKILL)
        place.stage.wait_gone("C")


@pytest.fixture
def asking_beside(asking: Asking) -> Iterator[Asking]:
    """As `asking`, without a trace of C afterwards."""
    yield asking
    gone = asking.place.stage.processes.pop("C", None)
    if gone is not None:
        gone.end()


@pytest.mark.promise("CR-21")
@pytest.mark.field("FL-55")
def test_of_a_yes_and_a_no_one_wins_while_the_run_is_recovered(asking_beside: Asking) -> None:
    """A and B claim the runs of C and resume them, and in the same second one approves at A and one rejects at B."""
    place, requests = asking_beside.place, asking_beside.ask(ROUNDS)
    met: list[Met] = []
    seconds = 0.0
    for start in range(0, ROUNDS, LOST_AT_ONCE):
        lost = requests[start : start + LOST_AT_ONCE]
        lose(place, lost)
        began = time.monotonic()
        met += race(asking_beside, [one_approves_and_one_rejects(it) for it in lost])
        seconds += time.monotonic() - began
    assert_decided_once(place, who_won(met))
    runs = [it.run for it in requests]
    losses = place.watch.rows(LOSSES, [runs])
    assert {(it["losses"], it["last_loss"]) for it in losses} == {(1, "proof")}
    apart = sorted(it["seconds"] for it in place.watch.rows(APART, [runs]))
    assert len(apart) == ROUNDS
    before = sum(it < 0 for it in apart)
    print(figures("approve, reject, recovered", met, seconds=seconds))  # noqa: T201 - the figures of this test
    print(  # noqa: T201 - the figures of this test
        f"decided {before} times before the run was resumed, at most {-apart[0]:.2f} s;"
        f" {ROUNDS - before} times after, at most {apart[-1]:.2f} s"
    )
