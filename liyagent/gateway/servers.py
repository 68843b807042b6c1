"""Keep servers and contracts: from a file, or one by one."""

from __future__ import annotations

from typing import Any

from django.core.exceptions import ValidationError
from django.db import models, transaction

from liyagent.audit.record import record
from liyagent.core.errors import BadInput, NotFound
from liyagent.gateway.declare import ServerDeclaration, read_declarations
from liyagent.gateway.models import Tool, ToolServer


def find_server(key: str, *, is_locked: bool = False) -> ToolServer:
    """Return the server called `key`, its row locked if asked. Raises `NotFound` that names those there are."""
    servers = ToolServer.objects.select_for_update() if is_locked else ToolServer.objects.all()
    server = servers.filter(key=key).first()
    if server is None:
        known = ", ".join(ToolServer.objects.values_list("key", flat=True)) or "none yet"
        raise NotFound(f"there is no server {key!r}; there are: {known}")
    return server


def load_servers(document: Any, *, actor: str) -> list[ToolServer]:
    """Keep every server and contract that a parsed file declares, all or none; return the servers.

    What the file does not name stays as it is. Raises `BadInput` with the path of what is wrong.
    """
    declared = read_declarations(document)
    with transaction.atomic(durable=True):
        return [
            _save_server(one, f"servers[{index}]", actor=actor)
            for index, one in enumerate(declared)
        ]


def set_contract(tool: Tool, columns: dict[str, Any], *, actor: str) -> dict[str, tuple[Any, Any]]:
    """Change the contract of one tool; return what each column that changed was and is.

    Raises `BadInput` where it does not hold together.
    """
    with transaction.atomic(durable=True):
        locked = Tool.objects.select_for_update(of=("self",)).select_related("server")
        row = locked.get(pk=tool.pk)
        before = {column: getattr(row, column) for column in columns}
        _save(row, columns, str(row))
        record("tool.set", actor=actor, detail={"tool": str(row), "set": columns})
    return {
        column: (old, columns[column]) for column, old in before.items() if old != columns[column]
    }


def remove_server(key: str, *, actor: str) -> None:
    """Forget the server called `key` with its tools and their contracts. Raises `NotFound`."""
    with transaction.atomic(durable=True):
        server = find_server(key, is_locked=True)
        tools = [tool.name for tool in server.tools.all()]
        server.delete()
        record("server.removed", actor=actor, detail={"server": key, "tools": tools})


def _save_server(declared: ServerDeclaration, path: str, *, actor: str) -> ToolServer:
    found = ToolServer.objects.filter(key=declared.key).first()
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
