"""A run read from top to bottom: its steps with their calls nested, and what happened between them, in the order of the log.

Nothing here asks the database. It is total: whatever stands in the log, edited rows too, is shown as it stands.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, ClassVar
from uuid import UUID

from events.content import some_list, some_text, whole_number
from events.words import without_words
from liyagent.approvals.models import Approval
from liyagent.core.tables import visible
from runs.decisions import with_decision
from runs.shown_call import ShownCall, ShownLine, add_mark, call_of
from runs.shown_note import ShownNote, note_of
from runs.shown_words import shown_words
from runs.told_events import LAST, Told
from runs.wording import in_words

# So long in which nothing was written is said to be so.
QUIET_SECONDS = 30.0
# What is told beside the outcome of a call, in its own line.
BESIDE_CALLS = frozenset({"approval.requested", "approval.decided", "call.settled"})
DECISIONS: Mapping[str, str] = {
    "approved": "approved",
    "rejected": "refused",
    "expired": "nobody decided in time: it expired",
    "withdrawn": "withdrawn: its run ended or went another way",
}
Place = tuple[int, int]
# Where something stands: by which event, before it or at it, then by step and call.
Order = tuple[int, int, int, int]


@dataclass(slots=True, kw_only=True)
class ShownStep:
    """One model step with its calls and what happened between them. `event` is None where no event tells of it.

    `seconds` is about how long the model took, None where nobody knows.
    """

    form: ClassVar[str] = "step"
    number: int
    event: int | None = None
    at: datetime | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)
    text: str = ""
    asked: int = 0
    seconds: float | None = None
    items: list[Any] = field(default_factory=list)

    @property
    def calls(self) -> list[ShownCall]:
        """Its calls, in order."""
        return [it for it in self.items if isinstance(it, ShownCall)]


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownQuiet:
    """A time in which nothing of the run was written."""

    form: ClassVar[str] = "quiet"
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownBreak:
    """The place at which the record stops to be what was written."""

    form: ClassVar[str] = "break"
    number: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Material:
    """What one run's part of a page is made of. `shells`: steps to show though no event tells of them.

    `begun`: when its first attempt began, where that is known.
    """

    told: Sequence[Told]
    marks: Sequence[Mapping[str, Any]] = ()
    requests: Mapping[UUID, Approval] = field(default_factory=dict)
    shells: Iterable[int] = ()
    begun: datetime | None = None
    broken_at: int | None = None


def lay_out(material: Material, *, with_words: bool) -> list[Any]:
    """Return steps, notes and quiet times in the order in which they are read; words only where they may be."""
    ordered, calls = _events(material, with_words=with_words)
    _add_marks(material, ordered, calls)
    _add_lines(material, ordered, calls, with_words=with_words)
    _add_shells(material, ordered)
    if material.broken_at is not None:
        ordered.append(((material.broken_at, -1, 0, 0), ShownBreak(number=material.broken_at)))
    ordered.sort(key=lambda it: it[0])
    return _grouped(it for _, it in ordered)


def _events(
    material: Material, *, with_words: bool
) -> tuple[list[tuple[Order, Any]], dict[Place, ShownCall]]:
    ordered: list[tuple[Order, Any]] = []
    calls: dict[Place, ShownCall] = {}
    before, last = material.begun, material.begun
    waited = 0.0
    for it in material.told:
        if last is None or it.at > last:
            before, last, waited = last, it.at, 0.0
        item: Any
        if it.kind == "step":
            item = _step(it, before, waited, with_words=with_words)
            before = it.at
        elif it.kind == "tool.call":
            item = call_of(it, it.content if with_words else without_words(it.content))
            calls[item.step, item.index] = item
            waited += item.took or 0.0
        elif it.kind in BESIDE_CALLS:
            continue
        else:
            item = note_of(it, with_words=with_words)
        place = (item.step, item.index) if isinstance(item, ShownCall) else (0, 0)
        ordered.append(((it.number, 1, *place), item))
    return ordered, calls


def _step(told: Told, before: datetime | None, waited: float, *, with_words: bool) -> ShownStep:
    """The model took what passed since the commit before, less the reads whose events went into the same commit."""
    facts = told.content if with_words else without_words(told.content)
    seconds = (told.at - before).total_seconds() - waited if before else None
    return ShownStep(
        number=whole_number(facts.get("step")),
        event=told.number,
        at=told.at,
        facts={
            **{name: whole_number(facts.get(name)) for name in ("input_tokens", "output_tokens")},
            "finish": visible(in_words({}, some_text(facts.get("finish")))),
        },
        text=shown_words(facts.get("text")),
        asked=len(some_list(facts.get("calls"))),
        seconds=max(0.0, seconds) if seconds is not None else None,
    )


def _add_marks(
    material: Material, ordered: list[tuple[Order, Any]], calls: dict[Place, ShownCall]
) -> None:
    """A marked call stands where it was marked: a takeover that found it in doubt comes after it."""
    steps = {it.number: it.event or 0 for _, it in ordered if isinstance(it, ShownStep)}
    for mark in material.marks:
        place = (mark["step"], mark["index"])
        call = calls.get(place)
        if call is None:
            name = visible(f"{mark['server']}/{mark['tool']}")
            call = calls[place] = ShownCall(step=place[0], index=place[1], name=name)
        else:
            ordered[:] = [it for it in ordered if it[1] is not call]
        add_mark(
            call,
            with_decision(dict(mark), material.requests),
            material.requests.get(mark["approval_id"]),
        )
        order = _place_of_mark(material.told, call, steps.get(place[0], 0))
        ordered.append(((*order, *place), call))


def _place_of_mark(told: Sequence[Told], call: ShownCall, step: int) -> tuple[int, int]:
    for it in told:
        if it.number == call.number:
            return it.number, 1
        is_behind = call.marked_at is not None and it.at > call.marked_at
        # A read before it in its step is told of in the write's own commit.
        if it.number > step and is_behind and not _is_before_in_step(it, call):
            return it.number, 0
    return (call.number, 1) if call.number else (LAST, 0)


def _is_before_in_step(told: Told, call: ShownCall) -> bool:
    place = (whole_number(told.content.get("step")), whole_number(told.content.get("index")))
    return told.kind == "tool.call" and place[0] == call.step and place[1] < call.index


def _add_lines(
    material: Material,
    ordered: list[tuple[Order, Any]],
    calls: Mapping[Place, ShownCall],
    *,
    with_words: bool,
) -> None:
    asked: dict[Place, datetime] = {}
    for it in material.told:
        if it.kind not in BESIDE_CALLS:
            continue
        place = (whole_number(it.content.get("step")), whole_number(it.content.get("index")))
        call = calls.get(place)
        if call is None:
            note: ShownNote = note_of(it, with_words=with_words)
            ordered.append(((it.number, 1, 0, 0), note))
            continue
        if it.kind == "approval.requested":
            asked[place] = it.at
        call.run_as = call.run_as or some_text(it.content.get("run_as"))
        call.lines.append(ShownLine(text=_line(it, asked.get(place)), at=it.at, number=it.number))


def _line(told: Told, asked: datetime | None) -> str:
    by = visible(some_text(told.content.get("by")))
    match told.kind:
        case "approval.requested":
            gate = visible(in_words({}, some_text(told.content.get("gate"))))
            return f"held by the gate {gate}, and put before a person"
        case "approval.decided":
            decision = some_text(told.content.get("decision"))
            said = f"{visible(in_words(DECISIONS, decision))}{f' by {by}' if by else ''}"
            return (
                f"{said}, {(told.at - asked).total_seconds():.0f} s after it was asked for"
                if asked
                else said
            )
        case _:
            fate = visible(some_text(told.content.get("fate")))
            return f"{by or 'a person'} looked, and said what happened: {fate}"


def _add_shells(material: Material, ordered: list[tuple[Order, Any]]) -> None:
    told = sorted((it.number, it.event or 0) for _, it in ordered if isinstance(it, ShownStep))
    have = {number for number, _ in told}
    for number in material.shells:
        if number not in have:
            after = next((event for step, event in told if step > number), LAST)
            ordered.append(((after, 0, number, -1), ShownStep(number=number)))


def _grouped(items: Iterable[Any]) -> list[Any]:
    """Nest each call in its step; what happened between two calls of a step stands between them there."""
    entries: list[Any] = []
    steps: dict[int, ShownStep] = {}
    current: ShownStep | None = None
    between: list[Any] = []
    last: datetime | None = None
    for it in items:
        if isinstance(it, ShownCall):
            step = steps.get(it.step)
            if step is None:
                entries += between
                between = []
                step = steps[it.step] = ShownStep(number=it.step)
                entries.append(step)
                current = step
            if step is current:
                step.items += between
                between = []
            step.items += [*_quiet(last, it), it]
        elif isinstance(it, ShownStep):
            if it.number in steps and it.event is None:
                continue
            entries += [*between, it]
            between = []
            current = steps[it.number] = it
        else:
            between += [*_quiet(last, it), it]
        last = _later(last, it)
    return entries + between


def _later(last: datetime | None, item: Any) -> datetime | None:
    moments = [getattr(item, name, None) for name in ("at", "settled_at")]
    return max((it for it in (last, *moments) if it is not None), default=None)


def _quiet(last: datetime | None, item: Any) -> list[ShownQuiet]:
    at = getattr(item, "at", None)
    if last is None or at is None:
        return []
    seconds = (at - last).total_seconds()
    if isinstance(item, ShownCall) and item.marked_at is None:
        seconds -= item.took or 0.0
    return [ShownQuiet(seconds=seconds)] if seconds >= QUIET_SECONDS else []
