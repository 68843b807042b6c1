"""The catalogue: a tool for each agent that is open to MCP, and one that asks for an answer; and their arguments."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from rest_framework import serializers
from rest_framework.exceptions import ValidationError

from liyagent.agents.models import Agent
from liyagent.core.api import handle_exception
from liyagent.core.bodies import StrictSerializer, Words
from liyagent.core.errors import BadInput
from liyagent.core.paging import read_cursor, write_cursor
from liyagent.entry.mcp_server.answer import RESULT_TOOL
from liyagent.entry.mcp_server.receive import open_agents
from runs.serializers import TurnInput
from runs.start import LONGEST_TASK, MOST_TURNS

PAGE = 100
MOST_WAIT_SECONDS = 3_600
TEXT = {"type": "string"}
WAIT = {
    "type": "number",
    "minimum": 0,
    "maximum": MOST_WAIT_SECONDS,
    "description": "How long to wait for the answer; after that it is told how to ask for it.",
}
TURN = {
    "type": "object",
    "properties": {"role": {"type": "string", "enum": ["user", "assistant"]}, "text": TEXT},
    "required": ["role", "text"],
    "additionalProperties": False,
}
ASK = {
    "type": "object",
    "properties": {
        "task": {
            "type": "string",
            "minLength": 1,
            "maxLength": LONGEST_TASK,
            "description": "What the agent is asked, with all it needs to know.",
        },
        "history": {
            "type": "array",
            "items": TURN,
            "maxItems": MOST_TURNS,
            "description": "Earlier turns of the conversation, the oldest first.",
        },
        "wait_seconds": {**WAIT, "default": MOST_WAIT_SECONDS},
    },
    "required": ["task"],
    "additionalProperties": False,
}
FETCH = {
    "type": "object",
    "properties": {
        "run_id": {"type": "string", "format": "uuid", "description": "As a call was told it."},
        "wait_seconds": {**WAIT, "default": 0},
    },
    "required": ["run_id"],
    "additionalProperties": False,
}
TOLD = {
    "type": "object",
    "properties": {
        "run_id": TEXT,
        "status": TEXT,
        "mission": TEXT,
        "answer": TEXT,
        "reason": TEXT,
        "waits_for": TEXT,
    },
    "required": ["run_id", "status", "mission"],
}


class AskInput(StrictSerializer):
    """The arguments of an agent's tool."""

    task = Words(max_length=LONGEST_TASK)
    history = serializers.ListField(child=TurnInput(), required=False, max_length=MOST_TURNS)
    wait_seconds = serializers.FloatField(
        min_value=0, max_value=MOST_WAIT_SECONDS, default=MOST_WAIT_SECONDS
    )


class FetchInput(StrictSerializer):
    """The arguments of the tool that asks for an answer."""

    run_id = serializers.UUIDField()
    wait_seconds = serializers.FloatField(min_value=0, max_value=MOST_WAIT_SECONDS, default=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolPage:
    """Some tools in their wire form; `next_cursor` is empty where none follow."""

    tools: list[dict[str, Any]]
    next_cursor: str


def list_tools(cursor: str | None) -> ToolPage:
    """Return the page of tools that a cursor leads to; the first begins with the one that asks for an answer.

    Raises `BadInput` for what is no cursor of ours.
    """
    rows = open_agents().exclude(key=RESULT_TOOL)
    if cursor is not None:
        (last,) = read_cursor(cursor, parts=1)
        rows = rows.filter(key__gt=last)
    found = list(rows.only("key", "name")[: PAGE + 1])
    has_more = len(found) > PAGE
    agents = [_agent_told(it) for it in found[:PAGE]]
    return ToolPage(
        tools=agents if cursor is not None else [RESULT, *agents],
        next_cursor=write_cursor([found[PAGE - 1].key]) if has_more else "",
    )


def ask_of(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return `task`, `history` and `wait_seconds` of a call. Raises `BadInput` that names what is wrong."""
    return _checked(AskInput(data=dict(arguments)))


def fetch_of(arguments: Mapping[str, Any]) -> tuple[UUID, float]:
    """Return the run that is asked for, and how long to wait. Raises `BadInput`."""
    given = _checked(FetchInput(data=dict(arguments)))
    return given["run_id"], given["wait_seconds"]


def schema_of(name: str) -> dict[str, Any]:
    """Return what a tool's arguments have to be: of every agent the same."""
    return FETCH if name == RESULT_TOOL else ASK


def _checked(given: serializers.Serializer[Any]) -> dict[str, Any]:
    try:
        given.is_valid(raise_exception=True)
    except ValidationError as error:
        told = handle_exception(error, {}).data["detail"]
        raise BadInput(f"the arguments cannot be used: {told}") from None
    return dict(given.validated_data)


def _agent_told(agent: Agent) -> dict[str, Any]:
    """A name and how to ask: nothing of instructions, models or tools."""
    return {
        "name": agent.key,
        "title": agent.name,
        "description": f"{agent.name}: an agent that carries out tasks, and asks people where it must.",
        "inputSchema": ASK,
        "outputSchema": TOLD,
        "annotations": {
            "readOnlyHint": False,
            "destructiveHint": True,
            "idempotentHint": False,
            "openWorldHint": True,
        },
    }


RESULT = {
    "name": RESULT_TOOL,
    "title": "Result of a run",
    "description": "Returns the answer of a run that an agent began here, or where it stands.",
    "inputSchema": FETCH,
    "outputSchema": TOLD,
    "annotations": {"readOnlyHint": True, "idempotentHint": True, "openWorldHint": False},
}
