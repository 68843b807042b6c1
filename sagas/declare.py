"""How a write would be undone: declared before the write is sent, resolved from what it returned. Pure.

Nothing is filled in twice. What is known beforehand is kept as a table from path to value, and the template is filled
once, at the end, from that table and the write's own result: a value that holds `{{ result.key }}` stays that text.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from liyagent.agents.compensations import LONGEST_SERVER, LONGEST_TOOL, undo_tool
from liyagent.core.errors import BadInput, LiyagentError
from liyagent.core.plain import MOST_DEPTH, NotStorable, clean_text, to_plain
from liyagent.core.templates import MissingPath, lookup, paths_of, render_by

LONGEST_MISSING = 500
# Of the template with what it reads, and of the arguments it is filled to: what a tool answers (1 MiB) and as much again
# of the input fit, and a mark stays small enough to be written ahead.
MOST_BYTES = 4 << 20
UNKNOWN_RESULT = "{path!r} cannot be read: what the write returned is not known"
OWN_STEP = "{path!r} is not known before the write: of its own step an undo reads {own!r} and what is below"


@dataclass(frozen=True, slots=True, kw_only=True)
class Declared:
    """How a write would be undone, as far as it is known before the write is sent; sealed in the write's mark (SG-03).

    `args` is the template as declared; `own` the prefix of the paths that the write's own result answers: `result` for an
    agent's map, `steps.<id>.output` in a workflow. `known` has the value of every other path that the template reads.
    `missing` is a sentence that names what is wrong or leads nowhere, "" where nothing is: such an undo can never be
    made. The sentence may quote names that occur in the run's data: it is to be sealed as they are.
    """

    server: str
    tool: str
    args: dict[str, Any]
    own: str
    known: dict[str, Any]
    missing: str = ""

    def as_json(self) -> dict[str, Any]:
        """Return it as plain JSON."""
        return {name: getattr(self, name) for name in self.__slots__}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Return what `as_json` told. What a later release told beside it is left out."""
        return cls(**{name: data[name] for name in cls.__slots__ if name in data})


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolved:
    """The undo of a write that took effect: `args` is final. With `missing` it cannot be made, and `args` is empty."""

    server: str
    tool: str
    args: dict[str, Any] = field(default_factory=dict)
    missing: str = ""


def declare(
    undo: Mapping[str, Any], *, server: str, own: str, scope: Mapping[str, Any]
) -> Declared:
    """Return how a write at `server` would be undone; `scope` is what its expressions read but for the write's result.

    `undo` is `{"tool": "name" or "server/name", "server"?: text, "args"?: object}`. Without either the server is the
    write's; beside `server` the whole of `tool` is the tool's name. Template and known values have 4 MiB together.
    Never raises: what is wrong is told as `missing`, and names the path.
    """
    at, tool = _shown(undo, server)
    try:
        at, tool = undo_tool(undo, server)
        args = _bounded(undo.get("args", {}), "args of the undo is")
        if not isinstance(args, dict):
            raise BadInput(f"args of the undo is {type(args).__name__}; an object is wanted")
        known = _known(args, own, dict(scope))
        _bounded([args, known], "the undo with what it reads is", levels=2)
    except LiyagentError as error:
        return Declared(server=at, tool=tool, args={}, own=own, known={}, missing=_said(error))
    return Declared(server=at, tool=tool, args=args, own=own, known=known)


def resolve(declared: Declared, result: Any, *, is_known: bool = True) -> Resolved:
    """Return the undo with final arguments: the write's own paths read `result`, all others what was known.

    With `is_known=False` the write took effect and what it returned is not known: an undo that reads any of it is
    missing. Final arguments have 4 MiB at most. Never raises; `missing` names the path.
    """
    if declared.missing:
        return Resolved(server=declared.server, tool=declared.tool, missing=declared.missing)
    context = _nested(declared.own, result)

    def find(path: str) -> Any:
        if not _is_own(path, declared.own):
            return declared.known[path]
        if not is_known:
            raise MissingPath(UNKNOWN_RESULT.format(path=path))
        return lookup(path, context)

    try:
        args = _bounded(render_by(declared.args, find), "args of the undo would be")
        if not isinstance(args, dict):
            raise BadInput(f"args of the undo would be {type(args).__name__}; an object is wanted")
    except LiyagentError as error:
        return Resolved(server=declared.server, tool=declared.tool, missing=_said(error))
    return Resolved(server=declared.server, tool=declared.tool, args=args)


def _shown(undo: Any, server: str) -> tuple[str, str]:
    """What stands for an undo that cannot be read: its names as far as they are texts, cut."""
    told = undo if isinstance(undo, Mapping) else {}
    at, tool = told.get("server"), told.get("tool")
    at = clean_text(at)[:LONGEST_SERVER] if isinstance(at, str) and at else server
    return at, clean_text(tool)[:LONGEST_TOOL] if isinstance(tool, str) else ""


def _known(args: dict[str, Any], own: str, scope: dict[str, Any]) -> dict[str, Any]:
    """The value of each path that the result does not answer, copied so that no later step can change it."""
    known: dict[str, Any] = {}
    for path in paths_of(args):
        if _is_own(path, own):
            continue
        if _is_beside(path, own):
            raise MissingPath(OWN_STEP.format(path=path, own=own))
        known[path] = lookup(path, scope)
    plain: dict[str, Any] = _bounded(known, "what the undo reads is", levels=1)
    return plain


def _bounded(value: Any, what: str, *, levels: int = 0) -> Any:
    """A plain copy of at most 4 MiB; `levels` are those around the values. Raises `BadInput`."""
    try:
        return to_plain(value, limit_bytes=MOST_BYTES, max_depth=MOST_DEPTH + levels)
    except NotStorable as error:
        raise BadInput(f"{what} {error}") from None


def _is_own(path: str, own: str) -> bool:
    return path == own or path.startswith(f"{own}.")


def _is_beside(path: str, own: str) -> bool:
    """Whether it reads the write's own step beyond its result: of an earlier round of a loop, it would be another's."""
    step = own.rpartition(".")[0]
    return own.startswith(f"{path}.") or bool(step and path.startswith(f"{step}."))


def _nested(own: str, result: Any) -> dict[str, Any]:
    """A context in which `own` leads to the result."""
    found = result
    for part in reversed(own.split(".")):
        found = {part: found}
    return {**found}


def _said(error: LiyagentError) -> str:
    return clean_text(str(error))[:LONGEST_MISSING]
