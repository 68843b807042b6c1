"""How many trials are asked for, in which rounds, and when: all of it follows from one seed (CR-32)."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from uuid import UUID

TRIALS, SEED = "LIYAGENT_KILL_TRIALS", "LIYAGENT_KILL_SEED"
MOST_TRIALS = 10_000
EARLIEST_SECONDS, LATEST_SECONDS = 0.2, 4.0
# Every fourth victim is on another host, as far as the survivor can tell: its death cannot be proven there.
APART_EVERY = 4
ROUND_SIZE = 10
PACES_MS = (60.0, 150.0, 300.0)
SHARE_SENT_AGAIN = 0.3


class Way(StrEnum):
    """How a trial comes in. SLOT: a fire of cron at its time; CRON: one that is asked for by hand; SAGA: a workflow that fails."""

    CRON = "cron by hand"
    SLOT = "cron slot"
    TEAMS = "teams"
    WEBHOOK = "webhook"
    COPILOT = "copilot"
    A2A = "a2a"
    MCP = "mcp"
    SAGA = "saga"


# In this order, again and again: of what the promise names the most.
TURNS = (
    Way.TEAMS, Way.WEBHOOK, Way.CRON, Way.MCP, Way.TEAMS, Way.WEBHOOK, Way.SLOT, Way.CRON, Way.COPILOT, Way.TEAMS, Way.MCP,
    Way.A2A, Way.SAGA,
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """One entry. `at`: seconds after the victim is up. `is_sent_again`: to the survivor, though it was accepted."""

    number: int
    name: str
    way: Way
    at: float
    is_sent_again: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """What one victim begins, and when it is killed: seconds after it is up. `pace_ms`: of a write, before and after its effect."""

    number: int
    kill_at: float
    is_apart: bool
    pace_ms: float
    trials: tuple[Trial, ...]


def trials_asked(env: Mapping[str, str]) -> int:
    """Return how many trials are asked for, 0 where the variable is unset or empty. Raises `ValueError` for no number."""
    text = env.get(TRIALS, "").strip()
    if not text:
        return 0
    if not (text.isascii() and text.isdigit() and 1 <= int(text) <= MOST_TRIALS):
        raise ValueError(f"{TRIALS} is {text!r}; it wants a number from 1 to {MOST_TRIALS}")
    return int(text)


def planned(trials: int, *, seed: int, may_be_apart: bool) -> list[Round]:
    """Return the rounds of so many trials; the same for the same seed, whatever the machine can do."""
    chance = random.Random(seed)
    rounds = -(-trials // ROUND_SIZE)
    sizes = [len(range(it, trials, rounds)) for it in range(rounds)]
    numbers = iter(range(trials))
    return [
        _round(number, [next(numbers) for _ in range(size)], chance, may_be_apart)
        for number, size in enumerate(sizes, start=1)
    ]


def _round(number: int, trials: list[int], chance: random.Random, may_be_apart: bool) -> Round:
    kill_at = round(chance.uniform(EARLIEST_SECONDS, LATEST_SECONDS), 3)
    return Round(
        number=number,
        kill_at=kill_at,
        is_apart=may_be_apart and number % APART_EVERY == 0,
        pace_ms=chance.choice(PACES_MS),
        trials=tuple(_trial(it, kill_at, chance) for it in trials),
    )


def _trial(number: int, kill_at: float, chance: random.Random) -> Trial:
    return Trial(
        number=number,
        name=str(UUID(int=chance.getrandbits(128), version=4)),
        way=TURNS[number % len(TURNS)],
        # Most of them early, so that their runs are in the middle of their writes.
        at=round(kill_at * chance.random() ** 2, 3),
        is_sent_again=chance.random() < SHARE_SENT_AGAIN,
    )
