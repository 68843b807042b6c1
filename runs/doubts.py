"""Writes in doubt before an operator: what is known of each in one line, what to do, and lists of them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import Q

from liyagent.agents.sub_agents import SERVER as SUB_AGENT_SERVER
from liyagent.approvals.models import Approval, ApprovalStatus
from liyagent.core.errors import BadInput
from liyagent.core.paging import (
    PAGING,
    bad_cursor,
    check_names,
    limit_of,
    read_cursor,
    write_cursor,
)
from liyagent.core.seal import KeyMissing, SealBroken
from liyagent.core.stored_times import LAST
from liyagent.gateway.outcome import Fate
from missions.names import clean_mission
from runs.checkpoint import sealer_of
from runs.decisions import decision_told, requests_of
from runs.errors import CheckpointBroken
from runs.head import BODIES
from runs.late_look import FOUND, NO_READER, NOT_ASKED, NOT_FOUND
from runs.marks import open_mark
from runs.models import Call, Intent, Run
from runs.settle_by_person import BY_PERSON, OWN, find_call
from runs.unknown import UNKNOWN
from runs.unsettled import UNSETTLED

# What is in doubt, by the words of the API; each is a part of the index of writes in doubt.
STATES: Mapping[str, Q] = {"unknown": UNKNOWN, "open": UNSETTLED}
FILTERS = ("server", "tool", "agent", "run", "mission", "state", *PAGING)
NAME = re.compile(r"[A-Za-z0-9_.:/-]{1,200}")
SEALED = ("sealed", "outcome")
# How many calls in doubt are looked through for one page, at most, and how many at once.
MOST_LOOKED_THROUGH = 5000
LOOKED_AT_ONCE = 250


@dataclass(frozen=True, slots=True, kw_only=True)
class Doubt:
    """A marked call and its run, None where that is not kept any more; `request` where a person was asked about it."""

    call: Call
    run: Run | None
    request: Approval | None = None

    @property
    def state(self) -> str:
        """`unknown`, `open` (sent, and not settled yet), `waits` (not sent), `found` at the vendor since, or `settled`."""
        call = self.call
        if call.fate == Fate.UNKNOWN:
            return "found" if call.late_finding == FOUND else "unknown"
        if call.fate:
            return "settled"
        return "waits" if call.intent == Intent.HELD or call.server == SUB_AGENT_SERVER else "open"

    @property
    def decision(self) -> str:
        """What a person said of its request, or that it waits for one; "" where nobody was asked, or it is not known here."""
        return decision_told(self.request) if self.request else ""

    @property
    def known(self) -> str:
        """One line: what is known of it."""
        return _known(self)

    @property
    def to_do(self) -> str:
        """One line: what a person should do now, "" where nothing."""
        return _to_do(self)

    @property
    def run_lives(self) -> bool:
        """Whether its run has not ended."""
        return self.run is not None and not self.run.is_ended


@dataclass(frozen=True, slots=True, kw_only=True)
class DoubtPage:
    """Oldest mark first. A page can be short, or empty, and yet lead on; `next_cursor` is empty at the end alone."""

    doubts: list[Doubt]
    next_cursor: str


def list_doubts(asked: Mapping[str, str]) -> DoubtPage:
    """Return the page of calls in doubt that `asked` (of `FILTERS`) names. Raises `BadInput` naming what is allowed.

    However many calls there are, at most 5,000 of those in doubt are looked through.
    """
    check_names(asked, FILTERS)
    limit = limit_of(asked)
    chosen = {name: _checked(name, asked[name]) for name in FILTERS[:6] if name in asked}
    place = _place(asked["cursor"]) if "cursor" in asked else None
    found: list[Doubt] = []
    for count, doubt in enumerate(_in_order(chosen, place), start=1):
        if _fits(doubt, chosen):
            found.append(doubt)
        if len(found) > limit:
            return DoubtPage(doubts=found[:limit], next_cursor=_cursor(found[limit - 1].call))
        if count == MOST_LOOKED_THROUGH:
            return DoubtPage(doubts=found, next_cursor=_cursor(doubt.call))
    return DoubtPage(doubts=found, next_cursor="")


def doubt_of(call_id: int) -> Doubt:
    """Return a marked call, in doubt or not. Raises `CallNotFound`."""
    call = find_call(call_id)
    return Doubt(
        call=call,
        run=Run.objects.filter(id=call.run_id).first(),
        request=next(iter(requests_of([call.approval_id]).values()), None),
    )


def arguments_of(doubt: Doubt) -> tuple[dict[str, Any] | None, str]:
    """Return exactly what was, or was to be, sent; where it cannot be opened, None and why."""
    if doubt.run is None:
        return None, "its run is not kept any more"
    try:
        return open_mark(sealer_of(doubt.run), doubt.call).payload.args, ""
    except KeyMissing:
        return None, f"its sealing key {doubt.run.key_id!r} is not here"
    except (SealBroken, CheckpointBroken) as error:
        return None, f"it does not verify: {error.title}"


def _in_order(chosen: Mapping[str, str], place: tuple[datetime, int] | None) -> Iterator[Doubt]:
    """Yield what is in doubt by its mark, with its run; each fate by its own part of the index."""
    states = [STATES[chosen["state"]]] if "state" in chosen else list(STATES.values())
    while True:
        calls = sorted(
            (call for state in states for call in _next(state, chosen.get("run"), place)),
            key=lambda it: (it.marked_at, it.id),
        )[:LOOKED_AT_ONCE]
        runs = Run.objects.defer(*BODIES).in_bulk({it.run_id for it in calls})
        yield from (Doubt(call=it, run=runs.get(it.run_id)) for it in calls)
        if len(calls) < LOOKED_AT_ONCE:
            return
        place = calls[-1].marked_at, calls[-1].id


def _next(state: Q, run_id: str | None, place: tuple[datetime, int] | None) -> list[Call]:
    rows = Call.objects.filter(state).defer(*SEALED)
    if run_id is not None:
        rows = rows.filter(run_id=run_id)
    if place is not None:
        at, last_id = place
        # Nothing beyond the calendar, which no place can name: it would come after itself.
        rows = rows.filter(marked_at__lt=LAST)
        rows = rows.filter(Q(marked_at__gte=at) & (Q(marked_at__gt=at) | Q(id__gt=last_id)))
    return list(rows.order_by("marked_at", "id")[:LOOKED_AT_ONCE])


def _fits(doubt: Doubt, chosen: Mapping[str, str]) -> bool:
    call, run = doubt.call, doubt.run
    there = {
        "server": call.server,
        "tool": call.tool,
        "agent": run.agent_key if run else "",
        "mission": run.mission if run else "",
    }
    return all(there.get(name, value) == value for name, value in chosen.items())


def _checked(name: str, value: str) -> str:
    shown = value[:80]
    if name == "state" and value not in STATES:
        raise BadInput(f"state is {shown!r}; it wants one of {', '.join(STATES)}")
    if name in {"server", "tool", "agent"} and not NAME.fullmatch(value):
        raise BadInput(f"{name} is {shown!r}; it wants a name, such as lists show it")
    if name == "mission" and clean_mission(value) is None:
        raise BadInput(f"mission is {shown!r}; it wants 1 to 128 letters, digits, . _ : and -")
    if name == "run":
        try:
            return str(UUID(value))
        except ValueError:
            raise BadInput(f"run is {shown!r}; it wants a run's id") from None
    return value


def _cursor(call: Call) -> str:
    return write_cursor([call.marked_at.isoformat(), str(call.id)])


def _place(cursor: str) -> tuple[datetime, int]:
    at, row_id = read_cursor(cursor, parts=2)
    try:
        moment = datetime.fromisoformat(at)
        if moment.tzinfo is None or not (row_id.isascii() and row_id.isdigit()):
            raise bad_cursor()
        if not 0 < len(row_id) < 19:
            raise bad_cursor()
        return moment, int(row_id)
    except ValueError:
        raise bad_cursor() from None


def _known(doubt: Doubt) -> str:
    call, run = doubt.call, doubt.run
    match doubt.state:
        case "found":
            return "No answer came, and its record was found at the vendor later: it happened."
        case "settled" if call.settlement == BY_PERSON:
            happened = "it happened" if call.fate == Fate.DONE else "it did not happen"
            return f"{call.settled_by} said that {happened}: {call.settled_reason}"
        case "settled" if call.fate in {Fate.REFUSED, Fate.HELD}:
            return f"It was not sent: {doubt.decision or call.fate}."
        case "settled":
            return f"What became of it is known: {call.fate}."
        case "waits" if call.intent == Intent.HELD:
            return f"It was not sent: {doubt.decision or 'it is held for a person'}."
        case "waits":
            return "Its sub-agent works on it, or has ended; its run is told of that, and nothing was sent anywhere."
        case "open":
            why = OWN.get(run.status, "its run has ended") if run else "its run is gone"  # type: ignore[call-overload]
            return f"It was sent, or is about to be, and no answer is stored; {why}."
    looked = {
        NOT_FOUND: "The vendor was asked and showed no single record with its key, which proves nothing.",
        NO_READER: "Nobody can be asked for it automatically.",
        NOT_ASKED: "Its vendor could not be asked for a day, and is not asked again.",
    }.get(call.late_finding, "Where its tool has a reader, the vendor is asked once more.")
    return f"It was sent, or may have been, and nobody knows whether it took effect. {looked}"


def _to_do(doubt: Doubt) -> str:
    call = doubt.call
    if doubt.state == "unknown":
        if call.server == SUB_AGENT_SERVER:
            return "Look at the run of its sub-agent, then say what happened."
        return f"Look at {call.server} for what was made at that time, and for the step key where it keeps one; then say what happened."
    if doubt.state == "open":
        return "Wait: nobody can settle it but its run."
    if doubt.state == "waits" and call.intent == Intent.HELD:
        is_pending = doubt.request is None or doubt.request.status == ApprovalStatus.PENDING
        return (
            "Decide about its request." if is_pending else "Wait: its run is told what was decided."
        )
    return ""
