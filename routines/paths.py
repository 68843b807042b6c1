"""The paths of earlier outputs that always lead to the value that a later call was given. Pure.

They are looked for in one run and held against all the others, so that what is found holds in every source; how much is looked at
is bounded, and what was not looked at is not found.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from routines.recorded import RecordedRun
from routines.tree import Node
from routines.values import (
    NOTHING,
    data_of,
    follow,
    is_addressable,
    nearest_name,
    same,
    says_little,
    words_of,
)

Parts = tuple[str, ...]
# Of one output; the shallow ones come first.
MOST_SEEN, MOST_SEEN_IN_ALL = 40_000, 500_000
# Of one output, to one value.
MOST_PATHS, MOST_TO_CONTAINERS = 32, 4
MOST_CHECKS = 3_000_000
# Of all texts that are read to hold paths against them.
MOST_TEXT = 48 << 20
LONGEST_PATH = 400
KINDS = {str: "text", bool: "boolean", int: "number", float: "number", type(None): "null"}


@dataclass(slots=True, kw_only=True, eq=False)
class _Wanted:
    """Places whose value is the same in the run that is looked through; `found` paths by the number of the call."""

    value: Any
    nodes: list[Node] = field(default_factory=list)
    found: dict[int, list[Parts]] = field(default_factory=dict)
    last: int = 0

    def add(self, node: Node) -> None:
        self.nodes.append(node)
        self.last = max(self.last, node.step)


def find_paths(sources: Sequence[RecordedRun], trees: Sequence[Node]) -> None:
    """Give each place whose value varies the paths, by the number of their call, that lead to it in every run."""
    nodes = [it for tree in trees for it in tree.below() if _is_wanted(it)]
    if not nodes:
        return
    seeking = _Seeking(sources)
    for it in nodes:
        seeking.want(it)
    for number, call in enumerate(sources[0].calls[:-1]):
        seeking.see(number, data_of(call.output))
    for number in range(len(sources[0].calls) - 1):
        seeking.hold(number)


def has_little_to_say(node: Node) -> bool:
    """Whether fewer than two of a place's values say much: then its name has to speak for a path, too (ruling 42)."""
    first: Any = NOTHING
    for value in node.values:
        if says_little(value):
            continue
        if first is NOTHING:
            first = value
        elif not same(first, value):
            return False
    return True


def _is_wanted(node: Node) -> bool:
    # Whole arguments are never read from an output: what it is tomorrow may be no object.
    return not node.is_constant and not node.why and len(node.place) > 1


class _Seeking:
    def __init__(self, sources: Sequence[RecordedRun]) -> None:
        self.sources = sources
        self.scalars: dict[tuple[str, Any, str], _Wanted] = {}
        self.containers: dict[tuple[Any, ...], list[_Wanted]] = {}
        self.checks = MOST_CHECKS
        self.text = MOST_TEXT
        self.most_seen = min(MOST_SEEN, MOST_SEEN_IN_ALL // len(sources[0].calls))
        self._ends: dict[str, str] = {}

    def want(self, node: Node) -> None:
        """Look for the value that the first run had at a place."""
        value = node.values[0]
        end = self._end(node.name) if has_little_to_say(node) else ""
        if isinstance(value, dict | list):
            known = self.containers.setdefault((*_shape(value), end), [])
            wanted = next((it for it in known if same(it.value, value)), None)
            if wanted is None:
                wanted = _Wanted(value=value)
                known.append(wanted)
        else:
            key = (KINDS[type(value)], value, end)
            wanted = self.scalars.setdefault(key, _Wanted(value=value))
        wanted.add(node)

    def see(self, number: int, output: Any) -> None:
        """Look through the output of the call of this number."""
        for parts, value in _walk(output, self.most_seen):
            name = nearest_name(parts)
            is_container = isinstance(value, dict | list)
            for wanted in self._wanted(value, ("", self._end(name)) if name else ("",)):
                if wanted.last <= number:
                    continue
                found = wanted.found.setdefault(number, [])
                if len(found) < (MOST_TO_CONTAINERS if is_container else MOST_PATHS):
                    found.append(parts)

    def hold(self, number: int) -> None:
        """Hold the paths into the output of this call against every run, and keep those that always lead to the value."""
        left = [
            (parts, node)
            for wanted in self._all()
            for parts in wanted.found.get(number, ())
            for node in wanted.nodes
            if node.step > number
        ]
        for run, source in enumerate(self.sources):
            output = source.calls[number].output
            self.checks -= len(left)
            self.text -= len(output) if isinstance(output, str) and left else 0
            if self.checks < 0 or self.text < 0:
                # What could not be held against every run may be wrong in one.
                return
            if not left:
                return
            data = data_of(output)
            left = [
                (parts, node) for parts, node in left if same(follow(parts, data), node.values[run])
            ]
        for parts, node in left:
            node.paths.append((number, parts))

    def _wanted(self, value: Any, ends: tuple[str, ...]) -> Iterator[_Wanted]:
        for end in ends:
            if isinstance(value, dict | list):
                for it in self.containers.get((*_shape(value), end), ()):
                    self.checks -= 1
                    if self.checks >= 0 and same(it.value, value):
                        yield it
            else:
                found = self.scalars.get((KINDS[type(value)], value, end))
                if found is not None:
                    yield found

    def _all(self) -> Iterator[_Wanted]:
        yield from self.scalars.values()
        for it in self.containers.values():
            yield from it

    def _end(self, name: str) -> str:
        """The last word of a name, "-" where it has none: those with little to say are looked for by it."""
        found = self._ends.get(name)
        if found is None:
            found = self._ends[name] = (words_of(name) or ("-",))[-1]
        return found


def _shape(value: dict[str, Any] | list[Any]) -> tuple[Any, ...]:
    return ("object", *sorted(value)) if isinstance(value, dict) else ("list", len(value))


def _walk(output: Any, most: int) -> Iterator[tuple[Parts, Any]]:
    """Each value in an output that a path can lead to, the shallow ones first."""
    waiting: deque[tuple[Parts, int, Any]] = deque([((), 0, output)])
    seen = 0
    while waiting and seen < most:
        parts, length, value = waiting.popleft()
        seen += 1
        yield parts, value
        if isinstance(value, dict):
            inner = ((it, value[it]) for it in sorted(value) if is_addressable(it))
        elif isinstance(value, list):
            inner = ((str(number), it) for number, it in enumerate(value))
        else:
            continue
        for name, it in inner:
            if len(waiting) + seen >= most:
                break
            longer = length + len(name) + 1
            if longer <= LONGEST_PATH:
                waiting.append(((*parts, name), longer, it))
