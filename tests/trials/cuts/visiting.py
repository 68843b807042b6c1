"""One cut of a way in: a delivery from its other end, the process that deals with it struck, the survivor, the judgment."""

from __future__ import annotations

import http.client
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from tests.trials.cuts.course import Cut, Fault, course_of
from tests.trials.cuts.entry_judging import Facts, judged_way
from tests.trials.cuts.ground import Ground
from tests.trials.cuts.kinds import RunKind
from tests.trials.cuts.trial import (
    END_LEASES,
    END_SECONDS,
    LEAVE_SECONDS,
    LOOK_SECONDS,
    Played,
)
from tests.trials.cuts.victims import Victim
from tests.trials.cuts.ways.table import VISITS
from tests.trials.cuts.ways.visit import Visit
from tests.trials.stage import StageFailed
from tests.trials.watch import ENDED

# A sender whose call is neither answered nor ended waits no longer; one that was cut off knows at once.
PATIENCE_SECONDS = 2.0
AGAIN_SECONDS = 0.1
NO_ANSWER = (OSError, http.client.HTTPException)


class Struck(Exception):
    """The victim was struck: what it was to do next is the survivor's."""


@dataclass(slots=True, kw_only=True)
class Conductor:
    """Tells the victim what to do next, as the clocks and threads of `manage.py serve` would."""

    ground: Ground
    facts: Facts
    victim: Victim
    cut: Cut | None
    is_asked: bool = field(default=False)

    def do(self, act: str, **given: Any) -> Any:
        """Have the victim do an act to its end. Raises `Struck`, `StageFailed`."""
        self._check()
        self.victim.ask(act, **given)
        self.is_asked = True
        until = time.monotonic() + END_SECONDS
        while time.monotonic() < until:
            try:
                has_answered, answer = self.victim.answer(within_seconds=LOOK_SECONDS)
            except StageFailed:
                # It is gone: whoever struck it says so in a moment.
                has_answered, answer = False, None
                time.sleep(LOOK_SECONDS)
            if has_answered:
                self.is_asked = False
                self._check()
                return answer
            self._check()
        raise StageFailed(f"a victim was at {act} for over {END_SECONDS:g} s")

    def receive(self, visit: Visit) -> None:
        """Have the victim serve, and the other end send."""
        url = f"http://127.0.0.1:{self.do('serve')}"
        self._send(visit, url)
        self.do("rest")

    def press(self, visit: Visit) -> None:
        """Have the victim serve, and a person press what is asked."""
        url = f"http://127.0.0.1:{self.do('serve')}"
        self._in_time(lambda: visit.press(url))
        if not visit.is_pressed:
            raise StageFailed("no button was pressed, and nobody was struck")
        self.do("rest")

    def carry(self) -> None:
        """Have the victim carry the run that was begun."""
        begun = self.facts.runs()
        if not begun:
            raise StageFailed("nothing was begun of what was received")
        self.do("carry", run=str(begun[0]["id"]))

    def end(self) -> None:
        """Have the victim end, as who has nothing left to do."""
        self._check()
        self.victim.ask_no_more()
        until = time.monotonic() + LEAVE_SECONDS
        while time.monotonic() < until and not self.victim.has_ended(within_seconds=LOOK_SECONDS):
            self._check()
        self._check()

    def _send(self, visit: Visit, url: str) -> None:
        self._in_time(lambda: visit.send(url))
        if not visit.is_answered:
            self._check()
            raise StageFailed("what was sent was not taken on, and nobody was struck")

    def _in_time(self, send: Any) -> None:
        """Send; whoever is struck answers now or not at all."""

        def sending() -> None:
            with suppress(*NO_ANSWER):
                send()

        sender = threading.Thread(target=sending, daemon=True)
        sender.start()
        while sender.is_alive() and not self.ground.gate.struck.is_set():
            sender.join(LOOK_SECONDS)
        sender.join(PATIENCE_SECONDS)
        self._check()

    def _check(self) -> None:
        if self.ground.gate.struck.is_set():
            raise Struck


def play_visit(ground: Ground, kind: RunKind, cut: Cut | None) -> Played:
    """Play one cut of a way in to its end; without one the victim does all of it. Raises `StageFailed`."""
    ground.let_survivor_take(may=False)
    visit = VISITS[kind.way](ends=ground.ends, kind=kind)
    visit.prepare()
    ground.let_survivor_take(may=True)
    url = ground.stage.url("survivor")
    _wait_until_ready(visit, url)
    ground.stop_survivor()
    facts = Facts.since_now(ground.watch)
    ground.gate.begin(cut)
    victim = ground.victim(cut.fault if cut is not None else Fault.KILL)
    ground.gate.follow(victim.pid)
    conductor = Conductor(ground=ground, facts=facts, victim=victim, cut=cut)
    try:
        visit.play(conductor)
        conductor.end()
    except Struck:
        pass
    finally:
        ground.let_survivor_go_on()
    is_reached = ground.gate.struck.is_set() or cut is None
    calls = len(ground.watch.open_marks(facts.ids())) if is_reached else 0
    caught = calls + facts.marked() if is_reached else 0
    _send_again(visit, facts, url)
    _follow(ground, visit, facts, url)
    ground.gate.thaw()
    is_left = _is_left(ground, conductor)
    struck_at = ground.gate.struck_at
    found = judged_way(ground, visit, cut, facts, caught=calls, is_left=is_left)
    return Played(
        kind=kind,
        cut=cut,
        course=course_of(ground.gate.course),
        is_reached=is_reached,
        caught=caught,
        recovery_seconds=max(0.0, facts.settled_at() - struck_at) if cut is not None else 0.0,
        judged=found,
    )


def _wait_until_ready(visit: Visit, url: str) -> None:
    until = time.monotonic() + END_SECONDS
    while not visit.is_ready(url):
        if time.monotonic() > until:
            raise StageFailed("what a visit wants was not ready")
        time.sleep(LOOK_SECONDS)


def _send_again(visit: Visit, facts: Facts, url: str) -> None:
    """Send the same to the survivor, until it is taken on: nobody answered. Who never repeats what was kept does not."""
    if visit.is_answered or (not visit.resends and facts.arrivals()):
        return
    until = time.monotonic() + END_SECONDS
    while time.monotonic() < until:
        with suppress(*NO_ANSWER):
            visit.send(url)
        if _is_taken_on(visit):
            return
        time.sleep(AGAIN_SECONDS)


def _is_taken_on(visit: Visit) -> bool:
    """Whether it is by now: sending changes it."""
    return visit.is_answered


def _follow(ground: Ground, visit: Visit, facts: Facts, url: str) -> None:
    """Return once all has ended and is handed on, or the time is up."""
    until = time.monotonic() + END_SECONDS + END_LEASES * ground.clocks["lease"]
    while time.monotonic() < until:
        runs = facts.runs()
        has_ended = bool(runs) and all(it["status"] in ENDED for it in runs)
        if has_ended and not facts.open():
            return
        if any(it["status"] == "waiting" for it in runs):
            with suppress(*NO_ANSWER):
                visit.press(url)
        time.sleep(LOOK_SECONDS)


def _is_left(ground: Ground, conductor: Conductor) -> bool:
    """Whether the victim finishes what it was at, and ends when nothing more is wanted of it."""
    victim = conductor.victim
    if ground.gate.struck.is_set() and conductor.is_asked:
        with suppress(StageFailed):
            victim.answer(within_seconds=LEAVE_SECONDS)
    victim.ask_no_more()
    is_left = victim.has_ended(within_seconds=LEAVE_SECONDS)
    if not is_left:
        victim.tell_stacks()
    victim.end()
    return is_left
