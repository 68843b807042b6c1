"""One approves and one rejects while the process that carried the run is dead and another takes it over (FL-55)."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from uuid import UUID

import psycopg
import pytest

from tests.processes.asking import ROUNDS, Asking, Request, asking, tokens
from tests.processes.decided import assert_decided_once
from tests.processes.place import Place
from tests.processes.racing import Met, figures, race, volley
from tests.processes.test_approval_races import (
    nobody_takes,
    one_approves_and_one_rejects,
    who_won,
)
from tests.processes.test_outages import HELD

__all__ = ["asking", "tokens"]

# The first test of this file waits for all that is set up.
pytestmark = [pytest.mark.timeout(180 + 2 * ROUNDS)]

# A process carries 64 at once.
LOST_AT_ONCE = 25
# Each stands there twice with a connection.
AT_THE_GATE = 10
AT_GATE = """
    SELECT count(*)::int AS n FROM pg_stat_activity WHERE wait_event = 'relation' AND query LIKE '%%approvals_approval%%'
"""
CLAIMED = "SELECT count(*)::int AS n FROM runs_run WHERE id = ANY(%s) AND status = 'queued'"
WAKE = "SELECT liyagent_wake(id) IS NULL AS done FROM runs_run WHERE id = ANY(%s)"
NOBODY_READS = "LOCK TABLE approvals_approval IN ACCESS EXCLUSIVE MODE"
# How far the decision is from the moment in which the run was told of its recovery, in seconds; below 0: before it.
APART = """
    SELECT extract(epoch FROM a.decided_at - min(w.at))::float8 AS seconds
    FROM approvals_approval a JOIN audit_auditrow w ON w.run_id = a.run_id AND w.action = 'agent.run.crash_resumed'
    WHERE a.run_id = ANY(%s) GROUP BY a.id
"""


@contextmanager
def gate(place: Place) -> Iterator[Callable[[], None]]:
    """Nobody reads a request until what it gives is called, or the block ends."""
    with psycopg.connect(place.stage.database_url) as closed:
        closed.execute(NOBODY_READS)
        yield closed.rollback


def stand(place: Place, runs: Sequence[UUID], *names: str) -> bool:
    """Whether these processes carry all of these runs."""
    return bool(place.one(HELD, place.holders(*names), list(runs)) == len(runs))


def lose(place: Place, runs: Sequence[UUID]) -> None:
    """Let a third process take these runs, kill it before it reads their requests, and let the loss be claimed.

    They are woken for nothing. A and B take none of them before they are told to.
    """
    with gate(place):
        place.watch.rows(WAKE, [list(runs)])
        place.until(lambda: stand(place, runs, "C"), "C to carry all")
        place.stage.signal("C", signal.SIGKILL)
        place.stage.wait_gone("C")
    place.until(lambda: bool(place.one(CLAIMED, list(runs)) == len(runs)), "the claims")


def decide_while_recovered(asking: Asking, batch: Sequence[Request]) -> list[Met]:
    """Decide about a third before A and B resume their runs, about some as they do, and about the others just after it."""
    place, third = asking.place, len(batch) // 3
    before, at_it, after = (
        [one_approves_and_one_rejects(it) for it in some]
        for some in (
            batch[:third],
            batch[third : third + min(third, AT_THE_GATE)],
            batch[third + min(third, AT_THE_GATE) :],
        )
    )
    place.stage.start("C")
    place.stage.wait_ready("C")
    with ExitStack() as closed:
        with nobody_takes(place):
            lose(place, [it.run for it in batch])
            met = race(asking, before)
            open_gate = closed.enter_context(gate(place))
        place.until(lambda: stand(place, [it.run for it in batch[third:]], "A", "B"), "all taken")

        def release() -> None:
            place.until(lambda: place.one(AT_GATE) > 2 * len(at_it), "who decides and who resumes")
            open_gate()

        met += volley(asking, at_it, release=release)
    return met + race(asking, after)


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
    met, began = [], time.monotonic()
    for start in range(0, ROUNDS, LOST_AT_ONCE):
        met += decide_while_recovered(asking_beside, requests[start : start + LOST_AT_ONCE])
    seconds = time.monotonic() - began
    assert_decided_once(place, who_won(met))
    runs = [it.run for it in requests]
    assert all(it["losses"] >= 1 for it in place.heads(runs))
    apart = sorted(it["seconds"] for it in place.watch.rows(APART, [runs]))
    assert len(apart) == ROUNDS
    within = sum(abs(it) < 1 for it in apart)
    print(figures("approve, reject, recovered", met, seconds=seconds))  # noqa: T201 - the figures of this test
    print(  # noqa: T201 - the figures of this test
        f"decided {sum(it < 0 for it in apart)} times before the run was resumed, at most {-apart[0]:.2f} s,"
        f" else after, at most {apart[-1]:.2f} s; {within} times in the same second"
    )
