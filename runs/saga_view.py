"""The page of one saga, put together: how it stands in a sentence, what to do, then each write with its undo.

However many undos there are, a page asks the database the same number of times and shows fifty of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest
from django.urls import reverse
from django.utils.safestring import SafeString

from liyagent.access.permissions import READ_WORDS, VIEW_TICKET, WORK_ON_TICKETS
from liyagent.approvals.models import Approval, ApprovalStatus
from liyagent.core.pills import QUIET, pill
from liyagent.core.seal import KeyMissing, SealBroken
from liyagent.core.tables import cell
from liyagent.tickets.find import serial_in
from liyagent.tickets.models import Ticket, TicketState
from runs.again import begun_again
from runs.bare_writes import bare_of
from runs.decisions import WORDS, decision_told, requests_of
from runs.doubts_admin import as_uuid, sees_requests
from runs.errors import CheckpointBroken
from runs.head import BODIES
from runs.models import Call, Run
from runs.run_page import place_of
from runs.saga_handoff import flaw_of_handed, thread_of_saga
from runs.saga_sentence import HandedOff, beginning_of, counted, to_do
from runs.saga_state import counts_of, state_of
from runs.saga_told import with_words, words_of
from runs.shown_words import shown_words
from runs.undo_ride import open_undo
from runs.undo_run import LOOP
from runs.unknown import unknown_calls
from sagas.models import Handoff, Saga, SagaStatus, Undo, UndoFate
from sagas.wording import CAUSES, FATES

UNDOS_A_PAGE = 50
MOST_UNKNOWN = 50
MOST_ROUNDS = 20
WORKED_ON = (TicketState.OPEN, TicketState.IN_PROGRESS)
SHOWN_CALL = ("id", "run_id", "step", "index", "server", "tool", "step_key", "marked_at")


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownUndo:
    """A write with its undo. `request` is what it is, or was, held for; `call` where the undo was sent last, None where it was not."""

    undo: Undo
    fate: SafeString
    request: Approval | None
    call: Call | None
    args: str
    error: str
    missing: str

    @property
    def place(self) -> str:
        """Where on its run's page the write stands."""
        return place_of(Call(step=self.undo.step, index=self.undo.index))

    @property
    def has_words(self) -> bool:
        """Whether there is something to say of it."""
        is_missing = self.undo.fate == UndoFate.MISSING
        return is_missing or bool(self.undo.note or self.error or self.request or self.args)

    @property
    def is_bad(self) -> bool:
        """Whether a person has to look."""
        return self.undo.fate in {UndoFate.FAILED, UndoFate.UNKNOWN, UndoFate.MISSING}


