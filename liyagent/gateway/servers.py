"""Keep servers and contracts: from a file, or one by one."""

from __future__ import annotations

from typing import Any

from django.core.exceptions import ValidationError
from django.db import IntegrityError, models, transaction

from liyagent.audit.record import record
from liyagent.core.errors import BadInput, Conflict, NotFound
from liyagent.gateway.declare import ServerDeclaration, read_declarations
from liyagent.gateway.models import Tool, ToolServer
from liyagent.gateway.needed import needs_of

MOST_NAMED = 20


def find_server(key: str, *, is_locked: bool = False) -> ToolServer:
    """Return the server called `key`, its row locked if asked. Raises `NotFound` that names those there are."""
    servers = ToolServer.objects.select_for_update() if is_locked else ToolServer.objects.all()
    server = servers.filter(key=key).first()
    if server is None:
        raise NotFound(f"there is no server {key[:80]!r}; there are: {_known()}")
    return server


def _known() -> str:
    keys = list(ToolServer.objects.values_list("key", flat=True)[: MOST_NAMED + 1])
    more = ", ..." if len(keys) > MOST_NAMED else ""
    return f"{', '.join(keys[:MOST_NAMED])}{more}" if keys else "none yet"


def load_servers(document: Any, *, actor: str) -> list[ToolServer]:
    """Keep every server and contract that a parsed file declares, all or none; return the servers.

    What the file does not name stays as it is. Raises `BadInput` with the path of what is wrong, `Conflict`
    where another change came in between.
    """
    declared = read_declarations(document)
    paths = {f"servers[{index}]": one for index, one in enumerate(declared)}
    return _save_all(paths, actor=actor)


def save_server(declared: ServerDeclaration, *, actor: str) -> ToolServer:
    """Keep one declared server with its contracts and return it. Raises as `load_servers` does."""
    return _save_all({"server": declared}, actor=actor)[0]


def switch_server(key: str, *, to_enabled: bool, actor: str) -> ToolServer:
    """Let calls reach the server, or not, from each run's next statement on; return it. Raises `NotFound`."""
    with transaction.atomic(durable=True):
        server = find_server(key, is_locked=True)
        if server.is_enabled != to_enabled:
            server.is_enabled = to_enabled
            server.save(update_fields=["is_enabled"])
            action = "server.enabled" if to_enabled else "server.disabled"
            record(action, actor=actor, detail={"server": key})
    return server


def set_contract(tool: Tool, columns: dict[str, Any], *, actor: str) -> dict[str, tuple[Any, Any]]:
    """Change the contract of one tool; return what each column that changed was and is.

    Raises `BadInput` where it does not hold together, `NotFound` where the tool is gone.
    """
    with transaction.atomic(durable=True):
        locked = Tool.objects.select_for_update(of=("self",)).select_related("server")
        row = locked.filter(pk=tool.pk).first()
        if row is None:
            raise NotFound(f"{tool} is gone: its server was removed meanwhile")
        before = {column: getattr(row, column) for column in columns}
        _save(row, columns, str(row))
        record("tool.set", actor=actor, detail={"tool": str(row), "set": columns})
    return {
        column: (old, columns[column]) for column, old in before.items() if old != columns[column]
    }


def remove_server(key: str, *, actor: str) -> tuple[str, ...]:
    """Forget the server called `key` with its tools and their contracts; return what is lost with it.

    Raises `NotFound`, and `Conflict` while a write of a run is in doubt at it: by its contract alone that
    could be sent again or read back.
    """
    with transaction.atomic(durable=True):
        server = find_server(key, is_locked=True)
        needs = needs_of(key)
        if blocks := [need.blocks for need in needs if need.blocks]:
            raise Conflict(f"{key} is not removed: {'; '.join(blocks)}")
        lost = tuple(need.loses for need in needs if need.loses)
        tools = [tool.name for tool in server.tools.all()]
        server.delete()
        detail = {"server": key, "tools": tools, "lost": list(lost)}
        record("server.removed", actor=actor, detail=detail)
    return lost


def _save_all(declared: dict[str, ServerDeclaration], *, actor: str) -> list[ToolServer]:
    try:
        with transaction.atomic(durable=True):
            return [_save_server(one, path, actor=actor) for path, one in declared.items()]
    except IntegrityError as error:
        raise Conflict(
            "another change of the same servers was kept meanwhile; look and try again"
        ) from error


def _save_server(declared: ServerDeclaration, path: str, *, actor: str) -> ToolServer:
    # Locked, so that a removal comes before all of it or after.
    found = ToolServer.objects.select_for_update().filter(key=declared.key).first()
    server = found or ToolServer(key=declared.key)
    _save(server, declared.columns, path)
    for name, columns in declared.tools.items():
        tool = Tool.objects.filter(server=server, name=name).first()
        # Until its server's catalogue names it, nobody is offered it.
        _save(
            tool or Tool(server=server, name=name, is_offered=False),
            columns,
            f"{path}.tools.{name}",
        )
    detail = {"server": server.key, "set": declared.columns, "tools": declared.tools}
    record("server.saved", actor=actor, detail=detail)
    return server


def _save(row: models.Model, columns: dict[str, Any], path: str) -> None:
    for column, value in columns.items():
        setattr(row, column, value)
    try:
        row.full_clean()
    except ValidationError as error:
        raise BadInput(f"{path}: {_described(error)}") from error
    row.save(update_fields=[*columns] if row.pk else None)


def _described(error: ValidationError) -> str:
    by_field = error.message_dict
    return "; ".join(
        text if field == "__all__" else f"{field}: {text}"
        for field, texts in by_field.items()
        for text in texts
    )
