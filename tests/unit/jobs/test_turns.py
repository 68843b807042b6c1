"""A kind that keeps its turn is worked on to its end, in a thread of its own, and stops when it has to."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import pytest

from liyagent.core.readiness import STATE
from liyagent.jobs import work
from liyagent.jobs.end import cancel_job
from liyagent.jobs.handlers import HANDLERS, Beat, Handler, Step
from liyagent.jobs.models import Job
from liyagent.leases.own import OWN
from runs.rounds import ROUNDS, due_of
from tests.unit.jobs.conftest import Hand, Shop, never


@dataclass(slots=True)
class Long:
    """A kind with a step, a number of beats, and another step; `closed` once nothing more is asked of it."""

    on_beat: Callable[[int], None] = lambda _number: None
    beats: int = 5
    closed: list[str] = field(default_factory=list)

    def steps(self, job: Job) -> Iterator[Step | Beat]:
        try:
            if not job.cursor:
                yield Step(cursor={"at": 1}, done=1)
            for number in range(self.beats):
                self.on_beat(number)
                yield Beat()
            yield Step(cursor={"at": 2}, done=2)
        finally:
            job.refresh_from_db()
            self.closed.append(job.status)


@pytest.fixture
def long(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> Long:
    it = Long()
    monkeypatch.setattr(work, "TURN_SECONDS", -1.0)
    monkeypatch.setattr(work, "LOOK_SECONDS", -1.0)
    monkeypatch.setitem(HANDLERS, "long", Handler(steps=it.steps, keeps_turn=True))
    return it


def work_long(hand: Hand, give_up: Callable[[], bool] = never) -> int:
    OWN.holder = hand.holder
    return work.work_long(give_up)


@pytest.mark.promise("CR-06")
def test_it_is_worked_on_past_the_end_of_a_turn(shop: Shop, long: Long) -> None:
    job = shop.ask("long")
    assert work_long(shop.hand()) == 1
    job.refresh_from_db()
    assert (job.status, job.attempt, job.done) == ("done", 1, 2)


def test_no_other_job_waits_for_it(shop: Shop, long: Long) -> None:
    hand = shop.hand()
    seen: list[int] = []
    other = shop.ask()
    first = shop.ask("long")

    def meanwhile(number: int) -> None:
        if not (number or seen):
            rung = {name: it for name, it in ROUNDS.items() if it.due}
            assert due_of(rung) == ["jobs", "more jobs", "long jobs"]
            seen.append(hand.work())
            assert due_of(rung) == ["long jobs"]

    long.on_beat = meanwhile
    waiting = shop.ask("long", subject="another")
    assert work_long(hand) == 2
    states = [Job.objects.get(id=it.id).status for it in (other, first, waiting)]
    assert (states, seen[0] >= 3) == (["done"] * 3, True)


@pytest.mark.parametrize("is_draining", [True, False])
def test_a_process_that_goes_hands_it_back_at_once(shop: Shop, long: Long, monkeypatch: pytest.MonkeyPatch, is_draining: bool) -> None:  # fmt: skip
    gone = [False]

    def go(number: int) -> None:
        if number == 2:
            gone[0] = True
            monkeypatch.setattr(STATE, "is_draining", is_draining)

    long.on_beat = go
    job = shop.ask("long")
    assert work_long(shop.hand(), never if is_draining else lambda: gone[0]) == 1
    job.refresh_from_db()
    assert (job.status, job.done, job.losses, long.closed) == ("queued", 1, 0, ["running"])
    assert work_long(shop.hand(), never if is_draining else lambda: gone[0]) == 0
    monkeypatch.setattr(STATE, "is_draining", False)
    long.on_beat = lambda _number: None
    assert work_long(shop.hand()) == 1
    job.refresh_from_db()
    assert (job.status, job.done) == ("done", 2)


def test_a_draining_process_takes_no_other_job(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    shop.ask()
    monkeypatch.setattr(STATE, "is_draining", True)
    assert shop.hand().work() == 0
    monkeypatch.setattr(STATE, "is_draining", False)
    assert shop.hand().work() == 1


def test_one_that_was_cancelled_stops_between_two_steps(shop: Shop, long: Long, monkeypatch: pytest.MonkeyPatch) -> None:  # fmt: skip
    monkeypatch.setattr(work, "LOOK_SECONDS", 0.05)
    job = shop.ask("long")
    beats = []

    def cancel(number: int) -> None:
        beats.append(number)
        threading.Event().wait(0.02)
        if number == 1:
            cancel_job(job.id, actor="olga")

    long.beats, long.on_beat = 1000, cancel
    began = time.monotonic()
    work_long(shop.hand())
    job.refresh_from_db()
    assert (job.status, job.done, long.closed) == ("cancelled", 1, ["cancelled"])
    assert (len(beats) < 20, time.monotonic() - began < 2) == (True, True)
