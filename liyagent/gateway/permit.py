"""Permit an agent some tools: one policy more in the set in force, as a new version of it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fnmatch import fnmatchcase

from django.db import transaction

from liyagent.agents.errors import AgentUnknown
from liyagent.agents.models import Agent
from liyagent.agents.sub_agents import SERVER, SUB_AGENTS
from liyagent.core.errors import BadInput, NotFound
from liyagent.gateway.approve import find_tool
from liyagent.gateway.models import Policy, Tool
from liyagent.gateway.policies import check_policies
from liyagent.gateway.policy_versions import add_policy, put_into_force, take_turn
from liyagent.gateway.servers import find_server

FIRST_SET = "main"
# Calls by hand are judged under this name, which is no agent's.
BY_HAND = "inspector"
ANY = "*"
MOST_TOOLS = 200
WILD = re.compile(r"[*?\[]")
READS_ONLY = 'context.effect == "read"'


@dataclass(frozen=True, slots=True, kw_only=True)
class Permitted:
    """The policy `added` and the version it is in force with; where it stood there already, nothing was added."""

    policy: Policy
    added: str
    is_new: bool


def permit(agent: str, pattern: str, *, reads_only: bool, actor: str, note: str = "") -> Permitted:
    """Permit an agent the tools of a pattern: `server/tool`, `server/*`, `*`, or `server/get_*` as offered now;
    `agents/<key>` and `agents/*` for work handed to other agents.

    The set in force gets the policy as its next version; where none is, the set `main` begins with it. Raises
    `AgentUnknown`, `NotFound` for a server or tool, `BadInput`.
    """
    if agent != BY_HAND and not Agent.objects.filter(key=agent).exists():
        raise AgentUnknown(f"there is no agent {agent[:80]!r}")
    statement = _statement(agent, pattern, reads_only=reads_only)
    with transaction.atomic(durable=True):
        take_turn()
        active = Policy.objects.filter(is_active=True).first()
        if active is not None and statement in active.text:
            return Permitted(policy=active, added=statement, is_new=False)
        name = active.name if active is not None else FIRST_SET
        text = (
            f"{active.text.rstrip()}\n\n{statement}\n" if active is not None else f"{statement}\n"
        )
        check_policies(text)
        told = note or f"permit {agent} {pattern}{' --reads-only' if reads_only else ''}"
        policy = add_policy(text, name=name, actor=actor, note=told[:500])
        put_into_force(policy, actor=actor)
    return Permitted(policy=policy, added=statement, is_new=True)


def _statement(agent: str, pattern: str, *, reads_only: bool) -> str:
    resource, condition = _resource(pattern)
    conditions = [*([condition] if condition else []), *([READS_ONLY] if reads_only else [])]
    head = f'permit (principal == Agent::{_quoted(agent)}, action == Action::"call", {resource})'
    when = f"\nwhen {{ {' && '.join(conditions)} }}" if conditions else ""
    name = f"permit-{agent}-{_slug(pattern)}{'-reads' if reads_only else ''}"
    return f'@id("{name}")\n{head}{when};'


def _resource(pattern: str) -> tuple[str, str]:
    """What stands in the policy's head, and the condition where a head cannot say it."""
    if pattern == ANY:
        return "resource", ""
    server, _, tool = pattern.partition("/")
    if not server or not tool:
        raise BadInput(f"{pattern[:80]!r} is no pattern; it wants server/tool, server/* or *")
    if server == SERVER:
        return _sub_agents(tool), ""
    if tool == ANY and not WILD.search(server):
        return f"resource in Server::{_quoted(find_server(server).key)}", ""
    if not WILD.search(pattern):
        return f"resource == Tool::{_quoted(str(find_tool(pattern)))}", ""
    named = ", ".join(f"Tool::{_quoted(name)}" for name in _matching(pattern))
    return "resource", f"resource in [{named}]"


def _sub_agents(key: str) -> str:
    """Whom work may be handed to: one agent, or any."""
    if key == ANY:
        return f"resource in Server::{_quoted(SERVER)}"
    if WILD.search(key) or not Agent.objects.filter(key=key).exists():
        raise AgentUnknown(f"there is no agent {key[:80]!r} to hand work to")
    return f"resource == Tool::{_quoted(f'{SUB_AGENTS}{key}')}"


def _matching(pattern: str) -> list[str]:
    tools = (
        Tool.objects.filter(is_offered=True)
        .select_related("server")
        .order_by("server__key", "name")
    )
    names = [str(tool) for tool in tools.iterator() if fnmatchcase(str(tool), pattern)]
    if not names:
        raise NotFound(
            f"no tool matches {pattern[:80]!r}; `manage.py tools list` shows those there are"
        )
    if len(names) > MOST_TOOLS:
        raise BadInput(
            f"{pattern[:80]!r} matches {len(names)} tools; {MOST_TOOLS} is the most, or permit server/*"
        )
    return names


def _quoted(name: str) -> str:
    """A name as Cedar writes a string."""
    if not name.isprintable():
        raise BadInput(f"{name[:80]!r} cannot be named in a policy")
    escaped = name.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _slug(pattern: str) -> str:
    """Letters and digits stay; each other sign is told apart, so that two patterns have two ids."""
    named = {"/": "-", "*": "any", "-": "-", "_": "_", ".": "."}
    return "".join(
        sign if sign.isascii() and sign.isalnum() else named.get(sign, f"u{ord(sign):x}")
        for sign in pattern
    )
