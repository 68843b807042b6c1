"""Which paths a condition reads, so that a name that leads nowhere is told when a definition is saved. Pure.

In a condition what is missing is null: a misspelt step would leave its branch untaken, and nobody would hear of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jmespath

# Of these only the first child reads what the condition as a whole is given; the others read what that one found.
WITHIN = frozenset(
    {"index_expression", "projection", "value_projection", "filter_projection", "flatten", "pipe"}
)


def paths_read(condition: str) -> list[tuple[str, ...]]:
    """Return each path of names that a checked condition (`check_condition`) begins to read at, once, in order."""
    return [*dict.fromkeys(_paths(jmespath.compile(condition).parsed))]


def _paths(node: dict[str, Any]) -> Iterator[tuple[str, ...]]:
    kind, children = node["type"], node["children"]
    if kind == "field":
        yield (node["value"],)
    elif kind == "subexpression":
        before = list(_paths(children[0]))
        names = tuple(it["value"] for it in children[1:] if it["type"] == "field")
        yield from ((*it, *names) for it in before)
    elif kind in WITHIN:
        yield from _paths(children[0])
    else:
        for child in children:
            if isinstance(child, dict):
                yield from _paths(child)
