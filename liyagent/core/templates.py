"""Values read from earlier values: `{"$expr": "dotted.path"}` and `{{ dotted.path }}`. Nothing is evaluated."""

from __future__ import annotations

import re
from typing import Any

from liyagent.core.errors import BadInput, LiyagentError
from liyagent.core.plain import json_bytes

EXPRESSION = "$expr"
MOST_PATH = 500
MOST_DEPTH = 100
MOST_TEXT = 1 << 20
PLACEHOLDER = re.compile(r"\{\{([^{}]*)\}\}")
INDEX = re.compile(r"0|[1-9][0-9]{0,8}")


class MissingPath(LiyagentError):
    """The path leads to nothing; a value that is not there is never passed on as null."""

    code = "template.missing_path"


class BadTemplate(BadInput):
    """The template cannot be read."""

    code = "template.bad"


def lookup(path: str, context: Any) -> Any:
    """Return what `path` leads to: `a.b.0.c`, names in objects and digits in lists.

    Raises `MissingPath` naming the part that leads nowhere, `BadTemplate` for an empty or overlong path.
    """
    found = context
    for part in _parts(path):
        if isinstance(found, dict) and part in found:
            found = found[part]
        elif isinstance(found, list | tuple) and INDEX.fullmatch(part) and int(part) < len(found):
            found = found[int(part)]
        else:
            raise MissingPath(f"{path!r} leads nowhere at {part!r}: {_what_is_there(found)}")
    return found


def render(value: Any, context: Any) -> Any:
    """Return `value` with each expression and template in it filled from `context`.

    `{"$expr": path}` and a text that is exactly one `{{ path }}` keep the type of what they find; a
    template within other text writes text as it is and all else as JSON. Raises `MissingPath`, `BadTemplate`.
    """
    return _render(value, context, MOST_DEPTH)


def _render(value: Any, context: Any, depth: int) -> Any:
    if depth < 0:
        raise BadTemplate(f"nested deeper than {MOST_DEPTH}")
    if isinstance(value, str):
        return _fill(value, context)
    if isinstance(value, dict):
        if EXPRESSION in value:
            return lookup(_expression(value), context)
        return {key: _render(item, context, depth - 1) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_render(item, context, depth - 1) for item in value]
    return value


def _expression(value: dict[str, Any]) -> str:
    path = value[EXPRESSION]
    if len(value) > 1 or not isinstance(path, str):
        raise BadTemplate(
            f'{EXPRESSION} wants to stand alone with a dotted path: {{"{EXPRESSION}": "a.b"}}'
        )
    return path


def _fill(text: str, context: Any) -> Any:
    whole = PLACEHOLDER.fullmatch(text)
    if whole:
        return lookup(whole[1].strip(), context)
    pieces: list[str] = []
    length = end = 0
    for match in PLACEHOLDER.finditer(text):
        pieces += (text[end : match.start()], _as_text(lookup(match[1].strip(), context)))
        end = match.end()
        length += len(pieces[-1])
        if length > MOST_TEXT:
            raise BadTemplate(f"the filled text would be longer than {MOST_TEXT} characters")
    return "".join((*pieces, text[end:])) if pieces else text


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else json_bytes(value).decode()


def _parts(path: str) -> list[str]:
    parts = path.split(".")
    if len(path) > MOST_PATH or not all(parts):
        raise BadTemplate(f"{path[:80]!r} is no dotted path such as 'result.items.0.id'")
    return parts


def _what_is_there(found: Any) -> str:
    if isinstance(found, dict):
        names = ", ".join(sorted(str(name) for name in found)[:10])
        return f"there is an object with {names or 'nothing in it'}"
    if isinstance(found, list | tuple):
        return f"there is a list of {len(found)}"
    return f"there is {type(found).__name__}, which has no parts"
