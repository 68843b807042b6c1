"""Cohorts in a small world: recorded runs, a model server that answers by what it is asked, and processes that carry jobs."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest

from liyagent.jobs.after_end import do_after_end
from liyagent.jobs.take import IN_HAND
from liyagent.jobs.work import work_long
from liyagent.leases.holding import register_holder
from liyagent.leases.identity import own_identity
from liyagent.leases.own import OWN
from liyagent.replays.ask import Wanted, ask_replay, wanted_replay
from liyagent.replays.models import CohortReplay
from runs.models import Run
from tests.fakes.model_server import ModelServer, Turn
from tests.unit.replays.conftest import Replays, asks
from tests.unit.runs.carrying.conftest import World, calls, never, says

Body = dict[str, Any]
TASK = re.compile(r"disk ([0-9]+)")


def number_of(body: Body) -> int:
    """Which of the runs a request is about; -1 for the question whether the model is there."""
    said = next(it["content"] for it in body["messages"] if it["role"] == "user")
    found = TASK.search(said)
    return int(found[1]) if found else -1


def has_results(body: Body) -> bool:
    return any(it["role"] == "tool" for it in body["messages"])


@dataclass(slots=True)
class Cohorts:
    """Runs are numbered: run 3 was asked to look after disk 3, looked once, and said that disk 3 is fine."""

    replays: Replays
    server: ModelServer
    runs: list[Run] = field(default_factory=list)
    turns: dict[int, Turn] = field(default_factory=dict)
    before: Callable[[Body], Turn | None] = lambda _body: None

    @property
    def world(self) -> World:
        return self.replays.world

    def record(self, number: int = 1) -> list[Run]:
        """Record so many more runs."""
        for _ in range(number):
            at = len(self.runs)
            steps = (calls(("v/look", {"at": at})), says(f"disk {at} is fine"))
            self.runs.append(self.replays.record(*steps, task=f"look after disk {at}"))
        self.replays.move_vendor()
        return self.runs

    def answer(self, body: Body) -> Turn:
        """What the model says: as the run did, unless a test wants something else of that run."""
        if (turn := self.before(body)) is not None:
            return turn
        at = number_of(body)
        if at < 0:
            return Turn(text="ready")
        if not has_results(body):
            return asks(("v/look", {"at": at}))
        return self.turns.get(at, Turn(text=f"disk {at} is fine"))

    @property
    def override(self) -> dict[str, Any]:
        return {"provider": "openai", "model": "cheaper", "base_url": self.server.base_url}

    def wanted(self, **asked: Any) -> Wanted:
        known: dict[str, Any] = {"override": self.override, "may_choose_endpoint": True, **asked}
        return wanted_replay("triage", **known)

    def ask(self, **asked: Any) -> CohortReplay:
        return ask_replay(self.wanted(**asked), asked_by="cli:olga").replay

    def work(self, give_up: Callable[[], bool] = never) -> int:
        """What the round of long jobs does, in a process of its own; then what is owed after the end."""
        OWN.holder = register_holder(own_identity(), name="w", lease_seconds=30, formats=[1], key_ids=["k"])  # fmt: skip
        turns = work_long(give_up)
        do_after_end(never)
        return turns

    def done(self, **asked: Any) -> CohortReplay:
        """Ask for a cohort replay, have it carried, and return it."""
        replay = self.ask(**asked)
        self.work()
        replay.refresh_from_db()
        return replay


@contextmanager
def cohorts_of(replays: Replays) -> Iterator[Cohorts]:
    """Cohorts against a model server of their own."""
    made: list[Cohorts] = []

    def answer(body: Body) -> Turn:
        return made[0].answer(body)

    with ModelServer(answer) as server:
        made.append(Cohorts(replays=replays, server=server))
        yield made[0]


@pytest.fixture
def cohorts(replays: Replays, monkeypatch: pytest.MonkeyPatch) -> Iterator[Cohorts]:
    monkeypatch.setattr(OWN, "holder", None)
    with cohorts_of(replays) as it:
        yield it
    IN_HAND.__init__()  # type: ignore[misc]
