"""A saga as the API shows it: its undos a page at a time, what is unknown, its rounds, and to whom it was handed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.db.models import Count

from liyagent.approvals.models import Approval
from liyagent.core.paging import (
    PAGING,
    bad_cursor,
    check_names,
    limit_of,
    read_cursor,
    write_cursor,
)
from liyagent.core.seal import KeyMissing, SealBroken
from liyagent.tickets.models import Ticket
from runs.again import begun_again
from runs.bare_writes import SHOWN, bare_of
from runs.failed_saga import AGAIN
from runs.models import Call, Run
from runs.saga_handoff import flaw_of_handed, thread_of_saga
from runs.saga_told import (
    MOST_UNKNOWN,
    NOT_OPENED,
    context_of,
    told_of_undo,
    unknown_writes,
    with_words,
)
from runs.undo_run import LOOP
from sagas.errors import SagaUnknown
from sagas.models import Saga, Undo

MOST_ROUNDS = 20
LARGEST_ORDER = (1 << 31) - 1


def saga_of(run_id: UUID) -> Saga:
    """Return the saga of the family of a run. Raises `SagaUnknown`."""
    correlation = Run.objects.filter(id=run_id).values_list("correlation_id", flat=True).first()
    saga = Saga.objects.filter(id=correlation).first() if correlation is not None else None
    if correlation is None:
        raise SagaUnknown(f"there is no run {run_id}", run=run_id)
    if saga is None:
        raise SagaUnknown(run=run_id)
    return saga


def saga_told(saga: Saga, asked: Mapping[str, str], *, opens: bool) -> dict[str, Any]:
    """Return what stands beside a saga's own facts: `undos`, newest first, a page of them (`limit`, `cursor` of `asked`).

    `counts` by fate are of all. It `opens` words where they may be read: `context`, and each undo's `args` and `error`.
    Raises `BadInput`.
    """
    undos, next_cursor = _undos(saga, asked, opens=opens)
    unknown, bare = unknown_writes(saga), bare_of(saga)
    return {
        "counts": _counts(saga),
        "undos": undos,
        "next_cursor": next_cursor,
        "unknown_writes": unknown[:MOST_UNKNOWN],
        "unknown_writes_truncated": len(unknown) > MOST_UNKNOWN,
        "writes_without_undo": [_bare(it) for it in bare["bare"]],
        "writes_without_undo_truncated": bare["is_more_bare"],
        "rounds": _rounds(saga),
        "filed": _filed(saga),
        **({"context": _context(saga)} if opens else {}),
    }


def saga_beside(run: Run) -> dict[str, Any] | None:
    """Return what is told of a run's saga beside the run, None where there is none."""
    saga = Saga.objects.defer("context").filter(id=run.correlation_id).first()
    if saga is None:
        return None
    return {"run_id": saga.id, "status": saga.status, "undos": saga.registered}


def _undos(saga: Saga, asked: Mapping[str, str], *, opens: bool) -> tuple[list[Any], str]:
    check_names(asked, PAGING)
    limit = limit_of(asked)
    rows = Undo.objects.filter(saga_id=saga.id)
    if "cursor" in asked:
        rows = rows.filter(order__lt=_order(asked["cursor"]))
    found = with_words(rows, most=limit + 1)
    more = write_cursor([str(found[limit - 1].order)]) if len(found) > limit else ""
    return [_undo(it, opens=opens) for it in found[:limit]], more


def _bare(call: Call) -> dict[str, Any]:
    return {name: getattr(call, name) for name in SHOWN}


def _undo(undo: Undo, *, opens: bool) -> dict[str, Any]:
    told = told_of_undo(undo, opens=opens)
    return told | {
        "agent": undo.agent_key,
        "key": undo.key,
        "approval": undo.approval,
        "registered_at": undo.registered_at,
        "settled_at": undo.settled_at,
    }


def _order(cursor: str) -> int:
    (text,) = read_cursor(cursor, parts=1)
    if not (text.isascii() and text.isdigit() and len(text) <= 10 and int(text) <= LARGEST_ORDER):
        raise bad_cursor()
    return int(text)


def _counts(saga: Saga) -> dict[str, int]:
    rows = Undo.objects.filter(saga_id=saga.id).order_by().values_list("fate")
    return dict(rows.annotate(number=Count("pk")))


def _rounds(saga: Saga) -> list[dict[str, Any]]:
    rows = Run.objects.filter(correlation_id=saga.id, loop__startswith=LOOP).order_by("-id")
    found = rows.values("id", "loop", "status", "reason", "created_at", "ended_at")[:MOST_ROUNDS]
    return [{**it, "round": _round(it["loop"])} for it in found]


def _round(loop: str) -> int:
    """The number of a round; 0 of a row that names none any more."""
    told = loop.removeprefix(LOOP)
    return int(told) if told.isascii() and told.isdigit() else 0


def _filed(saga: Saga) -> dict[str, Any] | None:
    """What was filed, and how that stands now: a request's status, a ticket's state, "" for one elsewhere."""
    if saga.handed_off_at is None:
        return None
    again = begun_again(saga)
    return {
        "kind": saga.handoff,
        "id": saga.handoff_id,
        "thread": thread_of_saga(saga.id) if saga.handoff_digest else None,
        "handoff_problem": flaw_of_handed(saga.id, saga.handoff_digest),
        "at": saga.handed_off_at,
        "status": _stands(saga),
        "begun_again": again.id if again is not None else None,
    }


def _stands(saga: Saga) -> str:
    if saga.request is not None:
        request = Approval.objects.filter(id=saga.request).only("status").first()
        return request.status if request is not None else ""
    ticket = Ticket.objects.filter(source_kind="saga", source_id=str(saga.id)).only("state").first()
    return ticket.state if ticket is not None else ""


def _context(saga: Saga) -> dict[str, Any]:
    try:
        return {name: value for name, value in context_of(saga).items() if name != AGAIN}
    except (KeyMissing, SealBroken) as error:
        return {"words": NOT_OPENED.format(why=error)}
