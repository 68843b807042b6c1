"""Servers and tool contracts as an operator writes them down, read strictly: a slip is named by its path.

servers:
  - key: jira
    transport: http
    url: https://tools.example.com/mcp
    bearer_env: JIRA_TOOLS_TOKEN                # or, in its place:
    oauth: {token_url: https://id.example.com/token, client_id: liyagent, secret_env: JIRA_SECRET, scope: tools}
    vendor: jira
    tools:
      create_issue:
        effect: write
        key: {place: argument, field: step_key, window: 86400}
        reader: {tool: jira/find, args: {key: "{{ key }}"}, match: {records: issues, field: step_key}}
        timeout: 30
        limit: 1048576
  - key: git
    transport: stdio
    command: git                                # as LIYAGENT_COMMANDS_FILE registers it
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from liyagent.agents import sub_agents
from liyagent.core.addresses import WEB_ADDRESS, is_web_address
from liyagent.core.environment import OUR_OWN, is_secret_name
from liyagent.core.errors import BadInput
from liyagent.gateway.commands import NAME_WANTS, command_named, is_command_name
from liyagent.gateway.models import NAME_TAKEN, EffectChoice, KeyPlaceChoice, Transport
from liyagent.gateway.readers import read_reader
from liyagent.gateway.vendor_facts import known_vendors, vendor_facts

Check = Callable[[Any, str], Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerDeclaration:
    """One server: the columns of its row, and those of each tool's row by the tool's name."""

    key: str
    columns: dict[str, Any]
    tools: dict[str, dict[str, Any]]


def read_declarations(document: Any) -> list[ServerDeclaration]:
    """Return what a parsed YAML document declares. Raises `BadInput` with the path and what is wanted there."""
    servers = _object(document, "the file", {"servers"}).get("servers")
    if not isinstance(servers, list) or not servers:
        raise BadInput("servers: wants a list of at least one server")
    declared = [read_server(server, f"servers[{index}]") for index, server in enumerate(servers)]
    keys = [server.key for server in declared]
    if len(set(keys)) != len(keys):
        raise BadInput("servers: one key stands there twice")
    return declared


def read_contract(value: Any, path: str) -> dict[str, Any]:
    """Return the columns of a tool's row that a written contract sets. Raises `BadInput`."""
    written = _object(value or {}, path, {"key", *CONTRACT})
    columns = {
        column: check(written[name], f"{path}.{name}")
        for name, (column, check) in CONTRACT.items()
        if name in written
    }
    return columns | (_key(written["key"], f"{path}.key") if "key" in written else {})


def read_server(value: Any, path: str) -> ServerDeclaration:
    """Return what one written server declares. Raises `BadInput` with the path below `path`."""
    written = _object(value, path, {"key", "tools", "oauth", *SERVER})
    if "key" not in written:
        raise BadInput(f"{path}.key: is missing; it wants a short name of letters, digits, - and _")
    columns = {
        name: check(written[name], f"{path}.{name}")
        for name, check in SERVER.items()
        if name in written
    }
    if "oauth" in written:
        columns |= _oauth(written["oauth"], f"{path}.oauth")
    tools = written.get("tools") or {}
    if not isinstance(tools, dict):
        raise BadInput(f"{path}.tools: wants an object of tool names")
    contracts = {
        str(name): read_contract(tool, f"{path}.tools.{name}") for name, tool in tools.items()
    }
    key = _text(written["key"], f"{path}.key")
    if key == sub_agents.SERVER:
        raise BadInput(f"{path}.key: is {key!r}; {NAME_TAKEN}")
    return ServerDeclaration(key=key, columns=columns, tools=contracts)


def _oauth(value: Any, path: str) -> dict[str, str]:
    """The four columns; nothing written takes OAuth off the server."""
    written = _object(value or {}, path, set(OAUTH))
    missing = [name for name in OAUTH if name not in written and name != "scope"]
    if written and missing:
        raise BadInput(f"{path}.{missing[0]}: is missing; OAuth wants {', '.join(OAUTH)}")
    return {
        column: check(written.get(name, ""), f"{path}.{name}") if written else ""
        for name, (column, check) in OAUTH.items()
    }


