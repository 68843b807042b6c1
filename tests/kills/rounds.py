"""One round: a fresh victim begins its trials, is killed at its moment, and all of them go to their end on the survivor."""

from __future__ import annotations

import signal
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import psutil

from tests.kills.begin import Begun, begin, prepare
from tests.kills.look import Caught, caught, holders, is_over, records
from tests.kills.plan import Round, Way
from tests.kills.stage import MOST_SLOTS, SLOT, SURVIVOR, VICTIM, KillStage
from tests.trials.watch import Row

END_SECONDS = 60.0
LOOK_SECONDS = 0.1
THREADS = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Played:
    """A trial that was played: how it stood at the kill, how it stands at its end, and how long it took from the kill."""

    begun: Begun
    round: Round
    caught: Caught
    row: Row | None
    seconds: float | None

    @property
    def is_in_flight(self) -> bool:
        """Whether the kill caught it: the victim had it in hand, or was found to have lost it."""
        return self.caught.is_in_flight or bool(self.row and self.row["losses"])

    @property
    def cause(self) -> str:
        """How what the victim had in hand was found: the cause of its loss, or what was done again."""
        if self.row is not None and self.row["losses"]:
            return str(self.row["last_loss"])
        if self.caught.what or self.row is None:
            return self.caught.what
        return "handed back" if self.row["handovers"] else "no loss"


def play(at: KillStage, round_: Round) -> list[Played]:
    """Play a round to its end; what has not ended after a minute is lost. Raises `StageFailed`."""
    at.stage.set_pace(round_.pace_ms)
    free = [f"{SLOT}-{number}" for number in range(MOST_SLOTS)]
    begun = [prepare(at, it, slots=free) for it in round_.trials]
    _start_victim(at, round_)
    # Of the dead nothing may be left soon after.
    victims = holders(at.watch) - at.survivors
    up_at = time.time()
    with ThreadPoolExecutor(THREADS) as senders:
        sending = [senders.submit(_begin_at, at, it, up_at + it.trial.at) for it in begun]
        _wait_until(up_at + round_.kill_at)
        killed_at = _kill(at, is_apart=round_.is_apart)
        then = records(at.watch, begun)
        stood = [caught(it, then.get(it.name), victims) for it in begun]
        for it in sending:
            it.result()
        list(senders.map(lambda it: _begin_again(at, it), begun))
    found = _wait_for_ends(at, begun)
    return [
        Played(
            begun=it,
            round=round_,
            caught=how,
            row=found.get(it.name),
            seconds=_seconds(at, it, found.get(it.name), killed_at),
        )
        for it, how in zip(begun, stood, strict=True)
    ]


def _start_victim(at: KillStage, round_: Round) -> None:
    stage = at.stage
    before = stage.apart
    stage.apart = at.apart if round_.is_apart else ()
    try:
        stage.start(VICTIM)
        stage.wait_ready(VICTIM)
        if round_.is_apart:
            stage.namespace(VICTIM)
    finally:
        stage.apart = before
    # It is up once it has answered: the first request of a process takes longer than all others.
    at.ask(VICTIM, "GET", "/api/agents?limit=1")


def _begin_at(at: KillStage, begun: Begun, moment: float) -> None:
    _wait_until(moment)
    begun.was_tried = True
    begin(at, begun, VICTIM)


def _kill(at: KillStage, *, is_apart: bool) -> float:
    pid = at.stage.pid(VICTIM)
    # In a namespace of its own the process is a child of what made that, and dies a little later.
    below = psutil.Process(pid).children() if is_apart else []
    at.stage.signal(VICTIM, signal.SIGKILL)
    killed_at = time.time()
    at.stage.wait_gone(VICTIM)
    psutil.wait_procs(below, timeout=END_SECONDS)
    return killed_at


def _begin_again(at: KillStage, begun: Begun) -> None:
    """A sender without an answer sends again, and some send though they had one: to whoever lives."""
    if not begun.had_answer or (begun.trial.is_sent_again and begun.trial.way is not Way.SLOT):
        begin(at, begun, SURVIVOR)


def _wait_for_ends(at: KillStage, begun: list[Begun]) -> dict[str, Row]:
    until = time.monotonic() + END_SECONDS
    while True:
        found = records(at.watch, begun)
        if all(is_over(found.get(it.name)) for it in begun) or time.monotonic() > until:
            return found
        time.sleep(LOOK_SECONDS)


def _seconds(at: KillStage, begun: Begun, row: Row | None, killed_at: float) -> float | None:
    """From the kill to the end of a trial: of its run, and for Teams to its reply."""
    if row is None or row["ended_at"] is None:
        return None
    ends: list[float] = [row["ended_at"] - at.ahead]
    if begun.trial.way is Way.TEAMS:
        ends += at.replied_at(begun.name)
    return round(max(ends) - killed_at, 3)


def _wait_until(moment: float) -> None:
    time.sleep(max(0.0, moment - time.time()))
