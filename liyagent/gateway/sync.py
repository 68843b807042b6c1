"""Read a server's catalogue: what its tools are called, take and say of themselves."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from django.db import transaction
from django.db.models.functions import Coalesce, Now

from liyagent.audit.record import record
from liyagent.core.canonical import digest
from liyagent.core.errors import NotFound
from liyagent.core.plain import NotStorable, json_bytes, to_plain
from liyagent.core.transactions import forbid_transaction
from liyagent.gateway import a2a, mcp, mcp_http
from liyagent.gateway.a2a_card import ASK, EFFECTS, TASKS, default_reader
from liyagent.gateway.approve import approved_form
from liyagent.gateway.contracts import address_from
from liyagent.gateway.local import LOCAL_TOOLS
from liyagent.gateway.mcp_session import CatalogueUnreadable
from liyagent.gateway.models import Tool, ToolServer, Transport
from liyagent.gateway.outcome import Effect

MOST_NAME = 200
# What every model step would be told, and every call be checked against.
MOST_DESCRIPTION = 32_000
SCHEMA_LIMIT_BYTES = 256 << 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Offered:
    """One entry of a catalogue. `effect` and `reader` are what our own code says of local tools and agents, else a write."""

    name: str
    description: str
    schema: dict[str, Any]
    hints: dict[str, Any]
    effect: Effect = Effect.WRITE
    reader: dict[str, Any] | None = None

    @property
    def fingerprint(self) -> str:
        """SHA-256 of what a model is shown: a change of it is a change of the tool."""
        return digest({"description": self.description, "schema": self.schema})


@dataclass(frozen=True, slots=True, kw_only=True)
class Synced:
    """What a reading found: tools that wait for approval, and those gone. `error`: nothing was changed."""

    server: str
    offered: tuple[str, ...] = ()
    to_approve: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()
    error: str = ""


def sync_server(server: ToolServer, *, actor: str) -> Synced:
    """Read the catalogue of `server` and keep it.

    The first reading approves what it shows: the operator who added the server asked for it. Later, a
    new tool and one whose schema or description changed wait for `approve_tool` (ruling 21). A
    catalogue that cannot be read leaves the last one as it is, with the error and since when. Raises
    `NotFound` where the server was removed meanwhile.
    """
    forbid_transaction(f"reading the catalogue of {server.key}")
    try:
        offered = read_catalogue(server)
    except CatalogueUnreadable as error:
        _keep_error(server, str(error))
        return Synced(server=server.key, error=str(error))
    with transaction.atomic(durable=True):
        return _keep(server, offered, actor=actor)


def read_catalogue(server: ToolServer) -> list[Offered]:
    """Return what `server` offers now. Raises `CatalogueUnreadable`."""
    if server.transport == Transport.LOCAL:
        return _local_catalogue(server.key)
    if server.transport == Transport.A2A:
        return agent_tools(server.key, a2a.list_tools(address_from(server)))
    return offered_in(server.key, mcp.list_tools(address_from(server)))


def agent_tools(key: str, listed: list[dict[str, Any]]) -> list[Offered]:
    """Return what an agent's card made, with what we know of our own tools. Raises `CatalogueUnreadable`."""
    offered = offered_in(key, listed)
    can_list = any(it.name == TASKS for it in offered)
    readers = {ASK: default_reader(key)} if can_list else {}
    return [replace(it, effect=EFFECTS[it.name], reader=readers.get(it.name)) for it in offered]


def offered_in(key: str, listed: list[dict[str, Any]]) -> list[Offered]:
    """Return the entries of a catalogue in its wire form. Raises `CatalogueUnreadable` for one that cannot be kept."""
    return list(_read(key, listed))


def _local_catalogue(key: str) -> list[Offered]:
    return [
        Offered(
            name=name.partition("/")[2],
            description=tool.description,
            schema=tool.schema,
            hints={},
            effect=tool.effect,
        )
        for name, tool in sorted(LOCAL_TOOLS.items())
        if name.startswith(f"{key}/")
    ]


