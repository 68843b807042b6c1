"""Whether the undos that an agent's map names are there, may be used and take what they are given (SG-02)."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from difflib import get_close_matches
from itertools import islice
from typing import Any

from liyagent.agents.compensations import NAMES, Problem, clean_compensations, undo_tool
from liyagent.agents.models import Agent
from liyagent.agents.sub_agents import SERVER
from liyagent.gateway.gates.allow_list import is_allowed
from liyagent.gateway.models import Tool, ToolServer
from liyagent.gateway.outcome import Effect
from liyagent.gateway.undo_args import Fitting

MOST_NAMED = 20
# Of a server's tools so many are compared with a name that is none of them.
MOST_COMPARED = 500
MOST_SUGGESTED = 20
MOST_LOOKED_THROUGH = 1000

Standing = tuple[Mapping[str, Any], Sequence[str]]
NOTHING: Standing = ({}, ())


def map_problems(definition: Mapping[str, Any], is_whole: bool) -> Iterator[Problem]:
    """Yield what is wrong with the map of an agent's definition, by its place in the map.

    The write and its undo have to be tools that a server which is switched on offers and that the agent's patterns let
    in; both are writes, and the undo takes the arguments that it is given. An undo that stands as it is is looked up
    again only where the agent's patterns change, and then for that alone; with `is_whole` all are.
    """
    undos, patterns = definition["compensations"], definition["tool_patterns"]
    standing, before = NOTHING if is_whole else _standing(definition["key"])
    new = {name: undo for name, undo in undos.items() if is_whole or standing.get(name) != undo}
    is_moved = list(before) != list(patterns)
    tools = _tools({it for name, undo in new.items() for it in (name, _target(name, undo))})
    fitting = Fitting()
    for name, undo in undos.items():
        if name in new:
            yield from _of_undo(name, undo, patterns, tools, fitting)
        elif is_moved:
            yield from _not_permitted((name,), name, patterns)
            yield from _not_permitted((name, "tool"), _target(name, undo), patterns)


def suggest_undos(patterns: Sequence[str]) -> dict[str, Any]:
    """Return, by tool, the undos that the contracts of offered tools name and that these patterns let in."""
    rows = Tool.objects.filter(is_offered=True, server__is_enabled=True, undo__isnull=False)
    rows = rows.exclude(undo={}).select_related("server").only("name", "undo", "server__key")
    found = rows.order_by("server__key", "name")[:MOST_LOOKED_THROUGH]
    named: list[tuple[str, dict[str, Any]]] = [(str(it), it.undo or {}) for it in found]
    fit = ((name, undo) for name, undo in named if _can_be(name, undo, patterns))
    return {
        name: {part: undo[part] for part in NAMES if part in undo}
        for name, undo in islice(fit, MOST_SUGGESTED)
    }


def _can_be(name: str, undo: Any, patterns: Sequence[str]) -> bool:
    try:
        clean_compensations({name: undo})
    except ValueError:
        return False
    return is_allowed(name, patterns) and is_allowed(_target(name, undo), patterns)


def _standing(key: str) -> Standing:
    rows = Agent.objects.filter(key=key).values_list("compensations", "tool_patterns")
    row: Standing | None = rows.first()
    return row if row is not None else NOTHING


def _target(name: str, undo: Mapping[str, Any]) -> str:
    return "/".join(undo_tool(undo, name.partition("/")[0]))


def _tools(names: Collection[str]) -> dict[str, Tool]:
    """The tools there are of these names, with what is wrong of their servers."""
    servers = {it.partition("/")[0] for it in names}
    rows = Tool.objects.filter(
        server__key__in=servers, name__in={it.partition("/")[2] for it in names}
    )
    found = rows.select_related("server").defer("description", "hints", "approved")
    return {str(it): it for it in found if str(it) in names}


def _of_undo(
    name: str,
    undo: Mapping[str, Any],
    patterns: Sequence[str],
    tools: Mapping[str, Tool],
    fitting: Fitting,
) -> Iterator[Problem]:
    yield from _of_tool((name,), name, patterns, tools)
    target = _target(name, undo)
    problems = list(_of_tool((name, "tool"), target, patterns, tools))
    yield from problems
    if target in tools and not problems:
        for place, said in fitting.problems(undo.get("args", {}), tools[target]):
            yield (name, "args", *place), said


def _of_tool(
    place: tuple[str, ...], name: str, patterns: Sequence[str], tools: Mapping[str, Tool]
) -> Iterator[Problem]:
    tool = tools.get(name)
    if name.partition("/")[0] == SERVER:
        yield place, f"is {name}: work handed to an agent, whose own map undoes what it writes"
    elif tool is None:
        yield place, f"is {name}: there is no such tool{_near(name)}"
    elif not tool.server.is_enabled:
        yield place, f"is {name}, whose server is switched off"
    elif not tool.is_offered:
        yield place, f"is {name}, which its server does not offer any more"
    elif tool.effect == Effect.READ.value:
        yield place, f"is {name}, which is a read by its contract; a write is wanted"
    else:
        yield from _not_permitted(place, name, patterns)


def _not_permitted(place: tuple[str, ...], name: str, patterns: Sequence[str]) -> Iterator[Problem]:
    if not is_allowed(name, patterns):
        told = ", ".join(patterns[:MOST_NAMED]) or "none"
        yield place, f"is {name}, which the agent may not use; its tools are {told}"


def _near(name: str) -> str:
    """What there is in place of a name that is none."""
    server, _, tool = name.partition("/")
    rows = Tool.objects.filter(server__key=server, is_offered=True).order_by("name")
    names = list(rows.values_list("name", flat=True)[:MOST_COMPARED])
    if names:
        near = get_close_matches(tool, names, n=3) or names[:MOST_NAMED]
        has = "has" if len(near) == len(names) else "has among others"
        return f"; server {server} {has} {', '.join(near)}"
    keys = ToolServer.objects.order_by("key").values_list("key", flat=True)[:MOST_NAMED]
    return f"; the servers are {', '.join(keys)}" if keys else "; there is no server yet"
