"""Agents from a YAML file: a list `agents:` of definitions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from liyagent.agents.definitions import save_agents
from liyagent.agents.models import Agent
from liyagent.core.errors import BadInput


def load_agents(path: str, *, actor: str) -> list[Agent]:
    """Save every agent of a file, or none. Raises `BadInput` naming the file, the place and what was meant."""
    listed = _listed(path)
    definitions = []
    seen: set[str] = set()
    for index, definition in enumerate(listed):
        place = f"{path}: agents[{index}]"
        if not isinstance(definition, dict):
            raise BadInput(f"{place} wants an object with key, name, provider and model")
        key = str(definition.get("key"))
        if key in seen:
            raise BadInput(f"{place}.key is {key!r}, as of an agent before; each wants its own")
        seen.add(key)
        definitions.append((definition, f"{place}."))
    return save_agents(definitions, actor=actor)


def _listed(path: str) -> list[Any]:
    try:
        content = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"{path}: cannot be read: {error}") from error
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        told = " ".join(str(error).split())
        raise BadInput(f"{path}: is no YAML: {told}") from error
    if (
        not isinstance(content, dict)
        or set(content) != {"agents"}
        or not isinstance(content["agents"], list)
    ):
        raise BadInput(f"{path}: wants `agents:`, a list of agents, and nothing beside it")
    return content["agents"]
