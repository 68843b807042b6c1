"""An agent's card: read within limits, held against the address it came from, and made into tools."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from urllib.parse import SplitResult, urlsplit

from liyagent.core.plain import NotStorable, parse_json
from liyagent.gateway.mcp_session import CatalogueUnreadable
from liyagent.gateway.outcome import Effect

CARD_LIMIT_BYTES = 256 << 10
MOST_SKILLS = 50
LONGEST_MESSAGE = 100_000
LONGEST_ID = 255
BINDING = "JSONRPC"
ASK, TASK, TASKS = "ask", "task", "tasks"
# Our own words of our own tools: a look at a task changes nothing.
EFFECTS = {ASK: Effect.WRITE, TASK: Effect.READ, TASKS: Effect.READ}
PORTS = {"http": 80, "https": 443}
WANTS = "it wants the address of an agent's card, such as https://agents.example.com/.well-known/agent-card.json"
HOW = (
    "It answers with what it found; or with a task that is still going, whose end `task` tells; or it wants something "
    "(state input-required): ask it again then, with the id of that `task`. `context` goes on with an earlier talk."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """What we use of a card. `parsed` is the SDK's, with those interfaces alone that may be asked."""

    parsed: Any
    version: str
    name: str
    description: str

    @property
    def can_list(self) -> bool:
        """Whether its tasks can be listed, so that one is found by our key: 0.3 cannot."""
        return not self.version.startswith("0.")


def read_card(body: bytes, url: str) -> Card:
    """Return the card in `body`, which was read from `url`. Raises `CatalogueUnreadable`."""
    # The SDK takes a second and 50 MB: a process that asks no agent does not pay for it.
    from a2a.client.card_resolver import parse_agent_card  # noqa: PLC0415
    from google.protobuf.json_format import ParseError  # noqa: PLC0415

    try:
        parsed = parse_agent_card(parse_json(body))
    except (NotStorable, ParseError, TypeError, AttributeError, ValueError, KeyError) as error:
        raise CatalogueUnreadable(f"{_brief(error)}; {WANTS}") from None
    if not parsed.name or not parsed.supported_interfaces:
        raise CatalogueUnreadable(f"it names no agent, or no interface; {WANTS}")
    version = _keep_ours(parsed, url)
    told = parsed.description.strip()
    skills = [f"- {it.name}: {it.description}" for it in parsed.skills[:MOST_SKILLS]]
    return Card(
        parsed=parsed,
        version=version,
        name=parsed.name,
        description="\n".join([told, *skills]).strip(),
    )


def tools_of(card: Card) -> list[dict[str, Any]]:
    """Return the tools of an agent in the wire form of MCP: to ask it, to look at a task, to find one (1.0)."""
    text = {"type": "string", "minLength": 1}
    an_id = {**text, "maxLength": LONGEST_ID}
    message = {**text, "maxLength": LONGEST_MESSAGE}
    ask = _tool(
        ASK,
        f"Ask the agent {card.name}.\n{card.description}\n{HOW}",
        {"message": message, "context": an_id, "task": an_id},
        required="message",
    )
    task = _tool(
        TASK,
        f"Look what became of a task that the agent {card.name} was asked: waits a while for its end.",
        {"id": an_id},
        required="id",
    )
    tasks = _tool(
        TASKS,
        f"Find the latest tasks that the agent {card.name} was asked by us; with `message_id` the one of that message.",
        {"message_id": an_id},
    )
    return [ask, task, tasks] if card.can_list else [ask, task]


def default_reader(server: str) -> dict[str, Any]:
    """Return how a message in doubt is found again: the task by our key (ruling 32)."""
    return {
        "tool": f"{server}/{TASKS}",
        "args": {"message_id": "{{ key }}"},
        "match": {"records": "tasks", "field": "message_id"},
    }


def _tool(
    name: str, description: str, properties: dict[str, Any], *, required: str = ""
) -> dict[str, Any]:
    schema: dict[str, Any] = {
        "type": "object",
        "properties": properties,
        "additionalProperties": False,
    }
    if required:
        schema["required"] = [required]
    return {"name": name, "description": description, "inputSchema": schema}


def _keep_ours(parsed: Any, url: str) -> str:
    """Leave those interfaces that can be asked where the card came from; return the version spoken there.

    A card is a stranger's word: it does not lead our token, or a message, to another host.
    """
    from a2a.client import ClientFactory  # noqa: PLC0415 - see read_card

    spoken = [it for it in parsed.supported_interfaces if it.protocol_binding == BINDING]
    if not spoken:
        raise CatalogueUnreadable("it cannot be asked by JSON-RPC, which is what we speak")
    ours = [it for it in spoken if _origin(it.url) == _origin(url)]
    if not ours:
        raise CatalogueUnreadable(
            f"its card leads to {spoken[0].url[:200]!r}: an agent is asked where its card is, and nowhere else"
        )
    del parsed.supported_interfaces[:]
    parsed.supported_interfaces.extend(ours)
    best = ClientFactory._find_best_interface(list(ours))
    if best is None:
        raise CatalogueUnreadable("it speaks no version of A2A from 0.3 on")
    return str(best.protocol_version)


def _origin(url: str) -> tuple[str, str, int | None]:
    try:
        parts: SplitResult = urlsplit(url)
        port = parts.port or PORTS.get(parts.scheme)
    except ValueError:
        return ("", "", None)
    is_plain = parts.username is None and parts.password is None
    return (parts.scheme, parts.hostname or "", port) if is_plain else ("", "", None)


def _brief(error: Exception) -> str:
    return " ".join(str(error).split())[:200] or type(error).__name__
