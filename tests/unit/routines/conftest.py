"""An agent whose runs are mined, and what mines them."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import pytest
from django.conf import settings

from liyagent.agents.models import Agent
from liyagent.audit.models import AuditRow
from liyagent.gateway.models import Tool, ToolServer
from liyagent.jobs.models import Job
from liyagent.jobs.take import IN_HAND
from liyagent.jobs.work import work_due
from liyagent.leases.holding import register_holder
from liyagent.leases.identity import own_identity
from liyagent.leases.own import OWN
from routines.ask import ask_mining
from routines.models import Routine
from tests.databases import FreshDatabase
from tests.recorded_runs import AGENT, Made, Past, write_past

TOOLS = ("find", "close", "note")
NAMES = ("Ann", "Bob", "Cleo", "Dora", "Emil")


def never() -> bool:
    return False


def closed(number: int, *, queue: str = "desk") -> Past:
    """A run that looks somebody up, and closes what is theirs: two calls that belong together."""
    name = f"{NAMES[number % len(NAMES)]} {number}"
    found = {"user": {"id": f"user-{1000 + number}"}, "name": name}
    return Past(
        task=f"close what {name} has",
        calls=(
            Made(tool="crm/find", args={"who": name}, result=found),
            Made(tool="crm/close", args={"id": f"user-{1000 + number}", "queue": queue}, effect="write"),
        ),
    )  # fmt: skip


@dataclass(slots=True)
class Mine:
    """A database with an agent and its tools, and a process that carries its minings."""

    url: str
    holder: UUID
    set_conf: Callable[..., None]

    def past(self, runs: Iterable[Past]) -> list[UUID]:
        return write_past(self.url, runs)

    def work(self, give_up: Callable[[], bool] = never) -> None:
        OWN.holder = self.holder
        work_due(give_up)

    def step(self) -> None:
        """Take the job, and hand it back after one step."""
        turn = iter([False])
        self.work(lambda: next(turn, True))

    def mine(self, *, asked_by: str = "olga") -> Job:
        """Have the agent's runs mined to the end."""
        job = ask_mining(AGENT, asked_by=asked_by).job
        while job.is_live:
            self.work()
            job.refresh_from_db()
        assert (job.status, job.reason) == ("done", "")
        return job

    def only(self) -> Routine:
        return Routine.objects.get()

    def audit(self, action: str) -> list[dict[str, Any]]:
        rows = AuditRow.objects.filter(action=f"agent.routine.{action}").order_by("id")
        return list(rows.values_list("detail", flat=True))


@pytest.fixture
def mine(fresh_db: FreshDatabase, monkeypatch: pytest.MonkeyPatch) -> Iterator[Mine]:
    """An agent recorded in full, with three tools."""
    with mining_at(fresh_db.url, monkeypatch) as it:
        yield it


@contextmanager
def mining_at(url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Mine]:
    """As `mine`, for tests elsewhere."""
    Agent.objects.create(
        key=AGENT, name="Triage", provider="scripted", model="m", recording="full", tool_patterns=["crm/*", "agents/*"]
    )  # fmt: skip
    server = ToolServer.objects.create(key="crm", url="http://127.0.0.1:1/")
    for name in TOOLS:
        schema = {"type": "object", "properties": {}}
        Tool.objects.create(server=server, name=name, schema=schema, effect="read")

    def set_conf(**changes: Any) -> None:
        monkeypatch.setattr(settings, "LIYAGENT", dataclasses.replace(settings.LIYAGENT, **changes))

    monkeypatch.setattr(OWN, "holder", None)
    holder = register_holder(own_identity(), name="a", lease_seconds=30, formats=[1], key_ids=["k"])
    yield Mine(url=url, holder=holder, set_conf=set_conf)
    IN_HAND.__init__()  # type: ignore[misc]