def _read(key: str, listed: list[dict[str, Any]]) -> Iterator[Offered]:
    try:
        tools = to_plain(listed, limit_bytes=mcp_http.CATALOGUE_LIMIT_BYTES)
    except NotStorable as error:
        raise CatalogueUnreadable(f"{key}: its catalogue cannot be kept: {error}") from error
    seen: set[str] = set()
    for tool in tools:
        name = tool["name"]
        if not name or len(name) > MOST_NAME or name in seen:
            raise CatalogueUnreadable(
                f"{key}: a tool's name is empty, too long or there twice: {name[:80]!r}"
            )
        seen.add(name)
        _check_size(f"{key}/{name}", tool)
        yield Offered(
            name=name,
            description=tool.get("description") or "",
            schema=tool.get("inputSchema") or {},
            hints=tool.get("annotations") or {},
        )


def _check_size(name: str, tool: dict[str, Any]) -> None:
    described = len(tool.get("description") or "")
    if described > MOST_DESCRIPTION:
        raise CatalogueUnreadable(
            f"{name}: its description has {described} characters; {MOST_DESCRIPTION} is the most"
        )
    size = len(json_bytes(tool.get("inputSchema") or {}))
    if size > SCHEMA_LIMIT_BYTES:
        raise CatalogueUnreadable(
            f"{name}: its schema has {size} bytes; {SCHEMA_LIMIT_BYTES} is the most"
        )


def _keep_error(server: ToolServer, error: str) -> None:
    kept = ToolServer.objects.filter(pk=server.pk).update(
        catalogue_error=error, catalogue_error_since=Coalesce("catalogue_error_since", Now())
    )
    if not kept:
        raise _removed(server.key)


def _removed(key: str) -> NotFound:
    return NotFound(f"server {key} was removed while its catalogue was read; nothing was kept")


def _keep(read: ToolServer, offered: list[Offered], *, actor: str) -> Synced:
    server = ToolServer.objects.select_for_update().filter(pk=read.pk).first()
    if server is None:
        raise _removed(read.key)
    is_first = server.catalogue_read_at is None
    known = {tool.name: tool for tool in server.tools.all()}
    for entry in offered:
        _keep_tool(server, entry, known.get(entry.name), is_first=is_first)
    names = [entry.name for entry in offered]
    gone = server.tools.filter(is_offered=True).exclude(name__in=names)
    gone_names = tuple(gone.values_list("name", flat=True))
    gone.update(is_offered=False)
    ToolServer.objects.filter(pk=server.pk).update(
        catalogue_read_at=Now(), catalogue_error="", catalogue_error_since=None
    )
    waiting = [tool.name for tool in server.tools.filter(is_offered=True) if not tool.is_approved]
    record(
        "server.synced",
        actor=actor,
        detail={
            "server": server.key,
            "offered": names,
            "to_approve": waiting,
            "gone": list(gone_names),
        },
    )
    return Synced(
        server=server.key, offered=tuple(names), to_approve=tuple(waiting), gone=gone_names
    )


def _keep_tool(server: ToolServer, entry: Offered, tool: Tool | None, *, is_first: bool) -> None:
    told = {
        "description": entry.description,
        "schema": entry.schema,
        "hints": entry.hints,
        "fingerprint": entry.fingerprint,
        "is_offered": True,
    }
    if is_first:
        told["approved_fingerprint"] = entry.fingerprint
        told["approved"] = approved_form(entry.description, entry.schema)
    if tool is None:
        ours = {"effect": entry.effect, "reader": entry.reader}
        Tool.objects.create(server=server, name=entry.name, **ours, **told)
        return
    if is_first and tool.reader is None:
        told["reader"] = entry.reader
    Tool.objects.filter(pk=tool.pk).update(**told)
