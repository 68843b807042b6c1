"""Values as routines compare them: by their canonical JSON, in which 1, true and "1" differ (FL-91); and what they say. Pure."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from liyagent.core.canonical import SAFE_INTEGER, canonical
from liyagent.core.templates import INDEX, as_data

# What is found where there is nothing, as null is something.
NOTHING: Any = object()
TYPES = {str: "string", bool: "boolean", dict: "object", list: "array", type(None): "null"}
SMALL, SHORT = 1000, 4
# Words that stand in any two records by chance; a short one is one of these too.
COMMON_WORDS = """
active inactive archived blocked broken cancelled canceled closed completed confirmed created critical current customer database debug
default degraded deleted denied disabled draft email enabled error expired external failed failure false fatal finished first global
group healthy hidden important incident inform internal issue known latest local locked major manual medium member minor missing
moderate never nobody normal notice offline online opened other owner paused pending planned primary private problem production
progress public queued ready regular rejected released removed request resolved running scheduled secondary severe shared staging
standard started stopped submitted success system testing ticket trivial unassigned undefined unknown unlocked unresolved update
updated urgent user valid waiting warning yesterday
"""
COMMON = frozenset(COMMON_WORDS.split())
WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+|[^\W\d_A-Za-z]+")
MOST_LOOKED_AT = 50
# Where a text has none of these, and is not too deep, JSON's own reader reads it as it is read with care.
WANTS_CARE = re.compile(r"\\u|NaN|Infinity|[eE]\+?[0-9]{3}|[0-9]{300}|[\x00\ud800-\udfff]")
QUICK_DEPTH = 90
LONGEST_NAME = 64


def same(one: Any, other: Any) -> bool:
    """Whether two values have one canonical JSON: of numbers 5 and 5.0 have, 1 and true have not. Stops where they differ."""
    if isinstance(one, dict):
        return (
            isinstance(other, dict)
            and one.keys() == other.keys()
            and all(same(value, other[name]) for name, value in one.items())
        )
    if isinstance(one, list):
        return (
            isinstance(other, list)
            and len(one) == len(other)
            and all(map(same, one, other))
        )  # fmt: skip
    if isinstance(other, dict | list):
        return False
    if type(one) is type(other) and not isinstance(one, float):
        return bool(one == other)
    if isinstance(one, int | float) and isinstance(other, int | float):
        return canonical(one) == canonical(other)
    return False


def type_of(value: Any) -> str:
    """Return the name of a value's JSON type; a whole number is an integer however it is written."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return "integer" if isinstance(value, int) or value.is_integer() else "number"
    return TYPES[type(value)]


def says_little(value: Any) -> bool:
    """Whether a value may stand in two places by chance (ruling 42): a boolean, null, a small number, a short or common word."""
    if isinstance(value, dict | list):
        leaves = _leaves(value)
        looked_at = [it for _, it in zip(range(MOST_LOOKED_AT), leaves, strict=False)]
        return len(looked_at) < MOST_LOOKED_AT and all(map(says_little, looked_at))
    if isinstance(value, str):
        text = value.strip()
        return len(text) <= SHORT or text.casefold() in COMMON
    return value is None or isinstance(value, bool) or -SMALL < value < SMALL


def _leaves(value: Any) -> Iterator[Any]:
    waiting = [value]
    while waiting:
        it = waiting.pop()
        if isinstance(it, dict):
            waiting += it.values()
        elif isinstance(it, list):
            waiting += it
        else:
            yield it


def words_of(name: str) -> tuple[str, ...]:
    """Return the words of a name, `user_id` and `userId` alike."""
    return tuple(it.casefold() for it in WORD.findall(name))


def is_name_of(name: str, parts: Sequence[str], tool: str) -> bool:
    """Whether what lies at `parts` of a tool's output is called `name`: `user_id` is `user.id`, and the `id` of `get_user`."""
    wanted = words_of(name)
    last = words_of(nearest_name(parts))
    if not wanted or not last or wanted[-1] != last[-1]:
        return False
    around = {word for it in (*parts, tool) for word in words_of(it)}
    return set(wanted) <= around | set(_singular(around))


def nearest_name(parts: Sequence[str]) -> str:
    """Return the last part of a path that is no place in a list, "" where there is none."""
    return next((it for it in reversed(parts) if not INDEX.fullmatch(it)), "")


def _singular(words: Iterable[str]) -> Iterator[str]:
    return (it.removesuffix("s") for it in words)


def slug_of(name: str) -> str:
    """Return a name as that of a parameter: letters, digits and _, "" where nothing is left of it."""
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode()
    text = re.sub(r"[^A-Za-z0-9]+", "_", plain).strip("_")[: LONGEST_NAME // 2].rstrip("_")
    return f"_{text}" if text[:1].isdigit() else text


def is_addressable(name: str) -> bool:
    """Whether a dotted path can lead through a name."""
    return bool(name) and "." not in name


def data_of(output: Any) -> Any:
    """Return what a tool answered as expressions read it: what `core.templates.as_data` does, and large texts five times as fast."""
    if not isinstance(output, str) or output.lstrip()[:1] not in {"{", "["}:
        return output
    if WANTS_CARE.search(output):
        return as_data(output)
    try:
        read = json.loads(output)
    except (ValueError, RecursionError):
        return output
    return as_data(output) if _is_deep(read) else read


def _is_deep(value: Any) -> bool:
    level, depth = [value], 0
    while level and depth <= QUICK_DEPTH:
        depth += 1
        level = [
            item
            for it in level
            for item in (it.values() if type(it) is dict else it)
            if type(item) is dict or type(item) is list
        ]
    return bool(level)


def follow(parts: Sequence[str], value: Any) -> Any:
    """Return what `core.templates.lookup` finds there, `NOTHING` where it would raise `MissingPath`."""
    for part in parts:
        if isinstance(value, dict) and part in value:
            value = value[part]
        elif isinstance(value, list) and INDEX.fullmatch(part) and int(part) < len(value):
            value = value[int(part)]
        else:
            return NOTHING
    return value


def can_be_kept(value: Any) -> bool:
    """Whether a number comes out of the database as it went in: one like 1e300 comes out as its digits."""
    return not isinstance(value, float) or abs(value) <= SAFE_INTEGER or abs(value) < 1e21
