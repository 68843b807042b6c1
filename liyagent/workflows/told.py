"""How a problem of a definition is told: its JSON path, and in few words what was found there. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from jsonschema.exceptions import SchemaError, ValidationError

from liyagent.core.tables import visible

MOST_NAMED = 20
LONGEST_SHOWN = 80
PLAIN_NAME = re.compile(r"[A-Za-z_$][A-Za-z0-9_$-]{0,79}")

# A JSON path, and what was found there and what was meant.
Problem = tuple[str, str]


def at(path: str, name: str | int) -> str:
    """Return the JSON path of what is `name` in what `path` leads to; a name that is no plain one in brackets."""
    if isinstance(name, int):
        return f"{path}[{name}]"
    if PLAIN_NAME.fullmatch(name):
        return f"{path}.{name}"
    return f"{path}[{visible(json.dumps(name[:LONGEST_SHOWN], ensure_ascii=False))}]"


def named(names: Iterable[str]) -> str:
    """Return names in a row; of many the first twenty."""
    told = sorted(names)
    more = f" and {len(told) - MOST_NAMED} more" if len(told) > MOST_NAMED else ""
    return ", ".join(told[:MOST_NAMED]) + more


def shown(value: Any) -> str:
    """Return a value as a person is told of it: short, and nothing in it that could move a cursor."""
    if isinstance(value, Mapping):
        return f"an object with {named(str(it)[:40] for it in value) or 'nothing in it'}"[:300]
    if isinstance(value, Sequence) and not isinstance(value, str):
        return f"a list of {len(value)}"
    text = visible(repr(value) if isinstance(value, str) else json.dumps(value))
    return text if len(text) <= LONGEST_SHOWN else f"{text[:LONGEST_SHOWN]}…"


def path_of(error: ValidationError | SchemaError, path: str = "$") -> str:
    """Return the JSON path of what the JSON Schema package found wrong."""
    for name in error.absolute_path:
        path = at(path, name)
    return path
