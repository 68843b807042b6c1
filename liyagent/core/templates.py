"""Values read from earlier values: `{"$expr": "dotted.path"}` and `{{ dotted.path }}`. Nothing is evaluated."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from liyagent.core.errors import BadInput, LiyagentError
from liyagent.core.files import Place
from liyagent.core.json_path import json_path
from liyagent.core.plain import NotJson, NotStorable, json_bytes, parse_json

EXPRESSION = "$expr"
MOST_PATH = 500
MOST_DEPTH = 100
MOST_TEXT = 1 << 20
# Of all the texts that one value's templates are filled to, together.
MOST_FILLED = 16 << 20
LONGEST_SHOWN = 80
PLACEHOLDER = re.compile(r"\{\{([^{}]*)\}\}")
INDEX = re.compile(r"0|[1-9][0-9]{0,8}")


class MissingPath(LiyagentError):
    """The path leads to nothing; a value that is not there is never passed on as null."""

    code = "template.missing_path"


class BadTemplate(BadInput):
    """The template cannot be read."""

    code = "template.bad"


def as_data(value: Any) -> Any:
    """Return what a tool answered as expressions read it: text that is a JSON object or list as that, all else as it is.

    Many servers tell their records as text alone.
    """
    if not isinstance(value, str) or value.lstrip()[:1] not in {"{", "["}:
        return value
    try:
        read = parse_json(value)
    except (NotJson, NotStorable):
        return value
    return read


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
    return render_by(value, lambda path: lookup(path, context))


def render_by(value: Any, find: Callable[[str], Any]) -> Any:
    """Return `value` filled as `render` does, by what `find` returns for a path. What is put in is never read again.

    Raises `BadTemplate`, and whatever `find` raises.
    """
    return _Filling(find).of(value, MOST_DEPTH)


class Reading(NamedTuple):
    """A path that a template reads, or what is wrong there; `place` are the names that lead to where it stands."""

    place: Place
    path: str
    problem: str = ""


def readings_of(value: Any, place: Place = ()) -> Iterator[Reading]:
    """Yield each path that `value` reads, in order, and each problem that needs no context to be known."""
    yield from _readings(value, place, MOST_DEPTH)


def paths_of(value: Any) -> list[str]:
    """Return the paths that `render` would look up, each once, in order. Raises `BadTemplate`, naming the place."""
    paths: dict[str, None] = {}
    for reading in readings_of(value):
        if reading.problem:
            raise BadTemplate(f"{json_path(reading.place)}: {reading.problem}")
        paths[reading.path] = None
    return list(paths)


def _readings(value: Any, place: Place, depth: int) -> Iterator[Reading]:
    if depth < 0:
        yield Reading(place, "", f"nested deeper than {MOST_DEPTH}")
    elif isinstance(value, str):
        yield from _readings_of_text(value, place)
    elif isinstance(value, Mapping) and EXPRESSION in value:
        yield _reading(place, lambda: _expression(value))
    elif isinstance(value, Mapping):
        for name, item in value.items():
            yield from _readings(item, (*place, str(name)), depth - 1)
    elif isinstance(value, Sequence) and not isinstance(value, bytes):
        for number, item in enumerate(value):
            yield from _readings(item, (*place, number), depth - 1)


def _readings_of_text(text: str, place: Place) -> Iterator[Reading]:
    for match in PLACEHOLDER.finditer(text):
        yield _reading(place, match[1].strip)
    # A blank for each, so that the brackets at its sides do not meet.
    if "{{" in PLACEHOLDER.sub(" ", text):
        shown = repr(text[:LONGEST_SHOWN])
        yield Reading(place, "", f"{shown} opens a template and does not close it")


def _reading(place: Place, read: Callable[[], str]) -> Reading:
    try:
        path = read()
        _parts(path)
    except BadTemplate as error:
        return Reading(place, "", str(error))
    return Reading(place, path)


class _Filling:
    """One filling of a value, counting the text that it makes."""

    __slots__ = ("find", "left")

    def __init__(self, find: Callable[[str], Any]) -> None:
        self.find = find
        self.left = MOST_FILLED

    def of(self, value: Any, depth: int) -> Any:
        if depth < 0:
            raise BadTemplate(f"nested deeper than {MOST_DEPTH}")
        if isinstance(value, str):
            return self._text(value)
        if isinstance(value, dict):
            if EXPRESSION in value:
                return self.find(_expression(value))
            return {key: self.of(item, depth - 1) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [self.of(item, depth - 1) for item in value]
        return value

    def _text(self, text: str) -> Any:
        whole = PLACEHOLDER.fullmatch(text)
        if whole:
            return self.find(whole[1].strip())
        pieces: list[str] = []
        length = end = 0
        for match in PLACEHOLDER.finditer(text):
            pieces += (text[end : match.start()], _as_text(self.find(match[1].strip())))
            end = match.end()
            length += len(pieces[-1])
            if length > MOST_TEXT:
                raise BadTemplate(f"the filled text would be longer than {MOST_TEXT} characters")
        self.left -= length
        if self.left < 0:
            raise BadTemplate(f"the filled texts would be longer than {MOST_FILLED} characters")
        return "".join((*pieces, text[end:])) if pieces else text


def _expression(value: Mapping[str, Any]) -> str:
    path = value[EXPRESSION]
    if len(value) > 1 or not isinstance(path, str):
        raise BadTemplate(
            f'{EXPRESSION} wants to stand alone with a dotted path: {{"{EXPRESSION}": "a.b"}}'
        )
    return path


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else json_bytes(value).decode()


def _parts(path: str) -> list[str]:
    parts = path.split(".")
    if len(path) > MOST_PATH or not all(parts):
        raise BadTemplate(f"{path[:LONGEST_SHOWN]!r} is no dotted path such as 'result.items.0.id'")
    return parts


def _what_is_there(found: Any) -> str:
    if isinstance(found, dict):
        names = ", ".join(it[:LONGEST_SHOWN] for it in sorted(str(name) for name in found)[:10])
        return f"there is an object with {names or 'nothing in it'}"
    if isinstance(found, list | tuple):
        return f"there is a list of {len(found)}"
    return f"there is {type(found).__name__}, which has no parts"
