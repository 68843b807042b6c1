"""Whether what the events of a run come to is what its row and its marks say. Pure: two states, and what differs (EV-04)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from events.fold import OPEN, SETTLEMENT_AT_END, UNKNOWN, CallState, RunState

COUNTERS = ("steps", "calls", "input_tokens", "output_tokens", "cost_micros")
# A fate that a write can come to, having been marked.
MARKED_FATES = frozenset({"done", "unknown"})


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveCall:
    """A mark as its row says. `fate` is empty while it is open."""

    step: int
    index: int
    step_key: str
    fate: str
    settlement: str

    @property
    def place(self) -> tuple[int, int]:
        """Where in its run it stands."""
        return self.step, self.index


@dataclass(frozen=True, slots=True, kw_only=True)
class Live:
    """What the row of a run says. `before`: what stood on its head before anything was told (of an approved call's run).

    `calls` are its marks; where they are not all, `has_all_calls` is false, and marks that no row is known of are let be.
    A row that `is_written_ahead` knows each step that was told of; another learns of them at its end.
    """

    status: str
    error: str
    is_ended: bool
    is_begun: bool
    counters: Mapping[str, int]
    resumes: int
    calls: Sequence[LiveCall]
    before: Mapping[str, int] = field(default_factory=dict)
    has_all_calls: bool = True
    is_written_ahead: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """Something that events and checkpoint say otherwise. `what` names it, such as `steps` or `call 2/0: fate`."""

    what: str
    events: str
    checkpoint: str


def differences(state: RunState | None, live: Live) -> Iterator[Difference]:
    """Yield what differs between the state folded from a run's events and what its checkpoint says, of the same moment."""
    if state is None:
        if live.is_begun:
            yield _difference("events", "none", f"{live.status}, {live.counters['steps']} steps")
        return
    yield from _of_status(state, live)
    yield from _of_counters(state, live)
    told = max((it["losses"] for it in state.resumes.items), default=0)
    if told != live.resumes:
        yield _difference("losses told of", told, live.resumes)
    yield from _of_calls(state, live)


def _of_status(state: RunState, live: Live) -> Iterator[Difference]:
    if live.is_ended:
        for name, of_live in (("status", live.status), ("error", live.error)):
            told = state.ended.get(name, OPEN)
            if told != of_live:
                yield _difference(name, told, of_live)
    elif state.status not in {OPEN, UNKNOWN}:
        yield _difference("status", state.status, live.status)


def _of_counters(state: RunState, live: Live) -> Iterator[Difference]:
    """What the steps come to, and what the end says that they came to."""
    told = {"steps": state.steps, "calls": state.calls_asked, **state.counts}
    for name in COUNTERS:
        of_events = told[name] + live.before.get(name, 0)
        has_more = of_events > live.counters[name] and not live.is_written_ahead
        if of_events != live.counters[name] and not has_more:
            yield _difference(name, of_events, live.counters[name])
        at_end = state.ended.get(name)
        if at_end is not None and at_end != live.counters[name]:
            yield _difference(f"{name} at its end", at_end, live.counters[name])


def _of_calls(state: RunState, live: Live) -> Iterator[Difference]:
    marks = {it.place: it for it in live.calls}
    for mark in live.calls:
        call = state.calls.get(mark.place)
        if call is None and state.calls_left_out:
            continue
        yield from _of_mark(mark, call, state)
    if not live.has_all_calls:
        return
    for place, call in state.calls.items():
        is_marked = call.facts["effect"] == "write" and call.facts["fate"] in MARKED_FATES
        if is_marked and place not in marks:
            yield _difference(f"{_named(place)}: its mark", call.facts["fate"], "none")


def _of_mark(mark: LiveCall, call: CallState | None, state: RunState) -> Iterator[Difference]:
    name = _named(mark.place)
    if mark.settlement == SETTLEMENT_AT_END:
        # Who ends a run that cannot be opened does not know what was left.
        left = state.ended.get("unsettled", [list(mark.place)])
        if list(mark.place) not in left or (call is not None and call.facts["fate"]):
            yield _difference(f"{name}: its end", "settled", "left by the end of its run")
        return
    told = call.facts["fate"] if call is not None else ""
    if told != mark.fate:
        yield _difference(f"{name}: fate", told or "open", mark.fate or "open")
    if call is not None and call.facts["key"] and call.facts["key"] != mark.step_key:
        yield _difference(f"{name}: step key", call.facts["key"], mark.step_key)


def _named(place: tuple[int, int]) -> str:
    return f"call {place[0]}/{place[1]}"


def _difference(what: str, of_events: Any, of_checkpoint: Any) -> Difference:
    return Difference(what=what, events=str(of_events), checkpoint=str(of_checkpoint))
