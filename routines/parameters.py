"""The parameters of a routine: places that have the same value in every run share one, and each has a name that tells what it is. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from liyagent.core.canonical import digest
from liyagent.core.json_path import json_path
from routines.compiled import AsParameter, Parameter, pointer
from routines.definition import TASK
from routines.secrets import Looking
from routines.tree import ASKED, POLICY, SENSITIVE, Node
from routines.values import slug_of, type_of

LONGEST_NAME = 64
# Of so many of a place's values, and of no longer ones, it is seen whether they look secret or personal.
MOST_LOOKED_AT, LONGEST_LOOKED_AT = 20, 4 << 10
Values = tuple[str, ...]


@dataclass(slots=True, kw_only=True)
class _Draft:
    name: str
    nodes: list[Node] = field(default_factory=list)


@dataclass(slots=True, kw_only=True)
class Parameters:
    """Gives places their parameter, in the order in which they come. `tools` are the pattern's."""

    tasks: Sequence[str]
    tools: Sequence[str]
    asked: Mapping[str, AsParameter]
    looking: Looking
    _drafts: dict[tuple[str, Values], _Draft] = field(default_factory=dict)
    _taken: set[str] = field(default_factory=lambda: {TASK})

    def __post_init__(self) -> None:
        """What is the task in every run is read from it."""
        if len(set(self.tasks)) > 1:
            self._drafts["", _identities(self.tasks)] = _Draft(name=TASK)

    def name_for(self, node: Node) -> str:
        """Return the name of the parameter that stands at a place."""
        values = _identities(node.values)
        asked = self.asked.get(pointer(node.place))
        # Two literals that are the same by chance are not the same parameter because of it, unless they are named alike.
        apart = "" if asked is None or not node.is_constant else asked.name or asked.place
        draft = self._drafts.get((apart, values))
        if draft is None:
            draft = _Draft(name=self._free_name(node, asked.name if asked else ""))
            self._drafts[apart, values] = draft
            self._taken.add(draft.name)
        draft.nodes.append(node)
        return draft.name

    def all(self) -> tuple[Parameter, ...]:
        """Return every parameter but the task's own, by name."""
        drafts = sorted(self._drafts.values(), key=lambda it: it.name)
        return tuple(self._parameter(it) for it in drafts if it.nodes)

    def _parameter(self, draft: _Draft) -> Parameter:
        first = draft.nodes[0]
        types = {type_of(it) for it in first.values}
        types -= {"integer"} if "number" in types else set()
        distinct = len(set(_identities(first.values)))
        is_sensitive = any(map(self._is_sensitive, draft.nodes))
        return Parameter(
            name=draft.name,
            types=tuple(sorted(types)),
            description=self._description(draft.nodes, is_sensitive=is_sensitive),
            places=tuple(pointer(it.place) for it in draft.nodes),
            distinct=distinct,
            is_sensitive=is_sensitive,
        )

    def _description(self, nodes: Sequence[Node], *, is_sensitive: bool) -> str:
        """In the definition, so the same however many runs there are: a request outlives those that say nothing new (FL-94)."""
        first = nodes[0]
        more = f" and {len(nodes) - 1} more of its places" if len(nodes) > 1 else ""
        secret = " It looks secret or personal, and is kept nowhere." if is_sensitive else ""
        return f"What step {first.place[0]}, {self.tools[first.step]}, is given as {json_path(first.place[1:])}{more}.{secret}"

    def _is_sensitive(self, node: Node) -> bool:
        if node.is_named or node.why in {SENSITIVE, POLICY}:
            return True
        if node.why not in {"", ASKED}:
            return False
        looked_at = [it for it in node.values[:MOST_LOOKED_AT] if not _is_long(it)]
        return any(self.looking.is_sensitive_within(it, is_named=False) for it in looked_at)

    def _free_name(self, node: Node, given: str) -> str:
        if given and slug_of(given) == given and given not in self._taken:
            return given
        names = [slug_of(it) for it in node.place[1:] if isinstance(it, str)]
        own = names[-1] if names and names[-1] else f"{node.place[0]}_input"
        tool = slug_of(self.tools[node.step].rpartition("/")[2]) or str(node.place[0])
        wider = [f"{names[-2]}_{own}"] if len(names) > 1 and names[-2] else []
        for name in (it[:LONGEST_NAME] for it in (own, *wider, f"{tool}_{own}")):
            if name not in self._taken and not self.looking.is_sensitive(name):
                return name
        number = 2
        while f"{own[:48]}_{number}" in self._taken:
            number += 1
        return f"{own[:48]}_{number}"


def _identities(values: Sequence[Any]) -> Values:
    return tuple(map(digest, values))


def _is_long(value: Any) -> bool:
    return isinstance(value, str) and len(value) > LONGEST_LOOKED_AT
