"""Data policies as the gate applies them: what to look for, where in the arguments, and what then. Pure."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from liyagent.core.bounded_regex import BoundedRegex, TooSlow
from liyagent.core.errors import BadInput
from liyagent.core.personal_data import find
from liyagent.core.personal_data import mask as mask_kinds

ANYWHERE = "*"
LONGEST_PATH = 200
# For all rules and all of a call's arguments, of this thread's processor time.
MOST_SECONDS = 2.0

Change = Callable[[str], str]
Places = frozenset[int]


@dataclass(frozen=True, slots=True, kw_only=True)
class DataRule:
    """One data policy, read. `fault` says why its row could not be; then nothing it covers may leave."""

    name: str
    kind: str
    path: tuple[str, ...]
    tools: str
    denies: bool
    regex: BoundedRegex | None = None
    fault: str = ""

    def covers(self, tool: str) -> bool:
        """Whether it speaks of `server/tool`."""
        return fnmatchcase(tool, self.tools)


def read_path(text: str) -> tuple[str, ...]:
    """Return the names of a dotted path. Raises `BadInput`.

    A path leads to an argument and all below it; lists on the way are passed through, whatever the index. `*`
    stands for any names, or none: `*` is anywhere, `*.email` an `email` at any depth.
    """
    names = tuple(text.split("."))
    if not text or len(text) > LONGEST_PATH or any(not name.strip() for name in names):
        raise BadInput(
            f"is {text[:80]!r}; it wants a dotted path in the arguments such as customer.email, *.email, "
            f"or * for anywhere, of at most {LONGEST_PATH} characters"
        )
    return names


def read_regex(text: str) -> BoundedRegex:
    """Return an operator's expression, to be searched for in bounded time. Raises `BadInput`."""
    return BoundedRegex(text)


def first_denied(args: dict[str, Any], rules: Sequence[DataRule]) -> DataRule | None:
    """Return the first of `rules` that finds what it looks for in `args`. Raises `TooSlow`."""
    until = time.thread_time() + MOST_SECONDS
    for rule in rules:
        found: list[str] = []

        def notice(text: str, rule: DataRule = rule, found: list[str] = found) -> str:
            if not found and _is_in(text, rule, until):
                found.append(rule.name)
            return text

        _changed(args, _begin(rule.path), rule.path, notice)
        if found:
            return rule
    return None


def masked(args: dict[str, Any], rules: Sequence[DataRule]) -> tuple[dict[str, Any], list[str]]:
    """Return `args` with what `rules` find written over, and the names of those that found something.

    Names of values count as well as values; a number in which something is found becomes text. Raises `TooSlow`.
    """
    until = time.thread_time() + MOST_SECONDS
    hits: list[str] = []
    for rule in rules:

        def hide(text: str, rule: DataRule = rule) -> str:
            return _masked_text(text, rule, until)

        changed = _changed(args, _begin(rule.path), rule.path, hide)
        if changed != args:
            hits.append(rule.name)
            args = changed
    return args, hits


def _is_in(text: str, rule: DataRule, until: float) -> bool:
    _look(until)
    if rule.regex is not None:
        return rule.regex.is_in(text, until=until)
    return bool(find(text, (rule.kind,)))


def _masked_text(text: str, rule: DataRule, until: float) -> str:
    _look(until)
    if rule.regex is None:
        return mask_kinds(text, (rule.kind,))
    pieces: list[str] = []
    at = 0
    for start, end in rule.regex.spans(text, until=until):
        pieces += (text[at:start], f"[{rule.name}]")
        at = end
    return "".join((*pieces, text[at:]))


def _look(until: float) -> None:
    if time.thread_time() > until:
        raise TooSlow


def _changed(value: Any, places: Places, path: tuple[str, ...], change: Change) -> Any:
    """A copy of `value` with `change` made to every text that the path leads to."""
    if isinstance(value, dict):
        return _changed_object(value, places, path, change)
    if isinstance(value, list):
        return [_changed(item, places, path, change) for item in value]
    if len(path) not in places or value is None or isinstance(value, bool):
        return value
    text = _text(value)
    changed = change(text)
    return value if changed == text else changed


def _changed_object(
    value: dict[str, Any], places: Places, path: tuple[str, ...], change: Change
) -> dict[str, Any]:
    is_covered = len(path) in places
    found: dict[str, Any] = {}
    numbers: dict[str, int] = {}
    for name, item in value.items():
        told = unique = change(name) if is_covered else name
        # Two names may be masked alike; no value is lost over it.
        while unique != name and (unique in found or unique in value):
            numbers[told] = numbers.get(told, 1) + 1
            unique = f"{told} {numbers[told]}"
        found[unique] = _changed(item, _after(name, places, path), path, change)
    return found


def _text(value: Any) -> str:
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def _begin(path: tuple[str, ...]) -> Places:
    return _with_stars({0}, path)


def _after(name: str, places: Places, path: tuple[str, ...]) -> Places:
    """Where in the path one is below `name`; at its end one stays."""
    reached = {len(path)} & places
    for place in places - {len(path)}:
        if path[place] == ANYWHERE:
            reached.add(place)
        if path[place] == name:
            reached.add(place + 1)
    return _with_stars(reached, path)


def _with_stars(places: set[int], path: tuple[str, ...]) -> Places:
    for place, name in enumerate(path):
        if place in places and name == ANYWHERE:
            places.add(place + 1)
    return frozenset(places)
