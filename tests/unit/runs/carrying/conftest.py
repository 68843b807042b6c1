"""A small world to carry runs in: agents, a model that follows a list, a vendor, and processes that die."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

import psycopg
import pytest
from pytest_django.plugin import DjangoDbBlocker

from events.models import RunEvent
from liyagent.agents.models import Agent
from liyagent.audit.models import AuditRow
from liyagent.gateway.models import Policy, Tool, ToolServer
from liyagent.leases.holding import register_holder
from liyagent.leases.identity import own_identity
from liyagent.providers.client import PROVIDERS, client_for
from liyagent.providers.types import (
    Finish,
    ModelAnswer,
    ModelClient,
    ModelRequest,
    Role,
    ToolCall,
)
from runs import hot
from runs.attempt import Carrier
from runs.checkpoint import keyring, load
from runs.loop import carry_run
from runs.models import Call, Run
from runs.runner import FORMATS
from runs.start import start_run
from tests.databases import FreshDatabase
from tests.unit.runs.carrying.vendor import TOOLS, VENDOR, Vendor

PERMIT = '@id("all")\npermit (principal, action, resource);'


def never() -> bool:
    return False


def calls(
    *asked: tuple[str, dict[str, Any]], ids: list[str] | None = None, text: str = ""
) -> ModelAnswer:
    """A model step that asks for calls, with opaque ids unless told otherwise."""
    names = ids or [
        f"toolu_{abs(hash((name, str(args)))):x}x{index}"
        for index, (name, args) in enumerate(asked)
    ]
    return ModelAnswer(
        text=text,
        finish=Finish.CALLS,
        calls=tuple(
            ToolCall(id=names[index], name=name, arguments_text="", args=args)
            for index, (name, args) in enumerate(asked)
        ),
    )


def says(text: str) -> ModelAnswer:
    """A final answer."""
    return ModelAnswer(text=text)


@dataclass(slots=True)
class Model(ModelClient):
    """Answers its list by the number of steps taken, and remembers what it was asked."""

    steps: list[ModelAnswer] = field(default_factory=list)
    asked: list[ModelRequest] = field(default_factory=list)

    def ask(self, request: ModelRequest) -> ModelAnswer:
        self.asked.append(request)
        return self.steps[request.steps_taken]

    def results(self) -> list[str]:
        """The tool results of the last request, in order."""
        return [it.text for it in self.asked[-1].messages if it.role is Role.TOOL]


@dataclass(slots=True)
class Process:
    """One holder: it takes what is queued and carries it until it ends, is handed back, or dies."""

    holder: UUID
    name: str
    gives_up: bool = False
    drains: bool = False

    def take(self) -> list[tuple[UUID, int]]:
        """Take what is queued, as `serve` does, and what was lost twice, as a process of its own does."""
        known: dict[str, Any] = {"formats": FORMATS, "key_ids": keyring().ids, "give_up": never}
        alone = [
            hot.take_one(self.holder, run_id, **known)[0]
            for run_id in hot.due_alone(limit=9, **known)
        ]
        return [*hot.take(self.holder, again=9, fresh=9, **known), *alone]

    def carry(self) -> Run:
        """Take the one queued run and carry it."""
        ((run_id, attempt),) = self.take()
        return self.go_on(run_id, attempt)

    def go_on(self, run_id: UUID, attempt: int) -> Run:
        carrier = Carrier(
            holder=self.name, give_up=lambda: self.gives_up, hand_over=lambda: self.drains
        )
        carry_run(load(run_id, attempt=attempt, give_up=never), carrier)
        return Run.objects.get(id=run_id)


@dataclass(slots=True)
class World:
    """What a test works with."""

    url: str
    model: Model
    vendor: Vendor

    def process(self, name: str = "a") -> Process:
        holder = register_holder(
            own_identity(), name=name, lease_seconds=30, formats=FORMATS, key_ids=keyring().ids
        )
        return Process(holder=holder, name=name)

    def start(self, *steps: ModelAnswer, task: str = "look after it", **facts: Any) -> Run:
        """Start a run whose model will answer `steps`."""
        self.model.steps = list(steps)
        known = {"entry": "api", "started_by": "", "mission": "", "request_id": "", **facts}
        started = start_run(agent_key="triage", task=task, **known)
        return Run.objects.get(id=started.run_id)

    def sql(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        """Run a statement on a connection of its own, as an operator, or an attacker, would."""
        with psycopg.connect(self.url, autocommit=True) as connection:
            cursor = connection.execute(statement, values)
            return cursor.fetchall() if cursor.description else []

    def lapse(self, process: Process) -> list[UUID]:
        """The process's lease runs out, and another one's sweep finds it."""
        self.sql(
            "UPDATE leases_holder SET renew_by = liyagent_now() - interval '1 s' WHERE id = %s",
            process.holder,
        )
        rows = self.sql("SELECT * FROM liyagent_sweep(gen_random_uuid(), 100, 0)")
        return [row[0] for row in rows]

    def prove_dead(self, process: Process) -> list[UUID]:
        """The process is found to be gone."""
        rows = self.sql("SELECT * FROM liyagent_claim_proven(%s, 100)", process.holder)
        return [row[0] for row in rows]

    def events(self, run: Run) -> list[RunEvent]:
        return list(RunEvent.objects.filter(run_id=run.id).order_by("number"))

    def audit(self, action: str) -> list[dict[str, Any]]:
        return list(
            AuditRow.objects.filter(action=action).order_by("id").values_list("detail", flat=True)
        )

    def call(self, run: Run, step: int, index: int = 0) -> Call:
        return Call.objects.get(run_id=run.id, step=step, index=index)


@pytest.fixture
def world(
    fresh_db: FreshDatabase, django_db_blocker: DjangoDbBlocker, monkeypatch: pytest.MonkeyPatch
) -> Iterator[World]:
    """An agent `triage` whose model follows a list, and a vendor `v` with five tools."""
    model = Model()
    monkeypatch.setitem(PROVIDERS, "listed", lambda _base_url, _api_key_env: model)
    client_for.cache_clear()
    for name, value in zip(Vendor.__slots__, _fresh_vendor(), strict=True):
        setattr(VENDOR, name, value)
    with django_db_blocker.unblock():
        Agent.objects.create(
            key="triage",
            name="Triage",
            provider="listed",
            model="list",
            tool_patterns=["v/*"],
            write_posture="allow",
            recording="full",
        )
        server = ToolServer.objects.create(key="v", transport="local")
        for name, contract in TOOLS.items():
            Tool.objects.create(server=server, name=name, **contract)
        Policy.objects.create(name="all", version=1, text=PERMIT, is_active=True)
        yield World(url=fresh_db.url, model=model, vendor=VENDOR)


def _fresh_vendor() -> list[Any]:
    fresh = Vendor()
    return [getattr(fresh, name) for name in Vendor.__slots__]
