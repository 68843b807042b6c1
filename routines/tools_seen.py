"""What the tools of a routine were when it was compiled, and which of them are another now: such a routine is stale."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from liyagent.agents.models import Agent
from liyagent.agents.sub_agents import SERVER
from liyagent.core.canonical import digest
from liyagent.gateway.models import Tool

GONE = ""


def tools_seen(names: Collection[str]) -> dict[str, str]:
    """Return the fingerprint of each of these tools (`server/tool`) as the catalogue has it, `GONE` where it is not offered.

    Over what a call depends on: schema, effect, where its key goes, and what it says it does.
    """
    wanted = {tuple(name.split("/", 1)) for name in names}
    servers, tools = {it[0] for it in wanted}, {it[-1] for it in wanted}
    rows = Tool.objects.filter(server__key__in=servers, name__in=tools, is_offered=True)
    found = {
        f"{it.server.key}/{it.name}": _fingerprint(it)
        for it in rows.filter(server__is_enabled=True).select_related("server")
    }
    if SERVER in servers:
        agents = Agent.objects.filter(key__in=tools, is_enabled=True).values_list("key", flat=True)
        found |= {f"{SERVER}/{key}": digest([SERVER, key]) for key in agents}
    return {name: found.get(name, GONE) for name in sorted(names)}


def changed_tools(seen: Mapping[str, str]) -> list[str]:
    """Return the tools that are not what they were when they were seen, or are not offered (any more)."""
    return changed_among([seen])[0]


def changed_among(of_each: Sequence[Mapping[str, str]]) -> list[list[str]]:
    """Return the same of each, in as many statements for many."""
    now = tools_seen({name for seen in of_each for name in seen})
    return [
        [name for name, was in sorted(seen.items()) if was == GONE or now[name] != was]
        for seen in of_each
    ]


def _fingerprint(tool: Tool) -> str:
    return digest(
        [tool.schema, tool.effect, [tool.key_place, tool.key_field], tool.description]
    )  # fmt: skip
