"""The small world of runs, with agents under `triage` that it may hand work to."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest

from liyagent.agents.models import Agent
from liyagent.providers.client import PROVIDERS, client_for
from liyagent.providers.types import ModelAnswer, ModelClient, ModelRequest
from runs.models import ENDED, Run
from tests.unit.approvals.conftest import cut
from tests.unit.runs.carrying.conftest import Process, World, calls, says, world
from tests.unit.runs.conftest import server

__all__ = ["cut", "server", "world"]


@dataclass(slots=True)
class Cast(ModelClient):
    """Each agent follows the list of its own model name."""

    lists: dict[str, list[ModelAnswer]] = field(default_factory=dict)
    asked: list[ModelRequest] = field(default_factory=list)

    def ask(self, request: ModelRequest) -> ModelAnswer:
        self.asked.append(request)
        return self.lists[request.model][request.steps_taken]

    def told(self, model: str) -> list[str]:
        """What the last request of a model's agent had as tool results."""
        last = [it for it in self.asked if it.model == model][-1]
        return [it.text for it in last.messages if it.role.value == "tool"]


@pytest.fixture
def cast(world: World, monkeypatch: pytest.MonkeyPatch) -> Cast:
    """Agents `triage`, `reader` and `fixer`, each let to call the vendor and to hand work to each other."""
    cast = Cast()
    monkeypatch.setitem(PROVIDERS, "cast", lambda _base_url, _api_key_env: cast)
    client_for.cache_clear()
    for key in ("triage", "reader", "fixer"):
        facts: dict[str, Any] = {
            "name": key.title(),
            "provider": "cast",
            "model": key,
            "tool_patterns": ["v/*", "agents/*"],
            "write_posture": "allow",
            "recording": "full",
        }
        Agent.objects.update_or_create(key=key, defaults=facts)
    return cast


def hands(key: str, task: str = "read it") -> ModelAnswer:
    """A model step that hands a task to an agent."""
    return calls((f"agents/{key}", {"task": task}))


def works(key: str, *, text: str = "all done") -> list[ModelAnswer]:
    """The steps of an agent that makes one keyed write and answers."""
    return [calls(("v/keyed", {"by": key})), says(text)]


def carry_all(world: World, *, name: str = "a", most: int = 9) -> list[Run]:
    """Take and carry whatever is queued until nothing is; the runs as they stand, the oldest first."""
    for number in range(most):
        process = world.process(f"{name}{number}")
        taken = process.take()
        if not taken:
            break
        for run_id, attempt in taken:
            process.go_on(run_id, attempt)
    return list(Run.objects.order_by("created_at", "id"))


def take(process: Process, agent: str) -> tuple[Run, int]:
    """Take what is queued, which is one run of this agent alone."""
    ((run_id, attempt),) = process.take()
    run = Run.objects.get(id=run_id)
    assert run.agent_key == agent
    return run, attempt


def the_child(parent: Run, agent: str = "reader") -> Run:
    """The one child that this parent has."""
    return Run.objects.get(parent_id=parent.id, agent_key=agent)


def all_ended() -> bool:
    """Whether nothing is left to be carried."""
    return not Run.objects.exclude(status__in=ENDED).exists()


__all__ += ["Cast", "all_ended", "carry_all", "cast", "hands", "says", "take", "the_child", "works"]
