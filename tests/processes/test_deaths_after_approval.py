"""A process is killed somewhere between the decision and the end of its run: the decision stands, the call is made once (FL-52)."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import psycopg
import pytest

from liyagent.demo.judge import read_requests
from runs.keys import approved_call_key
from tests.processes.asking import ROUNDS, Asking, Request, asking, tokens
from tests.processes.decided import Outcome, assert_decided_once
from tests.processes.place import Place
from tests.processes.racing import Decision, Shot
from tests.processes.test_approval_races import nobody_takes
from tests.processes.test_decided_while_recovered import NOBODY_READS, asking_beside
from tests.processes.test_outages import HELD, TAKES_NOTHING

__all__ = ["asking", "asking_beside", "tokens"]

# The first test of this file waits for all that is set up.
pytestmark = [pytest.mark.timeout(180)]

VENDOR = "incident"
FILE = ("incident/create_incident", {"name": "disk 91% [{{ run }}/1]", "severity": "p3"})
SLOW_MS = 1_000
ASKED_ONCE = "SELECT count(*)::int AS n FROM approvals_approval WHERE run_id = %s"
FATE = "SELECT fate FROM runs_call WHERE run_id = %s"
HOLD_CHAIN = """
    SELECT 1 FROM events_eventhead h JOIN runs_run r ON r.correlation_id = h.correlation_id WHERE r.id = %s FOR UPDATE OF h
"""
# Killed while it waits there, a process leaves a statement behind that would still be carried out.
AT_THE_END = """
    SELECT pid FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%%liyagent_finish(%%'
"""
Strike = Callable[[Asking, Request], None]


def decide(asking: Asking, request: Request, *, at: str) -> None:
    shot = Shot(Decision(request=request, at=at, by="xena"), asking)
    shot.fire()
    assert shot.answer().status == 200


def kill(place: Place) -> None:
    place.stage.signal("C", signal.SIGKILL)
    place.stage.wait_gone("C")


def after_decision(asking: Asking, request: Request) -> None:
    """It decided, and dies before anybody has taken the run."""
    place = asking.place
    place.watch.rows(TAKES_NOTHING, [True, place.holders("C")])
    decide(asking, request, at="C")
    kill(place)


def after_take(asking: Asking, request: Request) -> None:
    """It has the run, and has not read what was decided."""
    place = asking.place
    place.watch.rows(TAKES_NOTHING, [True, place.holders("C")])
    decide(asking, request, at="C")
    with psycopg.connect(place.stage.database_url) as gate:
        gate.execute(NOBODY_READS)
        place.watch.rows(TAKES_NOTHING, [False, place.holders("C")])
        at_c = place.holders("C")
        place.until(lambda: place.one(HELD, at_c, [request.run]) == 1, "a take")
        kill(place)


def after_mark(asking: Asking, request: Request) -> None:
    """The vendor has the request in its hands, and has done nothing yet."""
    place = asking.place
    place.stage.vendors.set_pace(VENDOR, before_ms=SLOW_MS, after_ms=0)
    decide(asking, request, at="A")
    place.wait_for_requests(VENDOR, [request.run])
    kill(place)


def after_effect(asking: Asking, request: Request) -> None:
    """It is done, and the answer is under way."""
    place = asking.place
    place.stage.vendors.set_pace(VENDOR, before_ms=0, after_ms=SLOW_MS)
    decide(asking, request, at="A")
    place.until(lambda: keys_of_effects(place, request) != [], "the effect")
    kill(place)


def after_result(asking: Asking, request: Request) -> None:
    """The result is stored, and the model is being asked what comes next."""
    asking.say(*FILE, delay_seconds=1)
    decide(asking, request, at="A")
    place = asking.place
    place.until(lambda: place.one(FATE, request.run) == "done", "the result")
    kill(place)


def before_end(asking: Asking, request: Request) -> None:
    """All is done but the statement that ends the run."""
    place = asking.place
    asking.say(*FILE, delay_seconds=0.3)
    decide(asking, request, at="A")
    place.until(lambda: place.one(FATE, request.run) == "done", "the result")
    with psycopg.connect(place.stage.database_url) as gate:
        gate.execute(HOLD_CHAIN, [request.run])
        place.until(lambda: bool(place.watch.rows(AT_THE_END)), "its end")
        left = [it["pid"] for it in place.watch.rows(AT_THE_END)]
        kill(place)
        place.watch.rows("SELECT pg_terminate_backend(unnest(%s::int[])) AS is_gone", [left])
        place.until(lambda: place.watch.rows(AT_THE_END) == [], "the end of its statement")


POINTS: tuple[Strike, ...] = (
    after_effect,
    after_decision,
    after_take,
    after_mark,
    after_result,
    before_end,
)
# Each message of such a run is cut by `make trials CUTS=1`; here one of the points will do unless more is asked for.
VISITED = POINTS if ROUNDS > 20 else POINTS[:1]
LOST_AT: dict[Strike, int] = {after_decision: 0}


def keys_of_effects(place: Place, request: Request) -> list[str]:
    """The keys of this run's writes that took effect, an entry for each request that was answered with one."""
    found = read_requests({VENDOR: place.stage.vendors.ledger(VENDOR)})
    return [
        it.step_key for it in found if it.marker == f"{request.run}/1" and it.effect is not None
    ]


@contextmanager
def carried_by_c_alone(place: Place) -> Iterator[None]:
    """C, which is started for it, takes what is queued; A and B take over as the block ends."""
    place.stage.start("C")
    place.stage.wait_ready("C")
    with nobody_takes(place):
        yield


@pytest.mark.promise("CR-29")
@pytest.mark.promise("CR-02")
@pytest.mark.field("FL-52")
@pytest.mark.parametrize("strike", VISITED)
def test_a_process_killed_after_the_decision_costs_no_second_request_and_no_second_effect(
    asking_beside: Asking, strike: Strike
) -> None:
    place = asking_beside.place
    asking_beside.say(*FILE)
    (request,) = asking_beside.ask(1)
    with carried_by_c_alone(place):
        strike(asking_beside, request)
    place.stage.set_pace(0)
    outcome = Outcome(request=request, status="approved", by="xena")
    assert_decided_once(place, [outcome], vendor=VENDOR)
    assert place.one(ASKED_ONCE, request.run) == 1
    assert set(keys_of_effects(place, request)) == {approved_call_key(request.id)}
    assert [it["losses"] for it in place.heads([request.run])] == [LOST_AT.get(strike, 1)]
