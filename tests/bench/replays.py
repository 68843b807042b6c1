"""A cohort of 50 recorded runs of 8 calls, replayed under another model whose endpoint takes a second a call: nothing of it is real.

The server of the tools is reached over a network once the runs are recorded, at a door that counts who knocks.
"""

from __future__ import annotations

import dataclasses
import math
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.conf import settings
from django.db import connection

from liyagent.agents.load import load_agents
from liyagent.gateway.local import local_tool
from liyagent.gateway.models import Tool, ToolServer, Transport
from liyagent.gateway.outcome import Effect, Payload
from liyagent.gateway.policy_versions import load_policy
from liyagent.jobs.work import work_long
from liyagent.leases.own import OWN
from liyagent.providers.client import PROVIDERS
from liyagent.providers.types import Finish, ModelAnswer, ModelClient, ModelRequest, ToolCall
from liyagent.replays.ask import ask_replay, wanted_replay
from liyagent.replays.models import CohortReplay
from liyagent.replays.verdict import standing_of_verdict
from runs.start import start_run
from tests.bench.saga_process import carry
from tests.bench.steps import CellFailed, new_holder
from tests.bench.world import SCHEMA, TEXT_BYTES, random_text
from tests.fakes.model_server import ModelServer, Turn
from tests.fakes.model_server import call as wire_call

AGENT, SERVER, TOOL = "bench-replays", "replayed", "replayed/look"
RUNS, CALLS, MODEL_SECONDS = 50, 8, 1.0
LOOPBACK = "127.0.0.1"
POLICY = (
    '@id("replayed")\npermit (principal, action == Action::"call", resource in Server::"replayed");'
)
# What is real of the product: none of it may be another afterwards.
TABLES = (
    "approvals_approval", "sagas_saga", "sagas_undo", "events_runevent", "events_eventhead", "handoffs_snapshot", "handoffs_version",
    "handoffs_reading", "runs_run", "runs_part", "runs_call", "tickets_ticket",
)  # fmt: skip


class Door:
    """An address that counts who connects, and answers nobody."""

    def __init__(self) -> None:
        self.connections = 0
        self._socket = socket.create_server((LOOPBACK, 0))
        threading.Thread(target=self._listen, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://{LOOPBACK}:{self._socket.getsockname()[1]}/mcp"

    def _listen(self) -> None:
        while True:
            found, _ = self._socket.accept()
            self.connections += 1
            found.close()


class Recorded(ModelClient):
    """The model that the runs were recorded with: a call a step, then an answer, at once."""

    def ask(self, request: ModelRequest) -> ModelAnswer:
        """Answer."""
        at = request.steps_taken
        if at >= CALLS:
            return ModelAnswer(text="all looked at", input_tokens=250, output_tokens=4)
        call = ToolCall(
            id=f"toolu_{random_text(24)}", name=TOOL, arguments_text="", args=arguments(at)
        )
        return ModelAnswer(
            text="", calls=(call,), finish=Finish.CALLS, input_tokens=250, output_tokens=20
        )


def arguments(at: int) -> dict[str, Any]:
    """Return what the call of a step asks for."""
    return {"target": f"web-{at}", "number": at}


@local_tool(TOOL, effect=Effect.READ, description="Look at something.")
def look(payload: Payload) -> Any:
    """About 1 KB of JSON."""
    return {"target": payload.args["target"], "found": random_text(TEXT_BYTES - 40)}


def measure_replays() -> dict[str, Any]:
    """Return how long a cohort took beside the ideal, and what of the real it touched."""
    PROVIDERS["recorded"] = lambda _base_url, _api_key_env: Recorded()
    _store()
    holder = new_holder()
    for _ in range(RUNS):
        start_run(agent_key=AGENT, task="Look around.", entry="bench", started_by="", mission="", request_id="")  # fmt: skip
    if carry(holder) != RUNS:
        raise CellFailed(f"replays: not each of {RUNS} runs was recorded")
    door = Door()
    ToolServer.objects.filter(key=SERVER).update(transport=Transport.HTTP, url=door.url)
    before = {name: _digest_of(name) for name in TABLES}
    with _loopback_allowed(), ModelServer(_answer) as server:
        replay, seconds = _replayed(server)
    after = {name: _digest_of(name) for name in TABLES}
    model_calls = RUNS * (CALLS + 1)
    served = replay.summary.get("served", {})
    is_whole = served.get("exact") == RUNS * CALLS and replay.verdict == "same"
    if len(server.requests) != model_calls + 1 or not is_whole:
        raise CellFailed(
            f"replays: {len(server.requests)} model calls, verdict {replay.verdict!r}, served {served}: {replay.reason}"
        )
    parallel = settings.LIYAGENT.replay_parallel
    return {
        "runs": RUNS,
        "calls": CALLS,
        "parallel": parallel,
        "model_seconds": MODEL_SECONDS,
        "seconds": seconds,
        "ideal_seconds": model_calls * MODEL_SECONDS / parallel,
        # No run is split: the last of them leave threads idle.
        "whole_runs_seconds": math.ceil(RUNS / parallel) * (CALLS + 1) * MODEL_SECONDS,
        "verdict": replay.verdict,
        "is_verified": standing_of_verdict(replay, with_results=True).is_verified,
        "served": replay.summary["served"],
        "connections": door.connections,
        "changed_tables": [name for name in TABLES if before[name] != after[name]],
    }


def _replayed(server: ModelServer) -> tuple[CohortReplay, float]:
    override = {"provider": "openai", "model": "another", "base_url": server.base_url}
    wanted = wanted_replay(AGENT, override=override, limit=RUNS, may_choose_endpoint=True)
    replay = ask_replay(wanted, asked_by="cli:bench").replay
    OWN.holder = new_holder()
    began = time.monotonic()
    work_long(lambda: False)
    seconds = time.monotonic() - began
    replay.refresh_from_db()
    return replay, seconds


def _answer(body: dict[str, Any]) -> Turn:
    """What the other model says, a second later: the same."""
    at = sum(it["role"] == "tool" for it in body["messages"])
    if not body.get("tools") or at >= CALLS:
        return Turn(text="all looked at", delay_seconds=MODEL_SECONDS)
    asked = wire_call(TOOL, arguments(at), id=f"call_{random_text(24)}")
    return Turn(text=None, calls=[asked], delay_seconds=MODEL_SECONDS)


def _digest_of(table: str) -> str:
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT md5(coalesce(string_agg(md5(t::text), '' ORDER BY md5(t::text)), '')) FROM {table} t"
        )
        return str(cursor.fetchone()[0])


@contextmanager
def _loopback_allowed() -> Iterator[None]:
    conf = settings.LIYAGENT
    settings.LIYAGENT = dataclasses.replace(conf, allowed_private_hosts=(LOOPBACK,))
    try:
        yield
    finally:
        settings.LIYAGENT = conf


def _store() -> None:
    load_policy(POLICY, name="replays", actor="bench")
    server = ToolServer.objects.create(key=SERVER, transport=Transport.LOCAL)
    Tool.objects.create(server=server, name="look", effect=Effect.READ.value, schema=SCHEMA)
    agent = {
        "key": AGENT,
        "name": "Bench, replays",
        "provider": "recorded",
        "model": "recorded",
        "instructions": "You are measured.",
        "tool_patterns": [f"{SERVER}/*"],
        "write_posture": "allow",
        "recording": "full",
    }
    load_agents({"agents": [agent]}, actor="bench")
