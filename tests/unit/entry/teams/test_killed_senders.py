"""Processes that hand on an answer are killed before, while and after the connector has it: one reply, whatever it is told (FL-74)."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from liyagent.entry.models import Delivery
from tests.fakes.teams_connector import Fault
from tests.unit.entry.teams.conftest import Teams
from tests.unit.runs.carrying.conftest import says

# 300 are what the field case asks for; fewer unless `TEAMS_ROUNDS` says so.
ROUNDS = int(os.environ.get("TEAMS_ROUNDS", "18"))
SEED = int(os.environ.get("TEAMS_SEED", "74"))
pytestmark = [pytest.mark.timeout(120 + 2 * ROUNDS)]

ROOT = Path(__file__).resolve().parents[4]
GROWN = "grown by 20 GB"
HELD_SECONDS = 3.0
SOON_SECONDS = 0.1
PATIENCE_SECONDS = 20.0
BEFORE, RECEIVED, ACCEPTED, TOLD_500 = (
    "before the post",
    "received, not accepted",
    "accepted",
    "accepted, answered 500",
)
FAULTS = {
    RECEIVED: Fault(resets=True, seconds=HELD_SECONDS),
    ACCEPTED: Fault(accepts=True, seconds=HELD_SECONDS),
    TOLD_500: Fault(accepts=True, status=500),
}
# (a) twice, since it is before the bytes leave and before they take effect; (b); (c).
MOMENTS = (BEFORE, RECEIVED, ACCEPTED, TOLD_500)


@dataclass(frozen=True, slots=True)
class Senders:
    """Makes processes that hand on, and kills them."""

    program: subprocess.Popen[str]

    def make(self) -> int:
        """Start one; return its process id."""
        assert self.program.stdin
        assert self.program.stdout
        self.program.stdin.write("one\n")
        self.program.stdin.flush()
        return int(self.program.stdout.readline())

    def kill(self, pid: int) -> None:
        """Kill one, and return once it is gone."""
        os.kill(pid, signal.SIGKILL)
        until(lambda: not Path(f"/proc/{pid}").exists())


def until(holds: Callable[[], bool]) -> None:
    """Return once it holds."""
    give_up = time.monotonic() + PATIENCE_SECONDS
    while not holds():
        assert time.monotonic() < give_up
        time.sleep(0.002)


@pytest.fixture
def senders(teams: Teams) -> Iterator[Senders]:
    """On the database of this test, and with the secret of its bot."""
    del teams
    env = {
        **os.environ,
        "DJANGO_SETTINGS_MODULE": "liyagent.settings",
        "LIYAGENT_LOG_LEVEL": "ERROR",
    }
    command = [sys.executable, "-m", "tests.unit.entry.teams.sender"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env, cwd=ROOT
    ) as program:
        yield Senders(program)
        assert program.stdin
        program.stdin.close()


def killed_at(
    moment: str, method: str, teams: Teams, senders: Senders, chance: random.Random
) -> None:
    """Let a process hand on, and kill it at its moment."""
    connector, before = teams.connector, len(teams.connector.log)
    fault = FAULTS.get(moment)
    connector.faults = [] if fault is None else [Fault(**{**facts_of(fault), "method": method})]
    pid = senders.make()
    if fault is not None:
        until(lambda: any(it.method == method for it in connector.log[before:]))
    time.sleep(chance.uniform(0, SOON_SECONDS if moment in {BEFORE, TOLD_500} else 0))
    senders.kill(pid)
    connector.faults = []


def facts_of(fault: Fault) -> dict[str, Any]:
    """What a fault is made of."""
    return {name: getattr(fault, name) for name in ("status", "accepts", "seconds", "resets")}


def hand_on(teams: Teams) -> None:
    """What those that live do, until nothing is owed."""

    def is_all_settled() -> bool:
        teams.later()
        teams.deliver()
        return not Delivery.objects.filter(state__in=["waiting", "pending"]).exists()

    until(is_all_settled)


@pytest.mark.promise("CR-04")
@pytest.mark.promise("CR-08")
@pytest.mark.field("FL-74")
def test_a_sender_killed_before_while_or_after_the_connector_accepts_leaves_one_reply(
    teams: Teams, senders: Senders
) -> None:
    chance, seen = random.Random(SEED), Counter[str]()
    for number in range(ROUNDS):
        moment, method = MOMENTS[number % len(MOMENTS)], chance.choice(["POST", "PUT"])
        conversation = f"c{number}"
        arrival = teams.say(
            "disk full",
            says(GROWN),
            conversation={"id": conversation, "tenantId": teams.connector.tenant},
        )
        if method == "PUT":
            # Its place is held already, and only the answer is still owed.
            teams.deliver()
        teams.world.process().carry()
        killed_at(moment, method, teams, senders, chance)
        stood = len(teams.connector.replies(conversation))
        hand_on(teams)
        assert [it.text for it in teams.connector.replies(conversation)] == [GROWN], moment
        assert teams.states(arrival) == {"placeholder": "delivered", "answer": "delivered"}
        seen[f"{method} {moment}, {stood} replies stood"] += 1
    assert sum(seen.values()) == ROUNDS
    # A placeholder whose post nobody could know of stands beside the one that was answered.
    assert len(teams.connector.orphans()) <= sum(seen[it] for it in seen if it.startswith("POST"))
    told = "\n".join(f"{count:>4} {it}" for it, count in sorted(seen.items()))
    print(f"{ROUNDS} kills, seed {SEED}, {len(teams.connector.orphans())} orphans\n{told}")  # noqa: T201
