"""Workflows from a file: a list `workflows:`, each with key, name, agent, definition and, where it is off, is_enabled."""

from __future__ import annotations

import re
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

import yaml
from rest_framework.exceptions import ParseError

from liyagent.core.bodies import StrictJSONParser
from liyagent.core.errors import BadInput
from liyagent.core.files import Place, parse_yaml, read_text, yaml_lines
from liyagent.core.problems import BodyTooLarge
from liyagent.core.tables import cell
from liyagent.workflows.errors import DefinitionWrong
from liyagent.workflows.models import Workflow
from liyagent.workflows.save import checked, save_all
from liyagent.workflows.told import Problem

MOST_TOLD = 200
SHAPE = "the document wants `workflows:`, a list, and nothing beside it"
ORDER = (
    "id", "type", "when", "server", "tool", "agent", "task", "args", "seconds", "until", "signal", "question", "values", "input",
    "branches", "cases", "steps", "next", "else", "retry", "timeout", "on_error", "fallback", "compensate", "output",
    "max_steps", "on_failure",
)  # fmt: skip
# The parts of a JSON path as `shape.at` writes it.
PART = re.compile(r'\.([A-Za-z0-9_$-]+)|\[(\d+)\]|\["((?:[^"\\]|\\.)*)"\]')


def read_workflows_file(path: str | Path) -> tuple[list[dict[str, Any]], list[str]]:
    """Return every workflow of a YAML (or JSON) file, and a line for each thing that is wrong. Nothing is written.

    A line names the file, the line in it, the workflow, the JSON path in its definition (or the field), what was found and
    what was meant. Raises `BadInput` naming the file where it cannot be read or is no YAML.
    """
    try:
        text = read_text(path)
        document = parse_text(text)
    except BadInput as error:
        raise BadInput(f"{path}: {error}") from error
    is_listed = isinstance(document, dict) and isinstance(document.get("workflows"), list)
    if not is_listed or set(document) != {"workflows"}:
        return [], [f"{path}: line 1: $: {SHAPE}"]
    told: list[tuple[Place, str]] = []
    seen: set[str] = set()
    for index, given in enumerate(document["workflows"]):
        place: Place = ("workflows", index)
        told += [((*place, *_place(it)), _said(given, it)) for it in _problems(given)]
        key = given.get("key") if isinstance(given, dict) else None
        if isinstance(key, str) and key in seen:
            told.append(((*place, "key"), f"{cell(key[:80])}: key: is that of a workflow before"))
        seen.add(str(key))
    lines = yaml_lines(text) if told else {}
    return document["workflows"], [
        f"{path}: line {_line(place, lines)}: {said}" for place, said in told[:MOST_TOLD]
    ]


def parse_text(text: str) -> Any:
    """Return what a text says as plain JSON: JSON where it begins with a bracket of an object, else YAML.

    Raises `BadInput` on one line, also for a name that stands twice in one object. YAML would read some of JSON's numbers
    as text.
    """
    if not text.lstrip().startswith("{"):
        return parse_yaml(text)
    try:
        return StrictJSONParser().parse(BytesIO(text.encode()))
    except BodyTooLarge as error:
        raise BadInput(str(error)) from error
    except ParseError as error:
        said = str(error.detail).replace("the body ", "")
        raise BadInput(f"is no JSON that can be used: {said}") from error


def save_workflows_files(paths: Sequence[str], *, actor: str) -> list[Workflow]:
    """Save every workflow of some files, or none. Raises `BadInput` with each line that `read_workflows_file` tells."""
    found: list[dict[str, Any]] = []
    told: list[str] = []
    for path in paths:
        given, lines = read_workflows_file(path)
        found += given
        told += lines
    if told:
        raise BadInput("; ".join(told[:MOST_TOLD]))
    try:
        return save_all(found, actor=actor)
    except DefinitionWrong as error:
        raise BadInput(f"{', '.join(paths)}: changed meanwhile: {error}") from error


def written(rows: Sequence[Workflow]) -> str:
    """Return workflows as the document that `save_workflows_files` takes; saving it again changes nothing."""
    listed = [
        {
            "key": it.key,
            "name": it.name,
            "agent": it.agent.key,
            "is_enabled": it.is_enabled,
            "definition": in_order(it.definition),
        }
        for it in rows
    ]
    return to_yaml({"workflows": listed})


def in_order(value: Any) -> Any:
    """Return a checked definition with its fields as the documents have them: the database keeps no order of names."""
    if isinstance(value, list):
        return [in_order(it) for it in value]
    if not isinstance(value, dict):
        return value
    places = {name: number for number, name in enumerate(ORDER)}
    names = sorted(value, key=lambda it: places.get(it, len(ORDER)))
    return {name: in_order(value[name]) for name in names}


def to_yaml(value: Any) -> str:
    """Return plain JSON as YAML that `parse_yaml` takes: without aliases, text of several lines as a block."""
    return yaml.dump(value, Dumper=_Plain, sort_keys=False, allow_unicode=True, width=120)


def _problems(given: Any) -> list[Problem]:
    if not isinstance(given, dict):
        return [("workflow", "wants an object with key, name, agent and definition")]
    return checked(given)[1]


def _said(given: Any, problem: Problem) -> str:
    key = given.get("key") if isinstance(given, dict) else None
    return f"{cell(str(key)[:80]) if key else '(no key)'}: {problem[0]}: {problem[1]}"


def _place(problem: Problem) -> Place:
    """Where in a workflow of a document a problem lies."""
    path = problem[0]
    if not path.startswith("$"):
        return (path,)
    parts = (m[1] or (int(m[2]) if m[2] else m[3]) for m in PART.finditer(path))
    return ("definition", *parts)


def _line(place: Place, lines: dict[Place, int]) -> int:
    """The line of a place, or, of what is missing, of what should hold it."""
    while place and place not in lines:
        place = place[:-1]
    return lines.get(place, 1)


class _Plain(yaml.SafeDumper):
    def ignore_aliases(self, data: Any) -> bool:
        return True


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = "|" if "\n" in text else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Plain.add_representer(str, _text)
