"""A small world, and a caller of its agent over A2A."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from uuid import UUID, uuid4

import pytest

from liyagent.entry.a2a.models import Task
from liyagent.entry.models import Delivery
from tests.flows.conftest import Answer, Api, api_of, make_user
from tests.unit.runs.carrying.conftest import World, world

__all__ = ["world"]
PATH = "/a2a/triage"
RECEIVER = "https://agents.example.com/told"


def message(text: str = "look after it", **facts: Any) -> dict[str, Any]:
    """A message of 1.0."""
    known = {"messageId": str(uuid4()), "role": "ROLE_USER", "parts": [{"text": text}]}
    return {**known, **facts}


@dataclass(frozen=True, slots=True, kw_only=True)
class Rpc:
    """Calls methods of the protocol as one user; each answer is the response's own object."""

    api: Api
    path: str = PATH

    def ask(self, method: str, params: Any = None, **headers: str) -> Answer:
        """Call a method."""
        body = {"jsonrpc": "2.0", "id": 7, "method": method, "params": params or {}}
        return self.api.post(self.path, body, **headers)

    def call(self, method: str, params: Any = None, **headers: str) -> Any:
        """Call a method, and return its result."""
        answer = self.ask(method, params, **headers)
        assert answer.status == 200, answer.data
        assert "result" in answer.data, answer.data
        assert answer.data["id"] == 7
        return answer.data["result"]

    def error(self, method: str, params: Any = None, **headers: str) -> dict[str, Any]:
        """Call a method that is refused, and return the error."""
        answer = self.ask(method, params, **headers)
        assert answer.status == 200, answer.data
        error: dict[str, Any] = answer.data["error"]
        return error

    def send(self, text: str = "look after it", **facts: Any) -> dict[str, Any]:
        """Send a message without waiting, and return its task."""
        configuration = {"returnImmediately": True, **facts.pop("configuration", {})}
        params = {"message": message(text, **facts), "configuration": configuration}
        task: dict[str, Any] = self.call("SendMessage", params)["task"]
        return task

    def get(self, task_id: str, **facts: Any) -> dict[str, Any]:
        """Get a task."""
        task: dict[str, Any] = self.call("GetTask", {"id": task_id, **facts})
        return task

    def state(self, task_id: str) -> str:
        """The state of a task, without what is before it."""
        state: str = self.get(task_id)["status"]["state"]
        return state.removeprefix("TASK_STATE_")


@pytest.fixture
def rpc(world: World) -> Rpc:
    """ann, who may start and stop runs, and see her own tasks."""
    return Rpc(api=api_of(make_user("ann", "agents.operate")))


def pushes(task_id: str | UUID) -> list[str]:
    """The states that are owed to the push configurations of a task, in order."""
    rows = Delivery.objects.filter(run_id=task_id, kind="push").order_by("id")
    return [it.address["state"] for it in rows]


def moved(task_id: str | UUID) -> Task:
    """A task as it is stored."""
    return Task.objects.get(run_id=task_id)
