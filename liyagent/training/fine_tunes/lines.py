"""A run as one line of a file for fine-tuning: what was said, what was called and with which tools, without secrets."""

from __future__ import annotations

import os
from collections.abc import Iterable
from functools import partial
from typing import Any

from django.conf import settings

from liyagent.agents.models import Agent, AgentVersion, ConfigVersion, Recording
from liyagent.core.plain import json_bytes
from liyagent.core.seal import KeyMissing, SealBroken
from liyagent.core.secret_words import Starring, worth_starring
from liyagent.gateway.contracts import contracts_for
from liyagent.gateway.models import ToolServer
from liyagent.providers.openai_wire import request_body
from liyagent.providers.types import Message, ModelRequest, Role, ToolCall, ToolSpec
from runs.models import Run, RunStatus
from runs.transcript import messages_kept

LARGEST_LINE_BYTES = 1 << 20
BYTES_A_TOKEN = 4


class Skipped(Exception):
    """The run makes no example; the text is the reason that is counted."""


class Lines:
    """Makes lines of the runs of one agent. What it reads of versions and tools it keeps; `starring` counts secrets."""

    def __init__(self, agent: Agent) -> None:
        """The tools are those that the agent may use now."""
        self._agent = agent
        self._said: dict[int, str] = {}
        version = ConfigVersion.objects.values_list("version", flat=True).get()
        self._contracts = contracts_for(agent.tool_patterns, version=version)
        self.starring = Starring(known=known_secrets())

    def line_of(self, run: Run) -> bytes:
        """Return the line of a run. Raises `Skipped`."""
        if run.recording != Recording.FULL:
            raise Skipped("not recorded in full")
        if run.status != RunStatus.ANSWERED:
            raise Skipped("not answered")
        try:
            told = messages_kept(run)
        except KeyMissing:
            raise Skipped("its sealing key is not here") from None
        except SealBroken:
            raise Skipped("its seal is broken") from None
        messages = _spoken(told)
        line = self._line(messages, instructions=self._instructions(run))
        if len(line) > LARGEST_LINE_BYTES:
            raise Skipped("larger than 1 MiB")
        text = line.decode()
        if any(json_bytes(it).decode()[1:-1] in text for it in self.starring.known):
            raise Skipped("a secret that cannot be starred out")
        return line

    def _line(self, messages: list[Message], *, instructions: str) -> bytes:
        starred = [_starred(it, self.starring) for it in messages]
        if instructions:
            starred.insert(0, Message(role=Role.SYSTEM, text=self.starring.text(instructions)))
        used = dict.fromkeys(call.name for message in starred for call in message.calls)
        tools = tuple(map(self._tool, used))
        request = ModelRequest(model="", messages=tuple(starred), tools=tools)
        body = request_body(request, cap_name="", tells_usage=False)
        del body["model"]
        return json_bytes(body)

    def _tool(self, name: str) -> ToolSpec:
        """As it is described now; one that is gone is named alone."""
        contract = self._contracts.get(name)
        if contract is None:
            return ToolSpec(name=name)
        told = self.starring.text(contract.description)
        return ToolSpec(name=name, description=told, schema=self.starring.plain(contract.schema))

    def _instructions(self, run: Run) -> str:
        """Those of the version that the run was started with."""
        number = run.agent_version
        if number not in self._said:
            row = AgentVersion.objects.filter(agent=self._agent, number=number).first()
            self._said[number] = str((row.definition if row else {}).get("instructions") or "")
        return self._said[number]


def tokens_of(line: bytes) -> int:
    """Return about how many tokens a line has: four bytes each."""
    return -(-len(line) // BYTES_A_TOKEN)


def known_secrets() -> tuple[str, ...]:
    """Return the values of every secret that a row names, and the product's own."""
    names: set[str] = set(Agent.objects.values_list("api_key_env", flat=True))
    for field in ("bearer_env", "oauth_secret_env"):
        names |= set(ToolServer.objects.values_list(field, flat=True))
    conf = settings.LIYAGENT
    own = (conf.secret_key, conf.database_url, conf.direct_database_url)
    return worth_starring([*(os.environ.get(it, "").strip() for it in names if it), *own])


def _spoken(told: Iterable[dict[str, Any]]) -> list[Message]:
    """The conversation up to the answer, each call with its one result. Raises `Skipped`."""
    messages = [_message(it) for it in told]
    if not messages:
        raise Skipped("its words are gone")
    last = messages[-1]
    if last.role is not Role.ASSISTANT or last.calls or not last.text.strip():
        raise Skipped("it ends with no answer")
    open_calls: list[str] = []
    for message in messages:
        if message.role is Role.TOOL and message.call_id in open_calls:
            open_calls.remove(message.call_id)
        elif message.role is Role.TOOL or open_calls:
            raise Skipped("calls without their results")
        open_calls += [call.id for call in message.calls]
        if len(set(open_calls)) != len(open_calls) or "" in open_calls:
            raise Skipped("calls that cannot be told apart")
    return messages


def _message(told: dict[str, Any]) -> Message:
    make = partial(Message, role=Role(told["role"]), text=told["text"])
    if told["role"] == Role.TOOL:
        return make(call_id=told["call_id"], is_error=told["is_error"])
    return make(calls=tuple(map(_call, told.get("calls", ()))))


def _call(told: dict[str, Any]) -> ToolCall:
    return ToolCall(id=told["id"], name=told["tool"], arguments_text=told["arguments_text"], args=told["args"])  # fmt: skip


def _starred(message: Message, starring: Starring) -> Message:
    calls = tuple(
        ToolCall(
            id=it.id,
            name=it.name,
            arguments_text=starring.text(it.arguments_text) if it.args is None else "",
            args=None if it.args is None else starring.plain(it.args),
        )
        for it in message.calls
    )
    return Message(
        role=message.role,
        text=starring.text(message.text),
        calls=calls,
        call_id=message.call_id,
        is_error=message.is_error,
    )
