"""The contracts that calls are made under, and the addresses of their servers, by configuration version."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass

from liyagent.agents.models import ConfigVersion
from liyagent.agents.sub_agents import SERVER
from liyagent.core.errors import BadInput
from liyagent.gateway.gates.allow_list import is_allowed
from liyagent.gateway.models import KEY_PLACES, MCP_PLACES, Tool, ToolServer
from liyagent.gateway.oauth import Credentials
from liyagent.gateway.outcome import Contract, Effect, KeyPlace, Reader
from liyagent.gateway.readers import read_reader
from liyagent.gateway.sub_agents import sub_agent_contracts
from liyagent.gateway.versioned import ByVersion

logger = logging.getLogger(__name__)

MOST_PATTERN_SETS = 256
# `*` is all tools, and names no agent.
EVERY_TOOL = ("*", "agents/*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """Where an enabled server is reached: a URL, or the registered name of a command.

    The token is read from `bearer_env` when a session opens, or fetched with `oauth`.
    """

    server: str
    transport: str
    url: str = ""
    command: str = ""
    bearer_env: str = ""
    oauth: Credentials | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Catalogue:
    """Every enabled server and offered tool at one configuration version."""

    addresses: dict[str, Address]
    contracts: dict[str, Contract]
    chosen: dict[tuple[str, ...], dict[str, Contract]]


def contracts_for(patterns: Sequence[str], *, version: int) -> dict[str, Contract]:
    """Return the contracts by `server/tool` that `patterns` let in: enabled servers, offered tools.

    Read once per configuration version. Do not change what is returned: others hold it too.
    """
    catalogue = _catalogues.at(version)
    key = tuple(patterns)
    chosen = catalogue.chosen.get(key)
    if chosen is None:
        chosen = {name: it for name, it in catalogue.contracts.items() if is_allowed(name, key)}
        if len(catalogue.chosen) < MOST_PATTERN_SETS:
            catalogue.chosen[key] = chosen
    return chosen


def address_of(server: str) -> Address | None:
    """Return where `server` is reached as of the newest version this process has seen; None if it is not."""
    catalogue = _catalogues.newest()
    if catalogue is None:
        catalogue = _catalogues.at(ConfigVersion.objects.values_list("version", flat=True).get())
    return catalogue.addresses.get(server)


def address_from(server: ToolServer) -> Address:
    """Return where a row says that its server is reached."""
    oauth = Credentials(
        token_url=server.oauth_token_url,
        client_id=server.oauth_client_id,
        secret_env=server.oauth_secret_env,
        scope=server.oauth_scope,
    )
    return Address(
        server=server.key,
        transport=server.transport,
        url=server.url,
        command=server.command,
        bearer_env=server.bearer_env,
        oauth=oauth if oauth.token_url else None,
    )


def forget_contracts() -> None:
    """Drop what was read: for a process that changed databases."""
    _catalogues.forget()


def contract_of(tool: Tool) -> Contract:
    """Return the contract that a row holds; its server is read with it."""
    return Contract(
        server=tool.server.key,
        tool=tool.name,
        effect=Effect(tool.effect),
        key_place=KeyPlace(tool.key_place),
        key_field=tool.key_field,
        key_window_seconds=_window(tool),
        reader=_reader(tool),
        undo=tool.undo,
        permission=tool.permission,
        timeout_seconds=tool.timeout_seconds,
        limit_bytes=tool.limit_bytes,
        schema=tool.schema,
        description=tool.description,
        changed_since_approved=not tool.is_approved,
    )


def _window(tool: Tool) -> int:
    """None where the key has no such place: a contract kept before its server was reached in another way."""
    is_placed = tool.key_place in KEY_PLACES.get(tool.server.transport, MCP_PLACES)
    return tool.key_window_seconds if is_placed else 0


def _reader(tool: Tool) -> Reader | None:
    try:
        return read_reader(tool.reader)
    except BadInput as error:
        # Without a reader a write in doubt is told as unknown: less, but never wrong.
        logger.warning("the reader of %s is not used: %s", tool, error)
        return None


def _load(_version: int) -> Catalogue:
    addresses = {
        server.key: address_from(server)
        for server in ToolServer.objects.filter(is_enabled=True).exclude(key=SERVER)
    }
    tools = Tool.objects.filter(is_offered=True, server__is_enabled=True).select_related("server")
    # A server of that name, kept before agents were tools, is nobody's to call.
    tools = tools.exclude(server__key=SERVER)
    contracts = {str(tool): contract_of(tool) for tool in tools.order_by("server__key", "name")}
    return Catalogue(
        addresses=addresses, contracts={**contracts, **sub_agent_contracts()}, chosen={}
    )


_catalogues = ByVersion(_load)
