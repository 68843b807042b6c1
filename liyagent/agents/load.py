"""Agents from a document: a list `agents:` of definitions."""

from __future__ import annotations

from typing import Any

from liyagent.agents.definitions import save_agents
from liyagent.agents.models import Agent
from liyagent.core.errors import BadInput
from liyagent.core.files import parse_yaml, read_text


def load_agents(document: Any, *, actor: str) -> list[Agent]:
    """Save every agent that a parsed file declares, all or none; return them.

    Raises `BadInput` with the path of what is wrong and what was meant.
    """
    is_listed = isinstance(document, dict) and isinstance(document.get("agents"), list)
    if not is_listed or set(document) != {"agents"}:
        raise BadInput("the document wants `agents:`, a list of agents, and nothing beside it")
    definitions = []
    seen: set[str] = set()
    for index, definition in enumerate(document["agents"]):
        place = f"agents[{index}]"
        if not isinstance(definition, dict):
            raise BadInput(f"{place} wants an object with key, name, provider and model")
        key = str(definition.get("key"))
        if key in seen:
            raise BadInput(f"{place}.key is {key!r}, as of an agent before; each wants its own")
        seen.add(key)
        definitions.append((definition, f"{place}."))
    return save_agents(definitions, actor=actor)


def load_agents_file(path: str, *, actor: str) -> list[Agent]:
    """Save every agent of a YAML file, or none. Raises `BadInput` naming the file first."""
    try:
        return load_agents(parse_yaml(read_text(path)), actor=actor)
    except BadInput as error:
        raise BadInput(f"{path}: {error}") from error
