"""The body of a ticket: sections under their names, as it is kept, and as people read it. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from liyagent.core.plain import MOST_DEPTH, json_bytes, to_plain

Body = dict[str, Any] | str

LARGEST_BODY_BYTES = 1 << 20
MOST_SECTIONS = 100
# A body stands around values that are as deep as any may be.
DEPTH = MOST_DEPTH + 10
# A character takes six bytes of JSON at the most.
BYTES_A_CHARACTER = 6
INDENT = "  "


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A part of a body: its name, empty where the body is one text, and its text."""

    name: str
    text: str


def fitted(body: Body) -> Body:
    """Return a body as it is kept: storable, and of 1 MiB at the most.

    What a run leaves behind can be larger, and its ticket must be filed all the same: then sections that are longer than
    their share become text, cut, and say how much was left out. Raises `NotStorable` for what is no plain data, or is
    larger than 64 MiB.
    """
    plain: Body = to_plain(body, max_depth=DEPTH)
    if len(json_bytes(plain)) <= LARGEST_BODY_BYTES:
        return plain
    if isinstance(plain, str) or len(plain) > MOST_SECTIONS:
        return _cut(body_text(plain), LARGEST_BODY_BYTES // (2 * BYTES_A_CHARACTER))
    share = LARGEST_BODY_BYTES // (2 * len(plain))
    return {
        _cut(name, share // BYTES_A_CHARACTER): value
        if len(json_bytes(value)) <= share
        else _cut(_text(value), share // BYTES_A_CHARACTER)
        for name, value in plain.items()
    }


def sections_of(body: Body) -> list[Section]:
    """Return a body section by section; a text, and one of too many names, is one section without a name."""
    if isinstance(body, str) or len(body) > MOST_SECTIONS:
        return [Section(name="", text=_text(body))]
    return [Section(name=name, text=_text(value)) for name, value in body.items()]


def body_text(body: Body) -> str:
    """Return a body as one plain text: each section under its name."""
    told = [f"{it.name}\n{it.text}" if it.name else it.text for it in sections_of(body)]
    return "\n\n".join(told)


def _text(value: Any) -> str:
    return "\n".join(_lines(value, ""))


def _lines(value: Any, indent: str) -> Iterator[str]:
    """A line each: `name: value` of objects, `- value` of lists; what is in them is set further in."""
    if isinstance(value, dict) and value:
        for name, inner in value.items():
            yield from _led(f"{indent}{name}:", inner, indent)
    elif isinstance(value, list) and value:
        for inner in value:
            first, *more = _lines(inner, indent + INDENT)
            yield f"{indent}- {first[len(indent) + len(INDENT) :]}".rstrip()
            yield from more
    else:
        yield from (f"{indent}{line}" for line in _plainly(value).split("\n"))


def _led(lead: str, value: Any, indent: str) -> Iterator[str]:
    if isinstance(value, dict | list) and value:
        yield lead
        yield from _lines(value, indent + INDENT)
        return
    first, *more = _plainly(value).split("\n")
    yield f"{lead} {first}".rstrip()
    yield from (f"{indent}{INDENT}{line}" for line in more)


def _plainly(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _cut(text: str, most: int) -> str:
    if len(text) <= most:
        return text
    return f"{text[:most]}\n({len(text) - most:,} more characters were left out)"