def _key(value: Any, path: str) -> dict[str, Any]:
    written = _object(value or {}, path, {"place", "field", "window"})
    place = _one_of(KeyPlaceChoice.values)(written.get("place", "none"), f"{path}.place")
    return {
        "key_place": place,
        "key_field": _text(written.get("field", ""), f"{path}.field"),
        "key_window_seconds": _whole(written.get("window", 0), f"{path}.window"),
    }


def _object(value: Any, path: str, allowed: set[str]) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise BadInput(f"{path}: wants an object with {', '.join(sorted(allowed))}")
    for name in value:
        if name not in allowed:
            raise BadInput(f"{path}: does not know {name!r}; it wants {', '.join(sorted(allowed))}")
    return value


def _text(value: Any, path: str) -> str:
    if not isinstance(value, str):
        raise BadInput(f"{path}: is {value!r}; it wants text")
    return value


def _flag(value: Any, path: str) -> bool:
    if not isinstance(value, bool):
        raise BadInput(f"{path}: is {value!r}; it wants true or false")
    return value


def _whole(value: Any, path: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise BadInput(f"{path}: is {value!r}; it wants a whole number")
    return int(value)


def _seconds(value: Any, path: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not value > 0:
        raise BadInput(f"{path}: is {value!r}; it wants seconds above 0")
    return float(value)


def _one_of(values: list[str]) -> Check:
    def check(value: Any, path: str) -> str:
        if value not in values:
            raise BadInput(f"{path}: is {value!r}; it wants one of {', '.join(values)}")
        return str(value)

    return check


def _reader(value: Any, path: str) -> Any:
    try:
        read_reader(value)
    except BadInput as error:
        raise BadInput(f"{path}: {error}") from error
    return value


def _command(value: Any, path: str) -> str:
    """A registered name: one that this installation does not know could never be called."""
    name = _text(value, path)
    if name and not is_command_name(name):
        raise BadInput(f"{path}: is {name[:100]!r}; it wants {NAME_WANTS}")
    try:
        return command_named(name).name if name else ""
    except BadInput as error:
        raise BadInput(f"{path}: {error}") from error


def _vendor(value: Any, path: str) -> str:
    """An entry of the vendor facts: a name that nothing is known of would promise facts that are not there."""
    name = _text(value, path)
    if name and name not in vendor_facts():
        raise BadInput(f"{path}: is {name[:80]!r}; {known_vendors()}")
    return name


def _web_address(value: Any, path: str) -> str:
    text = _text(value, path)
    if not is_web_address(text):
        raise BadInput(f"{path}: is {text[:200]!r}; it wants {WEB_ADDRESS}")
    return text


def _secret_name(value: Any, path: str) -> str:
    name = _text(value, path)
    if not is_secret_name(name):
        raise BadInput(
            f"{path}: wants the name of an environment variable, never the secret itself, and none that "
            f"begins with {', '.join(OUR_OWN)}"
        )
    return name


def _undo(value: Any, path: str) -> Any:
    if value is not None and not isinstance(value, dict):
        raise BadInput(f"{path}: is {value!r}; it wants an object, or nothing")
    return value


SERVER: dict[str, Check] = {
    "name": _text,
    "transport": _one_of(Transport.values),
    "url": _text,
    "command": _command,
    "bearer_env": _text,
    "vendor": _vendor,
    "is_enabled": _flag,
}
OAUTH: dict[str, tuple[str, Check]] = {
    "token_url": ("oauth_token_url", _web_address),
    "client_id": ("oauth_client_id", _text),
    "secret_env": ("oauth_secret_env", _secret_name),
    "scope": ("oauth_scope", _text),
}
CONTRACT: dict[str, tuple[str, Check]] = {
    "effect": ("effect", _one_of(EffectChoice.values)),
    "reader": ("reader", _reader),
    "undo": ("undo", _undo),
    "permission": ("permission", _text),
    "timeout": ("timeout_seconds", _seconds),
    "limit": ("limit_bytes", _whole),
}
