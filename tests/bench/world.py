"""What the bench carries: a model and tools that do nothing, in process, behind every gate.

Registered here alone. Payloads are random letters and digits, hardly compressible.
"""

from __future__ import annotations

import base64
import itertools
import os
import threading
import time
from dataclasses import dataclass, field
from typing import Any

from liyagent.agents.load import load_agents
from liyagent.gateway.local import local_tool
from liyagent.gateway.models import Tool, ToolServer, Transport
from liyagent.gateway.outcome import Effect, Payload
from liyagent.gateway.policy_versions import load_policy
from liyagent.providers.client import PROVIDERS
from liyagent.providers.types import Finish, ModelAnswer, ModelClient, ModelRequest, ToolCall

STEPS = 10
TEXT_BYTES = 1000
READ, WRITE = "look", "note"
RECORDINGS = ("metadata", "full")
# A rule that permits and one that looks into arguments and forbids: each call asks both.
POLICY = """
@id("bench-agents-use-bench-tools")
permit (principal, action == Action::"call", resource in Server::"bench")
when { context.run_as == "" || context.run_as == "bench" };

@id("bench-no-destruction")
forbid (principal, action == Action::"call", resource in Server::"bench")
when { context.args has target && context.args.target like "prod-*" };
"""


def random_text(length: int = TEXT_BYTES) -> str:
    """Return letters and digits that nobody can guess."""
    return base64.b64encode(os.urandom(length), altchars=b"xy").decode()[:length]


@dataclass(slots=True)
class NoOpModel(ModelClient):
    """Asks for one call a step, `STEPS` times, then answers; remembers when it was asked."""

    tool: str
    asked: dict[str, list[float]] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def ask(self, request: ModelRequest) -> ModelAnswer:
        """Answer at once."""
        with self.lock:
            self.asked.setdefault(request.run_id, []).append(time.perf_counter())
        if request.steps_taken >= STEPS:
            return ModelAnswer(text="done", input_tokens=250, output_tokens=1)
        args = {"target": f"web-{request.steps_taken}", "number": request.steps_taken}
        call = ToolCall(
            id=f"toolu_{random_text(24)}", name=f"bench/{self.tool}", arguments_text="", args=args
        )
        return ModelAnswer(
            text=random_text(),
            calls=(call,),
            finish=Finish.CALLS,
            input_tokens=250,
            output_tokens=250,
        )

    def step_seconds(self) -> list[float]:
        """Return how long each step took: from being asked to being asked again."""
        return [
            later - earlier
            for moments in self.asked.values()
            for earlier, later in itertools.pairwise(moments)
        ]


@local_tool("bench/look", effect=Effect.READ, description="Look at something.")
def look(payload: Payload) -> Any:
    """About 1 KB of JSON."""
    return {"target": payload.args["target"], "found": random_text(TEXT_BYTES - 40)}


@local_tool("bench/note", effect=Effect.WRITE, description="Note something.")
def note(payload: Payload) -> Any:
    """About 1 KB of JSON; nothing is kept."""
    return {"target": payload.args["target"], "noted": random_text(TEXT_BYTES - 40)}


SCHEMA = {
    "type": "object",
    "properties": {"target": {"type": "string"}, "number": {"type": "integer"}},
    "required": ["target"],
}


def furnish() -> dict[str, NoOpModel]:
    """Store server, tools, policy and agents; return the model of each tool."""
    server = ToolServer.objects.create(key="bench", transport=Transport.LOCAL)
    for name, effect in ((READ, Effect.READ), (WRITE, Effect.WRITE)):
        Tool.objects.create(server=server, name=name, effect=effect.value, schema=SCHEMA)
    load_policy(POLICY, name="bench", actor="bench")
    models = {tool: NoOpModel(tool=tool) for tool in (READ, WRITE)}
    for tool, model in models.items():
        PROVIDERS[f"noop-{tool}"] = _giver(model)
    load_agents(
        {"agents": [_agent(tool, it) for tool in models for it in RECORDINGS]}, actor="bench"
    )
    return models


def agent_key(tool: str, recording: str) -> str:
    """Return the agent that uses one tool, recorded so."""
    return f"bench-{tool}-{recording}"


def _giver(model: NoOpModel) -> Any:
    return lambda _base_url, _api_key_env: model


def _agent(tool: str, recording: str) -> dict[str, Any]:
    return {
        "key": agent_key(tool, recording),
        "name": f"Bench, {tool}, {recording}",
        "provider": f"noop-{tool}",
        "model": "noop",
        "instructions": "You are measured.",
        "tool_patterns": ["bench/*"],
        "write_posture": "allow",
        "recording": recording,
    }
