"""Whether what a definition names is there, and the agent that it belongs to may use it.

Whether it still may when the step comes is for the gates to say: this spares whoever writes a definition to learn it
from a run that failed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from liyagent.agents.models import Agent
from liyagent.agents.sub_agents import SERVER, SUB_AGENTS
from liyagent.gateway.gates.allow_list import is_allowed
from liyagent.gateway.models import Tool, ToolServer
from liyagent.gateway.undo_args import Fitting
from liyagent.workflows.told import MOST_NAMED, Problem, at, named, shown

# Of a server's tools so many are compared with a name that is none of them.
MOST_COMPARED = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class _Use:
    """A tool that a definition names: `path` is where its name stands, `args_path` where what it is called with does."""

    path: str
    server_path: str
    args_path: str
    server: str
    tool: str
    args: Mapping[str, Any]

    @property
    def name(self) -> str:
        return f"{self.server}/{self.tool}"


def world_problems(definition: Mapping[str, Any], agent: Agent) -> list[Problem]:
    """Return what a checked definition (`check_definition`) names that is not there or that `agent` may not use.

    Each tool of a step and of a `compensate` has to be offered by a server that is switched on, each agent of a step has
    to be there, and the agent's tool patterns have to let it in; a tool has to take the arguments by their names, and those
    that are no template as they are. In the definition's order. Reads the database, changes nothing.
    """
    steps = list(walk(definition))
    uses = [it for path, step in steps for it in _uses(step, path)]
    servers = dict(
        ToolServer.objects.filter(key__in={it.server for it in uses}).values_list("key", "is_enabled")
    )  # fmt: skip
    named_tools = Tool.objects.filter(server__key__in=servers, name__in={it.tool for it in uses})
    tools = {f"{it.server.key}/{it.name}": it for it in named_tools.select_related("server")}
    fitting = Fitting()
    asked = {step["agent"] for _, step in steps if step["type"] == "agent"}
    agents = set(Agent.objects.filter(key__in=asked).values_list("key", flat=True))
    problems: list[Problem] = []
    for path, step in steps:
        if step["type"] == "agent":
            problems += _agent_problems(step["agent"], f"{path}.agent", agent, agents)
        for use in _uses(step, path):
            found = list(_tool_problems(use, agent, servers, tools))
            problems += found or _args_problems(use, tools[use.name], fitting)
    return [*dict.fromkeys(problems)]


def walk(definition: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield each step of a checked definition with its JSON path, those of branches behind the step they belong to."""
    yield from _walk(definition["steps"], "$.steps")


def _walk(steps: Sequence[Mapping[str, Any]], path: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for number, step in enumerate(steps):
        yield f"{path}[{number}]", step
        for name, inner in step.get("branches", {}).items():
            yield from _walk(inner, at(f"{path}[{number}].branches", name))


def _uses(step: Mapping[str, Any], path: str) -> Iterator[_Use]:
    if step["type"] != "tool":
        return
    server = step["server"]
    yield _Use(
        path=f"{path}.tool",
        server_path=f"{path}.server",
        args_path=f"{path}.args",
        server=server,
        tool=step["tool"],
        args=step.get("args", {}),
    )
    undo = step.get("compensate")
    if undo is not None:
        where = f"{path}.compensate"
        yield _Use(
            path=f"{where}.tool",
            server_path=f"{where}.server" if "server" in undo else f"{path}.server",
            args_path=f"{where}.args",
            server=undo.get("server", server),
            tool=undo["tool"],
            args=undo.get("args", {}),
        )


def _agent_problems(
    key: str, path: str, agent: Agent, agents: Collection[str]
) -> Iterator[Problem]:
    if key not in agents:
        yield path, f"is {shown(key)}; there is no agent of this key"
    # It may ask its own agent (RT-03), which so gets nothing that it has not.
    elif key != agent.key and not is_allowed(f"{SUB_AGENTS}{key}", agent.tool_patterns):
        yield path, _not_allowed(f"{SUB_AGENTS}{key}", agent)


def _tool_problems(
    use: _Use, agent: Agent, servers: Mapping[str, bool], tools: Mapping[str, Tool]
) -> Iterator[Problem]:
    if use.server == SERVER:
        yield use.server_path, f"is {shown(SERVER)}; agents are asked by a step of type agent"
    elif use.server not in servers:
        yield use.server_path, f"is {shown(use.server)}; there is no such tool server{_servers()}"
    elif not servers[use.server]:
        yield use.server_path, f"is {shown(use.server)}, which is switched off"
    elif use.name not in tools:
        yield use.path, f"is {shown(use.tool)}; server {use.server} has no such tool{_near(use)}"
    elif not tools[use.name].is_offered:
        yield use.path, f"is {shown(use.tool)}, which server {use.server} does not offer any more"
    elif not is_allowed(use.name, agent.tool_patterns):
        yield use.path, _not_allowed(use.name, agent)


def _args_problems(use: _Use, tool: Tool, fitting: Fitting) -> Iterator[Problem]:
    for place, said in fitting.problems(dict(use.args), tool):
        path = use.args_path
        for name in place:
            path = at(path, name)
        yield path, said


def _not_allowed(name: str, agent: Agent) -> str:
    return f"is {name}, which agent {agent.key} may not use; its tools are {named(agent.tool_patterns) or 'none'}"


def _servers() -> str:
    keys = ToolServer.objects.order_by("key").values_list("key", flat=True)[:MOST_NAMED]
    return f"; there are: {', '.join(keys)}" if keys else ""


def _near(use: _Use) -> str:
    rows = Tool.objects.filter(server__key=use.server, is_offered=True).order_by("name")
    names = list(rows.values_list("name", flat=True)[:MOST_COMPARED])
    near = get_close_matches(use.tool, names, n=3) or names[:MOST_NAMED]
    has = "it has" if len(near) == len(names) else "it has among others"
    return f"; {has}: {', '.join(near)}" if near else ""
