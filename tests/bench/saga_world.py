"""What the cell of sagas carries: agents that note five times and then fail, or answer, and a tool that takes a note back."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Any

from liyagent.agents.load import load_agents
from liyagent.gateway.local import local_tool
from liyagent.gateway.models import Tool, ToolServer
from liyagent.gateway.outcome import Effect, Payload
from liyagent.providers.client import PROVIDERS
from liyagent.providers.types import Finish, ModelAnswer, ModelClient, ModelRequest, ToolCall
from tests.bench.world import TEXT_BYTES, random_text

NOTES = 5
FAILING, ANSWERING = "bench-saga-fails", "bench-saga-answers"
SCHEMA = {
    "type": "object",
    "properties": {"target": {"type": "string"}, "number": {"type": "integer"}},
    "required": ["target"],
}
UNDONE = {"bench/jot": {"tool": "unjot", "args": {"target": "{{ result.target }}", "number": {"$expr": "args.number"}}}}  # fmt: skip
# The keys under which this process made each call, in their order: its vendor's ledger.
LEDGER: dict[str, list[str]] = {"jot": [], "unjot": []}
LOCK = threading.Lock()


@dataclass(frozen=True, slots=True)
class Noting(ModelClient):
    """Asks for five writes, one a step, and then answers, or says nothing."""

    answer: str

    def ask(self, request: ModelRequest) -> ModelAnswer:
        """Answer at once."""
        if request.steps_taken >= NOTES:
            return ModelAnswer(text=self.answer, input_tokens=250, output_tokens=1)
        args = {"target": f"web-{random_text(8)}", "number": request.steps_taken}
        call = ToolCall(
            id=f"toolu_{random_text(24)}", name="bench/jot", arguments_text="", args=args
        )
        return ModelAnswer(text=random_text(), calls=(call,), finish=Finish.CALLS)


def _made(payload: Payload) -> Any:
    with LOCK:
        LEDGER[payload.tool].append(payload.key)
    return {"target": payload.args["target"], "told": random_text(TEXT_BYTES - 40)}


@local_tool("bench/jot", effect=Effect.WRITE, description="Jot something down.")
def jot(payload: Payload) -> Any:
    """About 1 KB of JSON."""
    return _made(payload)


@local_tool("bench/unjot", effect=Effect.WRITE, description="Take back what was jotted down.")
def unjot(payload: Payload) -> Any:
    """About 1 KB of JSON."""
    return _made(payload)


def provide() -> None:
    """Let this process carry their runs."""
    PROVIDERS[FAILING] = lambda _base_url, _api_key_env: Noting("")
    PROVIDERS[ANSWERING] = lambda _base_url, _api_key_env: Noting("done")


def store() -> None:
    """Store tools and agents, once: the writes of one can be undone, those of the other are plain ones."""
    server = ToolServer.objects.get(key="bench")
    for name in LEDGER:
        Tool.objects.create(server=server, name=name, effect=Effect.WRITE.value, schema=SCHEMA)
    load_agents(
        {"agents": [_agent(FAILING, compensations=UNDONE), _agent(ANSWERING)]}, actor="bench"
    )


def _agent(key: str, **facts: Any) -> dict[str, Any]:
    return {
        "key": key,
        "name": f"Bench, {key}",
        "provider": key,
        "model": "noting",
        "instructions": "You are measured.",
        "tool_patterns": ["bench/*"],
        "write_posture": "allow",
        "recording": "metadata",
        **facts,
    }
