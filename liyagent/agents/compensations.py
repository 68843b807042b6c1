"""How an agent's own writes are undone: a map from a tool, `server/name`, to the call that takes it back (SG-02).

`{"jira/create_issue": {"tool": "delete_issue", "args": {"key": "{{ result.key }}"}}}`. Here is its shape; whether the
tools are there and may be used is looked at by rooms that know them, which put their checks into the tables below.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from liyagent.core.errors import BadInput
from liyagent.core.files import Place
from liyagent.core.plain import NotStorable, clean_text, to_plain
from liyagent.core.templates import readings_of

MOST_UNDOS = 200
# It is kept with each version of its agent, and told whole where it is audited.
MOST_BYTES = 64 << 10
MOST_PROBLEMS = 50
LONGEST_SERVER, LONGEST_TOOL = 80, 200
TOOL = re.compile(r"[^/\s]{1,80}/\S{1,200}")
NAMES = ("tool", "server", "args")
READS = ("args", "result")

# Where something is wrong in a definition, and what.
Problem = tuple[Place, str]
# Asked with a checked definition; `is_whole`: also of what stands already as it is, and nobody changes.
MapCheck = Callable[[Mapping[str, Any], bool], Iterable[Problem]]
# For tool patterns: by tool, the undo that its contract suggests.
Suggest = Callable[[Sequence[str]], Mapping[str, Any]]

MAP_CHECKS: list[MapCheck] = []
SUGGESTIONS: list[Suggest] = []


class Wrong(ValueError):
    """Several things are wrong in one field, each at a place below it."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        """`problems`: the names that lead there from the field on, and a sentence."""
        self.problems = list(problems)
        super().__init__("; ".join(said for _, said in problems))


def clean_compensations(value: Any) -> dict[str, dict[str, Any]]:
    """Return a map that has the right shape. Raises `Wrong`."""
    if not isinstance(value, dict) or len(value) > MOST_UNDOS:
        raise Wrong([((), f"wants an object of at most {MOST_UNDOS} tools, each with its undo")])
    try:
        plain: dict[str, dict[str, Any]] = to_plain(value, limit_bytes=MOST_BYTES)
    except NotStorable as error:
        raise Wrong([((), f"is {error}")]) from None
    problems = [it for name, undo in plain.items() for it in _problems(name, undo)]
    if problems:
        raise Wrong(problems[:MOST_PROBLEMS])
    return plain


def problems_in_world(definition: Mapping[str, Any], *, is_whole: bool) -> list[Problem]:
    """Return what the rooms above find wrong with the map of a definition of the right shape."""
    if not definition["compensations"]:
        return []
    found = [it for check in MAP_CHECKS for it in check(definition, is_whole)]
    return [(("compensations", *place), said) for place, said in found[:MOST_PROBLEMS]]


def suggested_undos(patterns: Sequence[str]) -> dict[str, Any]:
    """Return, by tool, the undos that contracts suggest for the tools that these patterns let in."""
    return {name: undo for suggest in SUGGESTIONS for name, undo in suggest(patterns).items()}


def undo_tool(undo: Mapping[str, Any], server: str) -> tuple[str, str]:
    """Return server and tool of an undo; `server` is that of the write. Raises `BadInput` with what is wrong.

    Beside `server` the whole of `tool` is the tool's name; else `tool` may be `server/name`.
    """
    if not isinstance(undo, Mapping):
        raise BadInput(f"the undo is {type(undo).__name__}; an object with tool and args is wanted")
    if odd := sorted(str(name)[:LONGEST_SERVER] for name in set(undo) - set(NAMES)):
        raise BadInput(f"the undo has {odd[0]!r}; it takes {', '.join(NAMES)}")
    at, tool = undo.get("server", ""), undo.get("tool")
    if isinstance(tool, str) and not at and "/" in tool:
        at, _, tool = tool.partition("/")
    return _name("server", at or server, LONGEST_SERVER), _name("tool", tool, LONGEST_TOOL)


def _name(part: str, value: Any, longest: int) -> str:
    if not isinstance(value, str) or not 1 <= len(value) <= longest or clean_text(value) != value:
        raise BadInput(f"{part} of the undo wants text of 1 to {longest} characters")
    return value


def _problems(name: str, undo: Any) -> Iterator[Problem]:
    if not TOOL.fullmatch(name):
        yield (name,), "is no tool; it wants server/name, such as jira/create_issue"
        return
    try:
        undo_tool(undo, name.partition("/")[0])
    except BadInput as error:
        yield (name,), f"is wrong: {error}"
        return
    args = undo.get("args", {})
    if not isinstance(args, dict):
        yield (name, "args"), f"is {type(args).__name__}; an object is wanted"
        return
    for reading in readings_of(args):
        place: Place = (name, "args", *reading.place)
        root = reading.path.partition(".")[0]
        if reading.problem:
            yield place, reading.problem
        elif root not in READS:
            told = f"{reading.path!r} reads {root!r}"
            yield place, f"{told}; what an undo reads are args and result of the call"
