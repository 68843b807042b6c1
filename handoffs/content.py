"""What is hashed of a hand-off, and which bodies can be one. Pure.

The content is the canonical JSON (RFC 8785) of `{"body", "from", "kind", "to"}`, and its digest the plain SHA-256 of that
text, so that anybody can check it with tools of their own (HO-01). Of what is stored the text is put together again as it
stands, and never written anew: a row that was changed hashes to something else.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from liyagent.core.canonical import canonical

MOST_BYTES = 1 << 20
MOST_DEPTH = 100
# CPython converts no longer integer to text by default.
MOST_DIGITS = 4300
LONGEST_PATH = 200
BODY = "body"


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """What keeps a value from being handed over, and where in it: a dotted path."""

    path: str
    why: str


class NamedTwice(dict[str, Any]):
    """An object in which a name stood twice; `name` is that one."""

    name = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Content:
    """What is handed over. `body` is canonical text, or whatever stands where that was stored."""

    sender: str
    recipient: str
    kind: str
    body: str

    def without_body(self) -> Content:
        """Return who handed what kind to whom; the body is "", as no canonical text is."""
        return replace(self, body="")

    def text(self) -> str:
        """Return the text that is hashed; the body goes into it as it is."""
        names = {"from": self.sender, "kind": self.kind, "to": self.recipient}
        rest = ",".join(f'"{name}":{_text(value)}' for name, value in names.items())
        return f'{{"body":{self.body},{rest}}}'

    def digest(self) -> str:
        """Return the hex SHA-256 of the text."""
        return hashlib.sha256(self.text().encode("utf-8", "surrogatepass")).hexdigest()


def body_text(body: Any) -> str:
    """Return the canonical text of a body that has no problem."""
    return canonical(body).decode()


def fits(body: Any) -> bool:
    """Whether a body is no larger than any that is handed over."""
    return len(canonical(body)) <= MOST_BYTES


def parse(text: str) -> Any:
    """Return JSON as it was written: with `NamedTwice` and NaN in it, for `first_problem` to find. Raises `ValueError`."""
    return json.loads(text, parse_int=_whole, object_pairs_hook=_object)


def first_problem(value: Any, *, path: str = BODY) -> Problem | None:
    """Return the first thing in a body, in the order of the text, that keeps it from being handed over, None where nothing does."""
    try:
        found = next(_problems(value, path, MOST_DEPTH), None)
    except RecursionError:
        return Problem(path=path, why=f"nested deeper than {MOST_DEPTH}")
    if found is not None:
        return found
    size = len(canonical(value))
    if size > MOST_BYTES:
        return Problem(path=path, why=f"{size} bytes of canonical JSON; it may have {MOST_BYTES}")
    return None


def _problems(value: Any, path: str, depth: int) -> Iterator[Problem]:
    if isinstance(value, str):
        yield from _in_text(value, path)
    elif isinstance(value, float):
        if not math.isfinite(value):
            yield Problem(path=path, why="NaN, Infinity, or a number that is too large")
    elif isinstance(value, dict | list):
        if depth == 0:
            yield Problem(path=path, why=f"nested deeper than {MOST_DEPTH}")
        elif isinstance(value, dict):
            yield from _in_object(value, path, depth - 1)
        else:
            for index, item in enumerate(value):
                yield from _problems(item, f"{path}.{index}", depth - 1)
    elif not (value is None or isinstance(value, bool | int)):
        yield Problem(path=path, why=f"{type(value).__name__} is nothing of JSON")


def _in_object(value: Mapping[Any, Any], path: str, depth: int) -> Iterator[Problem]:
    if isinstance(value, NamedTwice):
        yield Problem(path=_below(path, value.name), why="this name stands twice in one object")
    for name, item in value.items():
        if not isinstance(name, str):
            yield Problem(path=path, why="the names of an object are texts")
            return
        yield from _in_text(name, path)
        yield from _problems(item, _below(path, name), depth)


def _in_text(text: str, path: str) -> Iterator[Problem]:
    try:
        text.encode()
    except UnicodeEncodeError:
        yield Problem(path=path, why="half of a pair of surrogates, which is no character")


def _below(path: str, name: str) -> str:
    shown = name.encode("utf-8", "backslashreplace").decode()
    return f"{path}.{shown}"[:LONGEST_PATH]


def _whole(digits: str) -> int | float:
    return int(digits) if len(digits) <= MOST_DIGITS else math.inf


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            twice = NamedTwice(pairs)
            twice.name = name
            return twice
        found[name] = value
    return found


def _text(value: str) -> str:
    # Whoever edits rows can write anything there; it hashes to something else then.
    return json.dumps(value, ensure_ascii=False)
