"""Agents from a document: a list `agents:` of definitions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from liyagent.agents.definitions import definition_of, save_checked
from liyagent.agents.fields import problems_of
from liyagent.agents.models import Agent
from liyagent.agents.sub_agents import SUB_AGENTS, named_in
from liyagent.core.errors import BadInput
from liyagent.core.files import Place, parse_yaml, read_text, yaml_lines
from liyagent.core.json_path import json_path

MOST_TOLD = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """What is wrong in a document, and the names that lead there."""

    place: Place
    said: str

    @property
    def path(self) -> str:
        """The place as people read it: `agents[1].max_steps`."""
        return json_path(self.place)[1:].lstrip(".")

    def __str__(self) -> str:
        """Path and what is wrong there."""
        return f"{self.path} {self.said}".strip()


def read_agents(document: Any) -> tuple[list[dict[str, Any]], list[Fault]]:
    """Return every definition of a parsed file with its defaults, and all that is wrong, in order."""
    is_listed = isinstance(document, dict) and isinstance(document.get("agents"), list)
    if not is_listed or set(document) != {"agents"}:
        said = "the document wants `agents:`, a list of agents, and nothing beside it"
        return [], [Fault(place=(), said=said)]
    definitions: list[dict[str, Any]] = []
    faults: list[Fault] = []
    seen: set[str] = set()
    for index, given in enumerate(document["agents"]):
        place: Place = ("agents", index)
        if not isinstance(given, dict):
            said = "wants an object with key, name, provider and model"
            faults.append(Fault(place=place, said=said))
            continue
        key = str(given.get("key"))
        if key in seen:
            said = f"is {key[:80]!r}, as of an agent before; each wants its own"
            faults.append(Fault(place=(*place, "key"), said=said))
        seen.add(key)
        definition, problems = problems_of(given)
        definitions.append(definition)
        faults += [Fault(place=(*place, *it), said=said) for it, said in problems.items()]
    return definitions, faults


def load_agents(document: Any, *, actor: str) -> list[Agent]:
    """Save every agent that a parsed file declares, all or none; return them.

    Raises `BadInput` with the path of each thing that is wrong and what was meant.
    """
    definitions, faults = read_agents(document)
    if faults:
        raise BadInput("; ".join(map(str, faults[:MOST_TOLD])))
    return save_checked(definitions, actor=actor)


def load_agents_file(path: str, *, actor: str) -> list[Agent]:
    """Save every agent of a YAML file, or none. Raises `BadInput` naming the file and each line first."""
    definitions, told = read_agents_file(path)
    if told:
        raise BadInput(f"{path}: {'; '.join(told)}")
    return save_checked(definitions, actor=actor)


def read_agents_file(path: str | Path) -> tuple[list[dict[str, Any]], list[str]]:
    """Return every definition of a YAML file, and what is wrong, each with line and path. Nothing is written.

    Raises `BadInput` naming the file where it cannot be read or is no YAML.
    """
    try:
        text = read_text(path)
        definitions, faults = read_agents(parse_yaml(text))
    except BadInput as error:
        raise BadInput(f"{path}: {error}") from error
    lines = yaml_lines(text) if faults else {}
    return definitions, [f"line {_line(it.place, lines)}: {it}" for it in faults[:MOST_TOLD]]


def missing_sub_agents(definitions: Sequence[dict[str, Any]]) -> list[str]:
    """Return a line for each agent that patterns name as one to hand work to and that is nowhere, at most 100."""
    named = {
        (it["key"], key) for it in definitions for key in named_in(it.get("tool_patterns", ()))
    }
    wanted = {key for _, key in named}
    there = {it["key"] for it in definitions}
    there |= set(Agent.objects.filter(key__in=wanted - there).values_list("key", flat=True))
    lost = sorted((by, key) for by, key in named if key not in there)
    return [
        f"{by} may hand work to {SUB_AGENTS}{key}, and there is no agent {key}"
        for by, key in lost[:MOST_TOLD]
    ]


def changes_of(definition: dict[str, Any]) -> list[str] | None:
    """Return the names of the fields that saving a full definition would change, None where the agent is new."""
    agent = Agent.objects.filter(key=definition["key"]).first()
    if agent is None:
        return None
    stands = definition_of(agent)
    return [name for name, value in definition.items() if stands.get(name) != value]


def _line(place: Place, lines: dict[Place, int]) -> int:
    """The line of a place, or, of what is missing, of what should hold it."""
    while place and place not in lines:
        place = place[:-1]
    return lines.get(place, 1)
