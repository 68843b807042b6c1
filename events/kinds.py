"""Every kind of event, and the shape of what it tells: one table (EV-01). Pure.

`misfit` says what of an event does not fit its kind. Tests ask it of all that the code writes; the hot path does not, for what
is written once is recorded whatever it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class Type(StrEnum):
    """What a field holds. `WORDS`: anybody's words, kept where a run is recorded in full, else their digest (EV-06)."""

    TEXT = "text"
    NUMBER = "number"
    NAMES = "list of texts"
    PLACES = "list of [step, index]"
    CALLS = "list of {index, call, settlement}"
    WORDS = "words"


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """A kind of event. `fields` are always told, `may_have` not by all who write it.

    `tells` is a sentence for the reader. `later`: the part of the product that writes it, 0 where it is written today.
    """

    name: str
    tells: str
    fields: Mapping[str, Type]
    may_have: Mapping[str, Type]
    later: int = 0


TEXT, NUMBER, NAMES, WORDS = Type.TEXT, Type.NUMBER, Type.NAMES, Type.WORDS
PLACES, CALLS = Type.PLACES, Type.CALLS
PLACE = {"step": NUMBER, "index": NUMBER, "server": TEXT, "tool": TEXT}
AUTHORITY = {"digest": TEXT, "policy": TEXT, "ceiling": TEXT, "run_as": TEXT}
COUNTERS = dict.fromkeys(("input_tokens", "output_tokens", "cost_micros"), NUMBER)


def _kind(
    name: str,
    tells: str,
    fields: Mapping[str, Type],
    may_have: Mapping[str, Type] | None = None,
    *,
    later: int = 0,
) -> Kind:
    return Kind(name=name, tells=tells, fields=fields, may_have=may_have or {}, later=later)


KINDS: Mapping[str, Kind] = {
    it.name: it
    for it in (
        _kind(
            "run.started",
            "a run began: its agent, the version of it, by which way and by whom",
            {"agent": TEXT, "version": NUMBER, "entry": TEXT, "started_by": TEXT, "holder": TEXT},
            {"task": WORDS},
        ),
        _kind(
            "run.resumed",
            "another process went on with a run that was lost, having decided how each call that was left is settled",
            {"attempt": NUMBER, "step": NUMBER, "losses": NUMBER, "cause": TEXT, "holder": TEXT}
            | {"calls": CALLS},
        ),
        _kind("run.handed_over", "a process that stops gave the run back", {"holder": TEXT}),
        _kind(
            "step",
            "the model answered; `calls` are those that it asks for, in order",
            {"step": NUMBER, "finish": TEXT, **COUNTERS, "calls": NAMES, "text": WORDS},
        ),
        _kind(
            "tool.call",
            "what came of a call, on which authority it was made, and how it was settled where it was in doubt",
            {**PLACE, "effect": TEXT, "fate": TEXT, "posture": TEXT, "gate": TEXT, "policy": TEXT}
            | {"run_as": TEXT, "key": TEXT, "settlement": TEXT, "ms": NUMBER}
            | {"args": WORDS, "result": WORDS},
            {"approval": TEXT},
        ),
        _kind(
            "call.settled",
            "a person said what happened to a call whose outcome nobody knew",
            {**PLACE, "fate": TEXT, "settlement": TEXT, "by": TEXT},
        ),
        _kind(
            "approval.requested",
            "a call was put before a person",
            {"approval": TEXT, **PLACE, "gate": TEXT, **AUTHORITY},
        ),
        _kind(
            "approval.decided",
            "what was decided of a request, by whom, and on which digest, policy and ceiling; by nobody where it ran out",
            {"approval": TEXT, **PLACE, "by": TEXT, "decision": TEXT, **AUTHORITY},
        ),
        _kind(
            "agent.guardrail",
            "a check of words refused or masked something; never what it found",
            dict.fromkeys(("agent", "direction", "check", "name", "action"), TEXT),
        ),
        _kind(
            "run.ended",
            "a run ended, how, and what it came to; `unsettled` are the calls that nobody settled before",
            {"status": TEXT, "reason": TEXT, "error": TEXT, "steps": NUMBER},
            {"calls": NUMBER, **COUNTERS, "unsettled": PLACES, "losses": NUMBER, "answer": WORDS},
        ),
        _kind(
            "gap",
            "so many events were never written: the database refused them, and the run was not held up for it",
            {"missing": NUMBER},
        ),
        _kind(
            "retry",
            "a step of a workflow is tried again",
            {"name": TEXT, "attempt": NUMBER, "why": WORDS},
        ),
        _kind(
            "workflow.started",
            "a run of a workflow began",
            {"workflow": TEXT, "version": NUMBER, "digest": TEXT},
            {"input": WORDS},
        ),
        _kind(
            "workflow.step",
            "a step of a workflow came to its end",
            {"name": TEXT, "type": TEXT, "fate": TEXT, "attempt": NUMBER},
            {"output": WORDS, "why": WORDS},
        ),
        _kind(
            "workflow.waiting",
            "a workflow waits for a time, an event or a person",
            {"name": TEXT, "waits_for": TEXT},
            {"until": TEXT},
        ),
        _kind(
            "workflow.ended",
            "a run of a workflow ended",
            {"fate": TEXT, "steps": NUMBER},
            {"failed_step": TEXT},
        ),
        _kind(
            "saga.registered",
            "an undo is owed for a write that took effect",
            {**PLACE, "key": TEXT, "undo": TEXT},
            {"missing": TEXT},
        ),
        _kind(
            "saga.compensating",
            "what a run did is being undone: its so many-eth round, and how many undos are owed",
            {"round": NUMBER, "undos": NUMBER},
        ),
        _kind(
            "saga.undone",
            "what came of an undo",
            {**PLACE, "order": NUMBER, "fate": TEXT, "key": TEXT, "tries": NUMBER},
            {"approval": TEXT, "note": TEXT},
        ),
        _kind(
            "saga.ended",
            "all undos of a run that were owed were tried in this round",
            {"tried": NUMBER, "done": NUMBER, "held": NUMBER, "failed": NUMBER, "unknown": NUMBER},
        ),
        _kind(
            "saga.handoff",
            "what a failed run left was put before a person: as what, and the id of the request or the number of the ticket",
            {"handoff": TEXT, "id": TEXT},
        ),
        _kind(
            "handoff",
            "a version of a hand-off was written or read by this run",
            {"thread": TEXT, "version": NUMBER, "digest": TEXT, "direction": TEXT},
        ),
    )
}


