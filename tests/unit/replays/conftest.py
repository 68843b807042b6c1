"""Runs that are recorded in a small world and replayed against a real model server, while a vendor counts who connects."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from liyagent.gateway.models import ToolServer
from liyagent.providers.types import ModelAnswer
from liyagent.replays.budget import Budget
from liyagent.replays.made import ReplayedRun
from liyagent.replays.recorded import Recording
from liyagent.replays.recording import load_recording
from liyagent.replays.replay import replay_run
from runs.authority import AgentNow, agent_now
from runs.begin import current_config
from runs.models import Run
from tests.fakes.model_server import ModelServer, Turn
from tests.fakes.model_server import call as wire_call
from tests.unit.runs.carrying.conftest import World, never, world

__all__ = ["world"]


class Door:
    """A vendor's address: it counts who connects, and answers nobody."""

    def __init__(self) -> None:
        self.connections = 0
        self._socket = socket.create_server(("127.0.0.1", 0))
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._socket.getsockname()[1]}/mcp"

    def _listen(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            self.connections += 1
            connection.close()

    def close(self) -> None:
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        self._thread.join(timeout=5)


@dataclass(slots=True)
class Replays:
    """What a test of replays works with. The vendor `v` was in this process when runs were recorded, and is away since."""

    world: World
    door: Door
    budget: Budget = field(default_factory=Budget)
    asked: list[Any] = field(default_factory=list)

    def record(self, *steps: ModelAnswer, **facts: Any) -> Run:
        """Carry a run to its end."""
        self.world.start(*steps, **facts)
        run = self.world.process().carry()
        assert run.is_ended, run.status
        return run

    def recorded(self, *steps: ModelAnswer, **facts: Any) -> Recording:
        """Carry a run to its end and load its recording."""
        found = load_recording(self.record(*steps, **facts))
        assert isinstance(found, Recording), found
        return found

    def move_vendor(self) -> None:
        """The vendor is reached over the network from now on, behind the door."""
        ToolServer.objects.filter(key="v").update(transport="http", url=self.door.url)

    def agent(self, base_url: str, **override: Any) -> AgentNow:
        """The agent as it stands, asked for under another model at this address."""
        agent = agent_now("triage", config=current_config())
        assert agent is not None
        known = {"provider": "openai", "model": "cheaper", "base_url": base_url, "api_key_env": ""}
        return replace(agent, **{**known, **override})

    def replay(
        self,
        recording: Recording,
        *turns: Turn,
        strict: bool = False,
        override: dict[str, Any] | None = None,
        is_unwanted: Callable[[], bool] = never,
        is_moved: bool = True,
    ) -> ReplayedRun:
        """Replay against a model server that answers these turns; by then the vendor has moved."""
        if is_moved:
            self.move_vendor()
        with ModelServer(turns) as server:
            agent = self.agent(server.base_url, **(override or {}))
            self.asked = server.bodies
            try:
                return replay_run(
                    recording, agent, strict=strict, is_unwanted=is_unwanted, budget=self.budget
                )
            finally:
                self.asked = server.bodies

    def results(self) -> list[str]:
        """What the model was told last of its calls, in order."""
        return [it["content"] for it in self.asked[-1]["messages"] if it["role"] == "tool"]


def asks(*asked: tuple[str, Any], text: str = "") -> Turn:
    """A turn that asks for calls."""
    return Turn(
        text=text or None,
        calls=[
            wire_call(name, args, id=f"call_{index}_9f3Kq")
            for index, (name, args) in enumerate(asked)
        ],
    )


@pytest.fixture
def replays(world: World) -> Iterator[Replays]:
    door = Door()
    yield Replays(world=world, door=door)
    assert door.connections == 0
    door.close()
