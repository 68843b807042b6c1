"""The stored form of a reader: how a write is found again (ruling 7)."""

from __future__ import annotations

from typing import Any

from liyagent.core.errors import BadInput
from liyagent.gateway.outcome import Reader

SHAPE = (
    '{"tool": "server/tool", "args": {...templates over key and args...}, '
    '"match": {"records": "dotted path to a list, or empty", "field": "dotted path in a record"}}'
)


def read_reader(value: Any) -> Reader | None:
    """Return the reader that `value` describes, None for None.

    Raises `BadInput` that says what was wrong and what is wanted: a reader without a field that
    holds our key could prove nothing, so there is none (ruling 7).
    """
    if value is None:
        return None
    if not isinstance(value, dict) or set(value) != {"tool", "args", "match"}:
        raise BadInput(f"a reader wants exactly {SHAPE}")
    tool, args, match = value["tool"], value["args"], value["match"]
    if not isinstance(tool, str) or not all(tool.partition("/")[::2]):
        raise BadInput(f"reader.tool is {tool!r}; it wants server/tool")
    if not isinstance(args, dict):
        raise BadInput("reader.args wants an object of arguments")
    if (
        not isinstance(match, dict)
        or set(match) != {"records", "field"}
        or not all(isinstance(part, str) for part in match.values())
    ):
        raise BadInput('reader.match wants {"records": "path or empty", "field": "path"}')
    if not match["field"]:
        raise BadInput(
            "reader.match.field is empty; it wants the field in which the vendor stored our key"
        )
    return Reader(tool=tool, args=args, match=match)