def saga_context(request: HttpRequest, saga: Saga) -> dict[str, Any]:
    """Return what the page shows, as far as the user may see it."""
    user = request.user
    with_them = user.has_perm(READ_WORDS)
    root = Run.objects.filter(id=saga.id).defer(*BODIES).first()
    counts = counts_of([saga.id]).get(saga.id, {})
    unknown = list(
        unknown_calls().filter(correlation_id=saga.id).only(*SHOWN_CALL, "late_finding", "fate").order_by("-id")[: MOST_UNKNOWN + 1]
    )  # fmt: skip
    handed, rounds, bare = handed_off(request, saga), rounds_of(saga), bare_of(saga)
    is_more = len(unknown) > MOST_UNKNOWN
    pages = max(1, -(-saga.registered // UNDOS_A_PAGE))
    number = min(max(_number(request.GET.get("undos", "")), 1), pages)
    return {
        "saga": saga,
        "root": root,
        "state": state_of(saga),
        "cause": CAUSES.get(saga.cause, cell(saga.cause) if saga.cause else ""),
        "beginning": beginning_of(saga, root),
        "counted": counted(
            saga, counts, len(unknown[:MOST_UNKNOWN]), is_more=is_more, bare=bare["bare_told"]
        ),
        "to_do": to_do(saga, counts, len(unknown), handed),
        "handed": handed,
        "thread": thread_of_saga(saga.id),
        "handoff_problem": flaw_of_handed(saga.id, saga.handoff_digest),
        "shown": page_of(saga, number, rounds=rounds, with_words_too=with_them),
        "page": {"number": number, "pages": pages},
        **bare,
        "unknown": unknown[:MOST_UNKNOWN],
        "is_more_unknown": is_more,
        "rounds": rounds,
        "with_words": with_them,
        "sees_requests": sees_requests(user),
        "sees_calls": user.has_perm("runs.view_call"),
    }


def rounds_of(saga: Saga) -> list[Run]:
    """Return the runs that made undos, the newest twenty, the newest first."""
    runs = Run.objects.filter(correlation_id=saga.id, loop__startswith=LOOP).defer(*BODIES)
    return list(runs.order_by("-created_at", "-id")[:MOST_ROUNDS]) if saga.round else []


def page_of(saga: Saga, number: int, *, rounds: list[Run], with_words_too: bool) -> list[ShownUndo]:
    """Return a page of the undos, the newest first: the order in which they are made."""
    highest = saga.registered - (number - 1) * UNDOS_A_PAGE
    rows = Undo.objects.filter(saga_id=saga.id, order__lte=highest, order__gt=highest - UNDOS_A_PAGE)  # fmt: skip
    if with_words_too:
        undos = with_words(rows, most=UNDOS_A_PAGE)
    else:
        undos = list(rows.defer("sealed", "outcome").order_by("-order")[:UNDOS_A_PAGE])
    requests = requests_of(it.approval for it in undos)
    calls = _sent(undos, rounds)
    return [
        ShownUndo(
            undo=it,
            fate=_fate(saga, it),
            request=requests.get(it.approval) if it.approval else None,
            call=calls.get(it.key),
            **(_words(it) if with_words_too else {"args": "", "error": "", "missing": ""}),
        )
        for it in undos
    ]


def left_of(saga: Saga, *, most: int) -> list[ShownUndo]:
    """Return what is not undone, the newest first, at most so many, without words."""
    rows = Undo.objects.filter(saga_id=saga.id).exclude(fate=UndoFate.DONE)
    undos = rows.defer("sealed", "outcome").order_by("-order")[:most]
    nothing: dict[str, Any] = {
        "request": None,
        "call": None,
        "args": "",
        "error": "",
        "missing": "",
    }
    return [ShownUndo(undo=it, fate=_fate(saga, it), **nothing) for it in undos]


def _fate(saga: Saga, undo: Undo) -> SafeString:
    is_kept = undo.fate == UndoFate.OWED and saga.status in {SagaStatus.OPEN, SagaStatus.CLOSED}
    return pill("not undone", QUIET) if is_kept else pill(*FATES.get(undo.fate, (undo.fate, QUIET)))


def _sent(undos: list[Undo], rounds: list[Run]) -> Mapping[str, Call]:
    """The last sending of each undo, by its key."""
    keys = [it.key for it in undos]
    rows = Call.objects.filter(run_id__in=[it.id for it in rounds], step_key__in=keys)
    ordered = sorted(rows.only(*SHOWN_CALL), key=lambda it: (it.marked_at, it.id))
    return {it.step_key: it for it in ordered}


def _words(undo: Undo) -> dict[str, str]:
    told = words_of(undo)
    missing = ""
    if undo.fate == UndoFate.MISSING and "error" in told:
        try:
            missing = open_undo(undo)["missing"]
        except (KeyMissing, SealBroken, CheckpointBroken):
            missing = ""
    has_args = undo.fate != UndoFate.MISSING
    return {
        "args": shown_words(told.get("args")) if has_args else "",
        "error": shown_words(told.get("error", "")),
        "missing": shown_words(missing),
    }


def handed_off(request: HttpRequest, saga: Saga) -> HandedOff | None:
    """Return where the hand-off stands, None where there is none, or not yet."""
    if saga.handoff not in {Handoff.APPROVAL, Handoff.TICKET}:
        return None
    if saga.handed_off_at is None:
        is_tried = saga.status not in {SagaStatus.OPEN, SagaStatus.COMPENSATING}
        told = "It is put before a person within seconds." if is_tried else "It is put before a person once all was tried."  # fmt: skip
        return HandedOff(told=told)
    if saga.handoff == Handoff.TICKET:
        return _ticket(request, saga)
    return _request(request, saga)


def _ticket(request: HttpRequest, saga: Saga) -> HandedOff:
    serial = serial_in(saga.handoff_id)
    ticket = Ticket.objects.defer("sealed").filter(serial=serial).first() if serial else None
    if ticket is None:
        return HandedOff(told=f"It was handed to people as ticket {cell(saga.handoff_id)}.")
    may_see = request.user.has_perm(VIEW_TICKET) or request.user.has_perm(WORK_ON_TICKETS)
    state, is_open = ticket.state.replace("_", " "), ticket.state in WORKED_ON
    return HandedOff(
        told=f"It was handed to people as ticket {ticket.number}, which is {state}.",
        to_do=f"resolve ticket {ticket.number}, and close this." if is_open else "",
        url=reverse("admin:tickets_ticket_change", args=[ticket.number]) if may_see else "",
    )


def _request(request: HttpRequest, saga: Saga) -> HandedOff:
    filed = as_uuid(saga.handoff_id)
    approval = Approval.objects.defer(*WORDS).filter(id=filed).first() if filed else None
    if approval is None:
        return HandedOff(told="The request to begin it again is not kept any more.")
    url = reverse("admin:approvals_approval_change", args=[approval.id]) if sees_requests(request.user) else ""  # fmt: skip
    if approval.status == ApprovalStatus.PENDING:
        told = "A person is asked whether it shall begin again, or be closed."
        to_do = "decide whether it begins again: what is not undone by then is made a second time."
        return HandedOff(told=told, to_do=to_do, url=url)
    again = begun_again(saga)
    begun = f", and it began again as run {again.id}" if again is not None else ""
    told = decision_told(approval)
    return HandedOff(told=f"The request to begin it again was {cell(told)}{begun}.", url=url)


def _number(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 9 else 1
