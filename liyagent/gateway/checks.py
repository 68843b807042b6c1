"""What `manage.py check --deploy` looks at: that calls can be judged, servers be started and hooks be asked."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import Any

from django.core import checks
from django.db import DatabaseError, connection

from liyagent.agents.checks import check_hooks
from liyagent.agents.sub_agents import SERVER
from liyagent.core.checks import TAG
from liyagent.core.errors import BadInput, BadSetting
from liyagent.gateway.commands import command_named
from liyagent.gateway.models import Policy, ToolServer, Transport
from liyagent.gateway.stale_undos import stale_undos

MOST_SERVERS = 1000
MOST_STALE = 20


@checks.register(TAG, deploy=True)
def check_gateway(**_: Any) -> Iterable[checks.CheckMessage]:
    """A policy is in force, and every command that an enabled server names is registered."""
    try:
        has_policy = Policy.objects.filter(is_active=True).exists()
        by_stdio = ToolServer.objects.filter(is_enabled=True, transport=Transport.STDIO)
        servers = list(by_stdio.order_by("key")[:MOST_SERVERS])
        is_name_taken = ToolServer.objects.filter(key=SERVER).exists()
    except DatabaseError:
        connection.close()
        return
    if not has_policy:
        yield checks.Warning(
            "no policy is in force, so every call is refused",
            hint="Load one: `manage.py policies load FILE`.",
            id="liyagent.W040",
        )
    if is_name_taken:
        yield checks.Error(
            f"server {SERVER} has the name that agents have as tools, so none of its tools is called",
            hint=f"Declare it under another key, then `manage.py servers remove {SERVER}`.",
            id="liyagent.E043",
        )
    for server in servers:
        try:
            command_named(server.command)
        except (BadInput, BadSetting) as error:
            yield checks.Error(
                f"server {server.key}: {error}",
                hint="Register the command in LIYAGENT_COMMANDS_FILE, or switch the server off.",
                id="liyagent.E041",
            )


@checks.register(TAG, deploy=True)
def check_agents(**_: Any) -> Iterable[checks.CheckMessage]:
    """What `serve` refuses at its start: an agent whose hook nothing registers."""
    try:
        check_hooks()
    except BadSetting as error:
        yield checks.Error(
            str(error),
            hint="Name its module in LIYAGENT_HOOK_MODULES, or take the hook off the agent.",
            id="liyagent.E042",
        )
    except DatabaseError:
        connection.close()


@checks.register(TAG, deploy=True)
def check_undos(**_: Any) -> Iterable[checks.CheckMessage]:
    """Every undo of an agent's map can still be made: what changed behind it is told before a run fails."""
    try:
        stale = list(islice(stale_undos(), MOST_STALE))
    except DatabaseError:
        connection.close()
        return
    for it in stale:
        yield checks.Warning(
            str(it),
            hint=f"Put the tool right, or the map: `PUT /api/agents/{it.agent}/compensations`.",
            id="liyagent.W044",
        )
