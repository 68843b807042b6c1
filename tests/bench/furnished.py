"""What the cells beside W1 carry: agents of their own, whose model is told how many steps and how slowly."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from liyagent.agents.load import load_agents
from liyagent.providers.client import PROVIDERS
from liyagent.providers.types import Finish, ModelAnswer, ModelClient, ModelRequest, ToolCall
from tests.bench.world import READ, random_text

Ask = Callable[[ModelRequest], None]


@dataclass(slots=True)
class PacedModel(ModelClient):
    """Asks for `steps` reads, one a step, each after `seconds`, then answers; `on_ask` sees each request first."""

    steps: int
    seconds: float = 0.0
    text_bytes: int = 1000
    on_ask: Ask | None = None
    waiting: int = 0
    most_waiting: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def ask(self, request: ModelRequest) -> ModelAnswer:
        """Answer after the pause."""
        if self.on_ask is not None:
            self.on_ask(request)
        if self.seconds:
            self._wait()
        if request.steps_taken >= self.steps:
            return ModelAnswer(text="done", input_tokens=250, output_tokens=1)
        args = {"target": f"web-{request.steps_taken}", "number": request.steps_taken}
        call = ToolCall(
            id=f"toolu_{random_text(24)}", name=f"bench/{READ}", arguments_text="", args=args
        )
        return ModelAnswer(
            text=random_text(self.text_bytes),
            calls=(call,),
            finish=Finish.CALLS,
            input_tokens=250,
            output_tokens=250,
        )

    def _wait(self) -> None:
        with self.lock:
            self.waiting += 1
            self.most_waiting = max(self.most_waiting, self.waiting)
        time.sleep(self.seconds)
        with self.lock:
            self.waiting -= 1


def add_agent(key: str, model: PacedModel, *, recording: str) -> None:
    """Store an agent that asks `model`, and may take all the steps that it wants."""
    PROVIDERS[key] = lambda _base_url, _api_key_env: model
    definition: dict[str, Any] = {
        "key": key,
        "name": f"Bench, {key}",
        "provider": key,
        "model": "paced",
        "instructions": "You are measured.",
        "tool_patterns": ["bench/*"],
        "write_posture": "allow",
        "recording": recording,
        "max_steps": 1000,
    }
    load_agents({"agents": [definition]}, actor="bench")
