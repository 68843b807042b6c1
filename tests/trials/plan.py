"""Which faults are played, in which order and when: all of it follows from one seed."""

from __future__ import annotations

import random
from dataclasses import dataclass
from enum import StrEnum


class Fault(StrEnum):
    """What happens to process A, or to the database under both. HOST: A is killed, and B is on another host."""

    KILL = "SIGKILL"
    STALL = "SIGSTOP"
    DATABASE = "database killed"
    TERM = "SIGTERM"
    CONNECTIONS = "connections cut"
    HOST = "SIGKILL, hosts"


# A fault that costs nobody a process, or that hands over, is no loss (ruling 10).
CHARGES_NOTHING = frozenset({Fault.DATABASE, Fault.TERM, Fault.CONNECTIONS})
DEFAULT_SET = {
    Fault.KILL: 30,
    Fault.STALL: 8,
    Fault.DATABASE: 5,
    Fault.TERM: 5,
    Fault.CONNECTIONS: 5,
}
FULL_SET = {
    Fault.KILL: 60,
    Fault.STALL: 20,
    Fault.DATABASE: 10,
    Fault.TERM: 10,
    Fault.CONNECTIONS: 10,
    Fault.HOST: 30,
}
LEAST_CAUGHT, LEAST_CAUGHT_FULL = 20, 100
PACE_MS, SLOW_PACE_MS = 25.0, 150.0
# Longer than the drain, so that SIGTERM cuts some writes in two.
TERM_PACE_MS = 500.0
# Most moments count from the first write that is marked, some from the start: then little has happened yet.
SHARE_FROM_THE_START = 0.15
LATEST_SECONDS = 1.5
LONGEST_AWAY_SECONDS = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """One trial. `pace_ms` is how long a write takes before and after its effect.

    `moment` counts from the first mark, or from the start of the runs; `away_seconds` is how long a
    killed database stays away.
    """

    number: int
    fault: Fault
    moment: float
    is_from_start: bool
    pace_ms: float
    away_seconds: float


def planned(numbers: dict[Fault, int], *, seed: int) -> list[Plan]:
    """Return the trials in their order; the same for the same seed and numbers."""
    chance = random.Random(seed)
    faults = [fault for fault, times in numbers.items() for _ in range(times)]
    chance.shuffle(faults)
    # Those of other hosts are played last, on a stage of their own.
    faults.sort(key=lambda fault: fault is Fault.HOST)
    return [_plan(number, fault, chance) for number, fault in enumerate(faults, start=1)]


def _plan(number: int, fault: Fault, chance: random.Random) -> Plan:
    pace = PACE_MS if chance.random() < 0.6 else SLOW_PACE_MS
    return Plan(
        number=number,
        fault=fault,
        moment=round(chance.uniform(0.0, LATEST_SECONDS), 3),
        is_from_start=chance.random() < SHARE_FROM_THE_START and fault is not Fault.TERM,
        pace_ms=TERM_PACE_MS if fault is Fault.TERM else pace,
        away_seconds=chance.choice((0.0, LONGEST_AWAY_SECONDS)),
    )
