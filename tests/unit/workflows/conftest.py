"""Workflows over the world that runs are carried in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from liyagent.agents.models import Agent
from liyagent.workflows.models import Workflow
from liyagent.workflows.start import start_workflow
from runs.models import Run
from tests.unit.runs.carrying.conftest import World, world

__all__ = ["world"]


@dataclass(slots=True)
class Works:
    """A world with workflows of agent `triage`."""

    world: World

    def save(self, *steps: dict[str, Any], key: str = "work", **facts: Any) -> Workflow:
        """Store a workflow of these steps as it is carried."""
        workflow, _ = Workflow.objects.update_or_create(
            key=key,
            defaults={
                "name": key,
                "agent": Agent.objects.get(key="triage"),
                "definition": {"steps": list(steps), **facts},
                "digest": "d",
            },
        )
        return workflow

    def start(self, *steps: dict[str, Any], given: Any = None, **facts: Any) -> Run:
        """Save a workflow and start a run of it."""
        self.save(*steps, **facts)
        return self.begin(given=given)

    def begin(self, *, key: str = "work", given: Any = None, mission: str = "") -> Run:
        known: dict[str, Any] = {
            "entry": "api",
            "started_by": "",
            "mission": mission,
            "request_id": "",
        }
        started = start_workflow(key=key, given=given or {}, **known)
        return Run.objects.get(id=started.run_id)


@pytest.fixture
def works(world: World) -> Works:
    """Workflows over the world."""
    return Works(world=world)


def tool(key: str, name: str, args: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    """A step that calls a tool of the vendor."""
    return {"id": key, "type": "tool", "server": "v", "tool": name, "args": args or {}, **more}
