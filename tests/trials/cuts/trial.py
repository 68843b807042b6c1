"""One cut: a run whose process is struck at one message, the run to its end, and what came of it."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

from tests.trials.cuts.course import Cut, Fault, Message, course_of
from tests.trials.cuts.ground import Ground
from tests.trials.cuts.judging import Judged, judged, wait_for_late_looks
from tests.trials.cuts.kinds import RunKind
from tests.trials.cuts.pressing import Pressing
from tests.trials.cuts.saga_judging import saga_judged
from tests.trials.cuts.victims import Victim
from tests.trials.stage import StageFailed
from tests.trials.watch import ENDED, Row

LOOK_SECONDS = 0.01
# A busy machine takes its time; a run that ends takes none of this.
END_LEASES, END_SECONDS = 6.0, 30.0
# How long a process may take to end once its run is another's.
LEAVE_SECONDS = 10.0
HOLD = "liyagent_hold"
NOT_HANDED_OFF = "SELECT 1 AS one FROM sagas_saga WHERE id = %s AND handed_off_at IS NULL"
FAMILY = """
    SELECT id, correlation_id, agent_key, parent_id, status, reason, error, attempt, losses, last_loss, handovers,
        resumes_recorded, wakes, extract(epoch FROM ended_at)::float8 AS ended_at
    FROM runs_run WHERE correlation_id = %s ORDER BY created_at
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Played:
    """What came of a cut. `cut` is None where the course was recorded; `caught`: a write was in doubt when it struck."""

    kind: RunKind
    cut: Cut | None
    course: tuple[Message, ...]
    is_reached: bool
    caught: int
    recovery_seconds: float
    judged: Judged

    @property
    def broken(self) -> tuple[str, ...]:
        """One line for each way in which the promise broke."""
        if not self.is_reached:
            return (f"not reached: the course was {', '.join(map(str, self.course))}",)
        return self.judged.broken


def play(ground: Ground, kind: RunKind, cut: Cut | None) -> Played:
    """Play one cut to its end; without one the victim carries all to the end. Raises `StageFailed`."""
    ground.let_survivor_take(may=False)
    _, correlation = ground.desk.start(kind)

    def decide() -> None:
        ground.desk.approve(correlation)

    ground.gate.begin(cut, at_effect={HOLD: decide} if kind.is_decided_awake else {})
    victim = _carry_until_struck(ground, correlation, cut)
    is_reached = ground.gate.struck.is_set() or cut is None
    caught = len(ground.watch.open_marks(_ids(_family(ground, correlation)))) if is_reached else 0
    asks = kind.is_pressed and cut is not None
    with Pressing(
        ground.stage.url("survivor"), ground.ends.token, correlation, is_wanted=asks
    ) as pressing:
        ground.let_survivor_take(may=True)
        _follow(ground, correlation)
        if kind.saga:
            _wait_for_hand_off(ground, correlation)
        ground.gate.thaw()
        if asks:
            # What a late look finds is undone because somebody asks.
            wait_for_late_looks(ground, _ids(_family(ground, correlation)))
            pressing.ask_once()
            _follow(ground, correlation)
    is_left = victim is None or victim.has_ended(within_seconds=LEAVE_SECONDS)
    if victim is not None:
        if not is_left:
            victim.tell_stacks()
        victim.end()
    course, struck_at = course_of(ground.gate.course), ground.gate.struck_at
    family = _family(ground, correlation)
    ended = max((it["ended_at"] or 0.0 for it in family), default=0.0)
    judge = saga_judged if kind.saga else judged
    found = judge(ground, kind, cut, family, caught=caught, is_left=is_left)
    if pressing.broken:
        found = replace(found, broken=(*found.broken, *pressing.broken))
    return Played(
        kind=kind,
        cut=cut,
        course=course,
        is_reached=is_reached,
        caught=caught,
        recovery_seconds=max(0.0, ended - struck_at) if cut is not None else 0.0,
        judged=found,
    )


def _carry_until_struck(ground: Ground, correlation: UUID, cut: Cut | None) -> Victim | None:
    """Have victims carry whatever is queued, one at a time; return the one that was struck."""
    until = time.monotonic() + END_SECONDS
    while time.monotonic() < until:
        family = _family(ground, correlation)
        queued = [it for it in family if it["status"] == "queued"]
        if all(it["status"] in ENDED for it in family):
            return None
        if queued:
            victim = _carried(ground, queued[0]["id"], cut)
            if ground.gate.struck.is_set():
                return victim
            victim.end()
        elif not ground.desk.approve(correlation):
            time.sleep(LOOK_SECONDS)
    return None


def _carried(ground: Ground, run: UUID, cut: Cut | None) -> Victim:
    """Have a victim carry a run until it ends or is struck."""
    victim = ground.victim(cut.fault if cut is not None else Fault.KILL)
    ground.gate.follow(victim.pid)
    victim.carry(run)
    until = time.monotonic() + END_SECONDS
    while not victim.has_ended(within_seconds=LOOK_SECONDS) and not ground.gate.struck.is_set():
        if time.monotonic() > until:
            victim.end()
            raise StageFailed(f"a victim carried run {run} for over {END_SECONDS:g} s")
    return victim


def _follow(ground: Ground, correlation: UUID) -> None:
    """Return once all has ended, or the time is up: what has not ended then is lost. What is asked is approved."""
    until = time.monotonic() + END_SECONDS + END_LEASES * ground.clocks["lease"]
    while time.monotonic() < until:
        family = _family(ground, correlation)
        if all(it["status"] in ENDED for it in family):
            return
        if any(it["status"] == "waiting" for it in family):
            ground.desk.approve(correlation)
        time.sleep(LOOK_SECONDS)


def _wait_for_hand_off(ground: Ground, correlation: UUID) -> None:
    """Return once a person has it, or the time is up."""
    until = time.monotonic() + END_SECONDS
    while time.monotonic() < until and ground.watch.rows(NOT_HANDED_OFF, [correlation]):
        time.sleep(LOOK_SECONDS)


def _family(ground: Ground, correlation: UUID) -> list[Row]:
    return ground.watch.rows(FAMILY, [correlation])


def _ids(family: list[Row]) -> list[Any]:
    return [it["id"] for it in family]
