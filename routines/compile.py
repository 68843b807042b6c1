"""Compile runs that made the same calls in the same order into a routine (RT-02). Pure: no clock, no chance, no database.

A value that is the same in every run is a literal; one that an earlier call always returned is read from there; anything else is
a parameter. What looks secret or personal is never written down (ruling 42, FL-93).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from liyagent.core.canonical import NotCanonical, digest
from liyagent.core.json_path import json_path
from liyagent.gateway.data_rules import DataRule
from routines.compiled import AsParameter, Compiled, Kind, Origin, pointer
from routines.definition import (
    AGENTS,
    MOST_CALLS,
    TASK,
    definition_of_routine,
    reading,
    why_not_taken,
    written,
)
from routines.parameters import Parameters
from routines.paths import find_paths, has_little_to_say
from routines.recorded import RecordedRun, sources_among
from routines.secrets import Looking
from routines.tree import Node, Planting, Withheld
from routines.values import is_name_of

# Of one literal so many values are told one by one, of all so many.
MOST_LEAVES, MOST_ORIGINS = 50, 1_000
LONGEST_WHY = 500
SAME = "the same in every run"
RETURNED = "always what that call returned there"
DIFFERS = "differs from run to run"


def compile_routine(
    runs: Sequence[RecordedRun],
    *,
    agent: str,
    as_parameters: Sequence[AsParameter] = (),
    rules: Sequence[DataRule] = (),
) -> Compiled:
    """Return what runs of one pattern compile to, the same whatever the order that they come in.

    `as_parameters` are places that a person wants to be parameters; `rules` the data policies, what they cover is no literal.
    Of many runs, or large ones, the newest are compiled from (`Compiled.runs`). Raises `ValueError` where there is no run, no
    call, or runs of several patterns.
    """
    if not runs or not runs[0].calls or len({it.tools for it in runs}) > 1:
        raise ValueError("a routine is compiled from runs that made the same calls")
    try:
        sources = sources_among(runs)
        compiling = _Compiling(sources, agent=agent, as_parameters=as_parameters, rules=rules)
        return compiling.compiled()
    except NotCanonical as error:
        return _withheld(runs, f"a value of its runs cannot be compared: {error}")
    except Withheld as why:
        return _withheld(sources, str(why))


def _withheld(runs: Sequence[RecordedRun], why: str) -> Compiled:
    return Compiled(
        definition={},
        digest="",
        parameters=(),
        origins=(),
        withheld=why[:LONGEST_WHY],
        tools=runs[0].tools,
        runs=tuple(it.id for it in runs),
        distinct_inputs=len({it.task for it in runs}),
    )


class _Compiling:
    def __init__(
        self,
        sources: Sequence[RecordedRun],
        *,
        agent: str,
        as_parameters: Sequence[AsParameter],
        rules: Sequence[DataRule],
    ) -> None:
        self.sources, self.agent, self.rules = sources, agent, rules
        self.calls = sources[0].calls
        self.asked = {it.place: it for it in as_parameters}
        self.looking = Looking()
        self.parameters = Parameters(
            tasks=[it.task for it in sources],
            tools=sources[0].tools,
            asked=self.asked,
            looking=self.looking,
        )
        self.origins: list[Origin] = []

    def compiled(self) -> Compiled:
        """Compile. Raises `Withheld`, `NotCanonical`."""
        if len(self.calls) > MOST_CALLS:
            raise Withheld(f"it makes {len(self.calls)} calls; a routine has at most {MOST_CALLS}")
        planting = Planting(
            sources=self.sources,
            rules=self.rules,
            asked=frozenset(self.asked),
            looking=self.looking,
        )
        trees = [planting.tree(number) for number in range(len(self.calls))]
        for call, tree in zip(self.calls, trees, strict=True):
            _check_task(call.server, tree)
        find_paths(self.sources, trees)
        args = [self._template(it) for it in trees]
        definition = definition_of_routine(
            agent=self.agent,
            calls=[(it.server, it.tool) for it in self.calls],
            args=args,
            parameters=self.parameters.all(),
        )
        why = why_not_taken(definition)
        if why:
            raise Withheld(why)
        return Compiled(
            definition=definition,
            digest=digest(definition),
            parameters=self.parameters.all(),
            origins=tuple(self.origins),
            withheld="",
            tools=self.sources[0].tools,
            runs=tuple(it.id for it in self.sources),
            distinct_inputs=len({it.task for it in self.sources}),
        )

    def _template(self, node: Node) -> Any:
        if node.is_literal:
            self.origins += self._told_literal(node)
            return written(node.values[0])
        path = self._path(node)
        if path:
            self._tell(node, Kind.EXPRESSION, path, RETURNED)
            return reading(path)
        if isinstance(node.children, dict):
            return {name: self._template(it) for name, it in node.children.items()}
        if node.children is not None:
            return [self._template(it) for it in node.parts()]
        path = f"input.{self.parameters.name_for(node)}"
        self._tell(node, Kind.PARAMETER, path, node.why or DIFFERS)
        return reading(path)

    def _path(self, node: Node) -> str:
        """The best of the paths that always lead to a value, "" where there is none."""
        ranked = sorted(self._ranked(node))
        return ranked[0][-1] if ranked else ""

    def _ranked(self, node: Node) -> Iterator[tuple[bool, int, int, str]]:
        """One that is called as the value is goes before others, an earlier call before a later, a short path before a long."""
        wants_name = bool(node.paths) and has_little_to_say(node)
        is_task = self.calls[node.step].server == AGENTS
        for number, parts in node.paths:
            is_named = is_name_of(node.name, parts, self.calls[number].tool)
            if wants_name and not is_named:
                continue
            # Names are written down with the path; a task is text, in which a path is found by its braces.
            path = ".".join((f"steps.s{number + 1}.output", *parts))
            if any(map(self.looking.is_sensitive, parts)) or (is_task and not _fits_text(path)):
                continue
            yield not is_named, number, len(parts), path

    def _told_literal(self, node: Node) -> list[Origin]:
        left = MOST_ORIGINS - len(self.origins)
        leaves = [
            it
            for _, it in zip(
                range(MOST_LEAVES + 1), _leaves(node.place, node.values[0]), strict=False
            )
        ]
        places = leaves if len(leaves) <= min(MOST_LEAVES, left) else [node.place]
        return [_origin(it, Kind.LITERAL, "", 1, SAME) for it in places[:left]]

    def _tell(self, node: Node, kind: Kind, reads: str, why: str) -> None:
        if len(self.origins) < MOST_ORIGINS:
            distinct = len(set(map(digest, node.values)))
            self.origins.append(_origin(node.place, kind, reads, distinct, why))


def _check_task(server: str, tree: Node) -> None:
    """A step that asks an agent gives it a task, a text."""
    if server != AGENTS:
        return
    is_task = all(
        it.keys() == {TASK} and isinstance(it[TASK], str) and it[TASK] for it in tree.values
    )
    if not is_task:
        raise Withheld(f"{tree.place[0]} asks an agent with something else than a task")


def _leaves(place: tuple[str | int, ...], value: Any) -> Iterator[tuple[str | int, ...]]:
    waiting: list[tuple[tuple[str | int, ...], Any]] = [(place, value)]
    while waiting:
        where, it = waiting.pop()
        if not it or not isinstance(it, dict | list):
            yield where
            continue
        inner = sorted(it.items()) if isinstance(it, dict) else [*enumerate(it)]
        waiting += [((*where, name), item) for name, item in reversed(inner)]


def _origin(
    place: tuple[str | int, ...], kind: Kind, reads: str, distinct: int, why: str
) -> Origin:
    return Origin(
        place=pointer(place),
        shown=f"{place[0]} {json_path(place[1:])}",
        kind=kind,
        reads=reads,
        distinct=distinct,
        why=why,
    )


def _fits_text(path: str) -> bool:
    return path == path.strip() and "{" not in path and "}" not in path