def misfit(kind: str, content: Any) -> str:
    """Return what of an event does not fit its kind, "" where all does."""
    known = KINDS.get(kind)
    if known is None:
        return f"{kind!r} is no kind of event"
    if not isinstance(content, Mapping):
        return f"{kind} tells no object"
    missing = known.fields.keys() - content.keys()
    if missing:
        return f"{kind} does not tell {', '.join(sorted(missing))}"
    shape = {**known.fields, **known.may_have}
    for name, value in content.items():
        if name not in shape:
            return f"{kind} has no field {name!r}"
        if not _fits(value, shape[name]):
            return f"{kind}: {name} is {value!r}; it wants {shape[name].value}"
    return ""


def fact_names() -> frozenset[str]:
    """Return the names of all fields that are words of nobody, of any kind."""
    shapes = [{**it.fields, **it.may_have} for it in KINDS.values()]
    words = {name for shape in shapes for name, of in shape.items() if of is WORDS}
    return frozenset(name for shape in shapes for name in shape) - words


def _fits(value: Any, wanted: Type) -> bool:
    if wanted is TEXT:
        return isinstance(value, str)
    if wanted is NUMBER:
        return _is_number(value)
    if wanted is WORDS:
        return True
    return isinstance(value, list) and all(_is_item(it, wanted) for it in value)


def _is_item(value: Any, wanted: Type) -> bool:
    if wanted is NAMES:
        return isinstance(value, str)
    if wanted is PLACES:
        return isinstance(value, list) and len(value) == 2 and all(map(_is_number, value))
    return (
        isinstance(value, Mapping)
        and value.keys() == {"index", "call", "settlement"}
        and _is_number(value["index"])
        and isinstance(value["call"], str)
        and isinstance(value["settlement"], str)
    )


def _is_number(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
