"""The arguments of a pattern's calls as a tree of places, each with the value that every run had there. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from liyagent.core.bounded_regex import TooSlow
from liyagent.core.templates import EXPRESSION
from liyagent.gateway.data_rules import DataRule, masked
from routines.compiled import Place, pointer
from routines.recorded import RecordedRun
from routines.secrets import LONGEST_LOOKED_AT, Looking
from routines.values import NOTHING, can_be_kept, same

# So many places of all calls are looked at; what lies below the rest is not told apart.
MOST_PLACES = 20_000
ASKED = "a person made it a parameter"
SENSITIVE = "it looks secret or personal"
POLICY = "a data policy covers it"
TEMPLATE = "it has a member $expr, which a workflow would read as an expression"
TOO_LONG = "it is too long to be written down"
NOT_KEPT = "it is a number that the database does not keep as it is written"


class Withheld(Exception):
    """Why no routine is offered."""


@dataclass(slots=True, kw_only=True, eq=False)
class Node:
    """A place, `values` what each run had there in the order of the runs.

    `is_constant`: they are the same. `why` says why the value is no literal although it is, "" where it is one. `children` are the
    places below where every run has the same ones. `is_named`: by its name it is secret or personal.
    """

    place: Place
    step: int
    values: Sequence[Any]
    is_named: bool
    is_constant: bool
    why: str = ""
    children: Mapping[str, Node] | Sequence[Node] | None = None
    paths: list[tuple[int, tuple[str, ...]]] = field(default_factory=list)

    @property
    def is_literal(self) -> bool:
        """Whether it is written down as it is."""
        return self.is_constant and not self.why

    @property
    def name(self) -> str:
        """The nearest name, "" where its call's arguments are meant."""
        return next((it for it in reversed(self.place[1:]) if isinstance(it, str)), "")

    def below(self) -> Iterator[Node]:
        """Yield it and every place below it, in order."""
        waiting = [self]
        while waiting:
            node = waiting.pop()
            yield node
            waiting += reversed([*node.parts()])

    def parts(self) -> Iterable[Node]:
        """Return the places right below it."""
        if self.children is None:
            return ()
        return self.children.values() if isinstance(self.children, Mapping) else self.children


@dataclass(slots=True, kw_only=True)
class Planting:
    """Makes the trees of one pattern's calls. `asked` are the pointers of the places that a person made parameters."""

    sources: Sequence[RecordedRun]
    rules: Sequence[DataRule]
    asked: frozenset[str]
    looking: Looking
    count: int = 0

    def tree(self, number: int) -> Node:
        """Return the tree of the call of this number, from 0. Raises `Withheld`."""
        values = [it.calls[number].args for it in self.sources]
        hidden = self._hidden(self.sources[0].calls[number].name, values[0])
        return self._node((f"s{number + 1}",), number, values, is_named=False, hidden=hidden)

    def _hidden(self, tool: str, args: dict[str, Any]) -> Any:
        """The arguments as the standing data policies would leave them."""
        rules = [it for it in self.rules if it.covers(tool)]
        fault = next((it for it in rules if it.fault), None)
        if fault is not None:
            raise Withheld(f"data policy {fault.name} cannot be read: {fault.fault}")
        if not rules:
            return args
        try:
            return masked(args, rules)[0]
        except TooSlow:
            raise Withheld(f"the arguments of {tool} could not be held against the data policies in time") from None  # fmt: skip

    def _node(
        self, place: Place, step: int, values: Sequence[Any], *, is_named: bool, hidden: Any
    ) -> Node:
        self.count += 1
        first = values[0]
        is_constant = all(same(first, it) for it in values[1:])
        node = Node(
            place=place, step=step, values=values, is_named=is_named, is_constant=is_constant
        )
        told = pointer(place)
        if told in self.asked:
            node.why = ASKED
            return node
        if is_constant:
            node.why = self._no_literal(first, told, is_named=is_named, hidden=hidden)
        if not node.is_literal and self.count < MOST_PLACES:
            node.children = self._children(node, hidden)
        return node

    def _no_literal(self, value: Any, told: str, *, is_named: bool, hidden: Any) -> str:
        if any(it.startswith(f"{told}/") for it in self.asked):
            return ASKED
        for why in _cannot_be_written(value):
            return why
        if hidden is not value and not same(hidden, value):
            return POLICY
        return SENSITIVE if self.looking.is_sensitive_within(value, is_named=is_named) else ""

    def _children(self, node: Node, hidden: Any) -> Mapping[str, Node] | Sequence[Node] | None:
        first = node.values[0]
        if isinstance(first, dict):
            return self._members(node, first, hidden)
        if not isinstance(first, list) or not first or not all(isinstance(it, list) and len(it) == len(first) for it in node.values):  # fmt: skip
            return None
        named = self._named(node)
        return [
            self._node(
                (*node.place, number),
                node.step,
                [it[number] for it in node.values],
                is_named=named[number],
                hidden=hidden[number] if isinstance(hidden, list) else NOTHING,
            )
            for number in range(len(first))
        ]

    def _members(self, node: Node, first: dict[str, Any], hidden: Any) -> Mapping[str, Node] | None:
        """Names are written down with what they name: where one of them may not be, nothing below is told apart."""
        if not first or EXPRESSION in first:
            return None
        if not all(isinstance(it, dict) and it.keys() == first.keys() for it in node.values):
            return None
        if any(map(self.looking.is_sensitive, first)):
            return None
        if not isinstance(hidden, dict) or hidden.keys() != first.keys():
            return None
        named = dict(zip(first, self._named(node), strict=True))
        return {
            name: self._node(
                (*node.place, name),
                node.step,
                [it[name] for it in node.values],
                is_named=named[name],
                hidden=hidden[name],
            )
            for name in sorted(first)
        }

    def _named(self, node: Node) -> list[bool]:
        """What the names say in any of the runs."""
        names = [*node.values[0]]
        found = [False] * len(names)
        for value in node.values:
            told = self.looking.named_within(value, is_named=node.is_named)
            if isinstance(value, dict):
                by_name = dict(zip(value, told, strict=True))
                told = [by_name[it] for it in names]
            found = [one or other for one, other in zip(found, told, strict=True)]
        return found


def _cannot_be_written(value: Any) -> Iterator[str]:
    waiting = [value]
    while waiting:
        it = waiting.pop()
        if isinstance(it, dict):
            if EXPRESSION in it:
                yield TEMPLATE
            waiting += it.values()
        elif isinstance(it, list):
            waiting += it
        elif isinstance(it, str):
            if len(it) > LONGEST_LOOKED_AT:
                yield TOO_LONG
        elif not can_be_kept(it):
            yield NOT_KEPT
