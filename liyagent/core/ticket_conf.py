"""The settings that let another ticket system take the place of ours: a tool of a server, and what it is called with."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from liyagent.core.errors import BadInput, BadSetting
from liyagent.core.plain import NotStorable, parse_json
from liyagent.core.templates import MissingPath, paths_of, render

TOOL, ARGS = "LIYAGENT_TICKET_TOOL", "LIYAGENT_TICKET_ARGS"
# A server's key, then the tool's name as its server tells it.
NAMED = re.compile(r"([A-Za-z0-9_-]{1,50})/([!-~]{1,200})")
FIELDS = ("subject", "body", "priority", "queue", "mission", "run_id", "source", "link")
# At least one of these has to be told, or nobody knows what the ticket is about.
TELLING = ("subject", "body")
LONGEST_ARGS = 20_000
EXAMPLE = '{"title": "{{ subject }}", "description": "{{ body }}"}'


@dataclass(frozen=True, slots=True, kw_only=True)
class TicketConf:
    """Which tool files tickets instead of us; `args` is its template over `FIELDS`, each of which is text."""

    server: str
    tool: str
    args: Mapping[str, Any]


def read_tickets(env: Mapping[str, str]) -> TicketConf | None:
    """Return it, None where tickets are filed here. Raises `BadSetting` naming what is wanted."""
    name, text = env.get(TOOL, "").strip(), env.get(ARGS, "").strip()
    if not name and not text:
        return None
    if not name:
        raise BadSetting(f"{TOOL} is not set; it wants server/tool, as {ARGS} is set")
    named = NAMED.fullmatch(name)
    if named is None:
        raise BadSetting(
            f"{TOOL} is {name[:80]!r}; it wants server/tool, such as jira/create_issue"
        )
    if not text:
        raise BadSetting(
            f"{ARGS} is not set; it wants a JSON object such as {EXAMPLE}, as {TOOL} is set"
        )
    return TicketConf(server=named[1], tool=named[2], args=_args(text))


def _args(text: str) -> dict[str, Any]:
    if len(text) > LONGEST_ARGS:
        raise BadSetting(f"{ARGS} has {len(text)} characters; it wants {LONGEST_ARGS} at most")
    try:
        args = parse_json(text)
    except NotStorable as error:
        raise BadSetting(f"{ARGS} is {error}; it wants a JSON object such as {EXAMPLE}") from None
    if not isinstance(args, dict) or not args:
        raise BadSetting(
            f"{ARGS} is no object with arguments in it; it wants one such as {EXAMPLE}"
        )
    try:
        render(args, dict.fromkeys(FIELDS, ""))
        paths = paths_of(args)
    except (MissingPath, BadInput) as error:
        raise BadSetting(f"{ARGS}: {error}; the fields are {', '.join(FIELDS)}") from None
    if not set(TELLING) & set(paths):
        raise BadSetting(
            f"{ARGS} names neither subject nor body; it wants one of them, as in {EXAMPLE}"
        )
    return args
