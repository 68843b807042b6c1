"""What holds of every saga whatever happened, judged from the vendor's ledger (SG-02 to SG-12)."""

from __future__ import annotations

from collections import Counter
from typing import Any

from django.conf import settings

from liyagent.approvals.models import Approval
from liyagent.audit.models import AuditRow
from liyagent.tickets.models import Ticket
from runs.models import Call, Run
from runs.undo_ride import open_undo
from sagas.models import Saga, Undo
from tests.unit.workflows.sagas_stage import Stage

TRIED = ("compensated", "partial", "handed_off")
FILED = ("approval", "ticket")


def check(stage: Stage) -> None:
    """What holds between any two moments."""
    ledger = stage.ledger
    undone = Counter(it["undo_of"] for it in ledger if "undo_of" in it)
    assert not [it for it, times in undone.items() if times > 1], f"undone twice: {ledger}"
    keys = Counter(it["key"] for it in ledger)
    assert not [it for it, times in keys.items() if times > 1], f"made twice: {ledger}"
    runs = {it.id: it for it in stage.runs()}
    for root in [it for it in runs.values() if it.loop == "root"]:
        saga = Saga.objects.filter(id=root.id).first()
        if saga is None:
            continue
        rounds = [
            it
            for it in runs.values()
            if it.correlation_id == root.id and it.loop.startswith("undo:")
        ]
        live = [it for it in rounds if not it.is_ended]
        assert len(live) <= 1, "two live rounds"
        assert (saga.status == "compensating") == bool(live), f"{saga.status} with {live}"
        assert (saga.status == "open") == (not root.is_ended), f"{saga.status} of {root.status}"
        assert saga.round == len(rounds)
        undos = list(Undo.objects.filter(saga_id=saga.id))
        assert saga.registered == len(undos)
        _check_done(stage, undos, undone)
        _check_compensated(stage, saga, undos, undone)
        _check_order(stage, rounds, undos)
        _check_handed_off(saga)


def check_at_rest(stage: Stage) -> None:
    """What holds besides once all that can be carried was carried, and handed off what is due."""
    check(stage)
    undone = {it["undo_of"] for it in stage.ledger if "undo_of" in it}
    for root in [it for it in stage.runs() if it.loop == "root"]:
        undos = list(Undo.objects.filter(saga_id=root.id))
        for undo in undos:
            _check_fate(stage, undo, undone)
        _check_none_is_lost(stage, root)
        saga = Saga.objects.filter(id=root.id).first()
        if saga is None:
            is_asked = stage.drawn.handoff in FILED
            assert not (root.error and root.error.startswith("workflow.") and is_asked), (
                "not handed off"
            )
            continue
        _check_round_tried_all(saga, undos)
        if saga.status in TRIED:
            assert saga.handed_off_at or saga.handoff not in FILED, "not handed off"
            # Of one that was lost too often the definition is not read.
            if saga.cause in {"failed", "cap"} and root.error != "lost":
                wanted = stage.drawn.handoff or settings.LIYAGENT.saga_handoff
                assert saga.handoff == wanted, f"handed off as {saga.handoff}, not as {wanted}"


def _check_done(stage: Stage, undos: list[Undo], undone: Counter[Any]) -> None:
    for undo in undos:
        if undo.fate == "done" and not _is_lied_of(stage, undo):
            assert undone[_undoes(undo)] == 1, f"{undo} is shown done and was not made"


def _check_compensated(stage: Stage, saga: Saga, undos: list[Undo], undone: Counter[Any]) -> None:
    if saga.status != "compensated":
        return
    assert {it.fate for it in undos} <= {"done"}
    unknown = Call.objects.filter(correlation_id=saga.id, fate="unknown")
    assert not unknown.exclude(late_finding="found").exists(), "compensated with a write in doubt"
    if any(_is_lied_of(stage, it) for it in undos):
        return
    for row in _undoable(stage, saga.id):
        assert undone[row["id"]] == 1, f"compensated without {row}"


def _check_order(stage: Stage, rounds: list[Run], undos: list[Undo]) -> None:
    """Newest first, within each round, but for what came after it had been given up as unknown."""
    orders = {_undoes(it): it.order for it in undos if it.fate != "missing"}
    for round_ in rounds:
        made = [
            orders[row["undo_of"]]
            for row, by in zip(stage.ledger, stage.made, strict=False)
            if by == round_.id and row["id"] not in stage.late
        ]
        assert made == sorted(made, reverse=True), f"{round_.loop} was made in the order {made}"


def _check_handed_off(saga: Saga) -> None:
    filed = Approval.objects.filter(kind="saga", run_id=saga.id).count()
    filed += Ticket.objects.filter(source_kind="saga", source_id=str(saga.id)).count()
    told = AuditRow.objects.filter(action="saga.handoff", run_id=saga.id).count()
    assert filed == told == bool(saga.handed_off_at), f"handed off {filed} times, told {told}"


def _check_fate(stage: Stage, undo: Undo, undone: set[Any]) -> None:
    """It is one thing, and its request, its call and the ledger say the same."""
    asked = Approval.objects.filter(id=undo.approval).first() if undo.approval else None
    assert (undo.fate == "held") == bool(asked and asked.status == "pending"), (
        f"{undo.fate}: {undo.note}, its request {asked and asked.status}"
    )
    calls = _calls_of(undo)
    in_doubt = [it for it in calls if it.fate == "unknown" and it.late_finding != "found"]
    assert (undo.fate == "unknown") == bool(in_doubt), (
        f"{undo.fate} ({undo.note}), its calls {[(it.fate, it.settlement) for it in calls]}"
    )
    if undo.fate == "missing":
        return
    if _undoes(undo) in undone:
        assert undo.fate in {"done", "unknown"}, f"it was made, and is shown {undo.fate}"
    told = AuditRow.objects.filter(
        action="saga.compensation", correlation_id=undo.saga_id, detail__order=undo.order
    )
    last = told.order_by("-id").values_list("detail__outcome", flat=True).first()
    assert (last or "owed") == undo.fate, f"{undo.fate}, and last told of as {last}"


def _check_none_is_lost(stage: Stage, root: Run) -> None:
    """Each write that took effect and can be undone is registered, or of unknown outcome."""
    for row in _undoable(stage, root.id):
        tries = Call.objects.filter(run_id=_made_by(stage, row), step_key=row["key"])
        call = tries.filter(fate__in=["done", "unknown"]).first()
        assert call, f"it took effect, and is {[it.fate for it in tries]}: {row}"
        if call.fate == "done" or call.late_finding == "found":
            found = Undo.objects.filter(run_id=call.run_id, step=call.step, index=call.index)
            assert found.exists(), f"nothing undoes {row}"


def _check_round_tried_all(saga: Saga, undos: list[Undo]) -> None:
    """A round that came to its end by itself leaves nothing owed that was owed before it."""
    last = Run.objects.filter(correlation_id=saga.id, loop=f"undo:{saga.round}").first()
    if last is None or not (last.status == "answered" or last.error == "undo.left"):
        return
    left = [
        it
        for it in undos
        if it.fate == "owed" and it.settled_at is None and it.registered_at < last.created_at
    ]
    assert not left, f"{last.loop} left {left}"


def _undoable(stage: Stage, root_id: Any) -> list[dict[str, Any]]:
    family = {it.id for it in stage.runs() if it.correlation_id == root_id}
    return [
        row
        for row, by in zip(stage.ledger, stage.made, strict=False)
        if row.get("undoable") and by in family
    ]


def _made_by(stage: Stage, row: dict[str, Any]) -> Any:
    return stage.made[row["id"] - 1]


def _undoes(undo: Undo) -> Any:
    return open_undo(undo)["args"].get("undo_of")


def _calls_of(undo: Undo) -> list[Call]:
    """The calls that were this undo: of rounds under its key, and of those who made it on an approval."""
    loops = list(Run.objects.filter(correlation_id=undo.saga_id, loop__startswith="undo:"))
    of_rounds = Call.objects.filter(run_id__in=[it.id for it in loops])
    by_key = list(of_rounds.filter(step_key=undo.key))
    asked = list(
        of_rounds.exclude(approval_id=None)
        .filter(provider_call_id__startswith=f"undo-{undo.order}-")
        .values_list("approval_id", flat=True)
    )
    makers = Run.objects.filter(loop__in=[f"approved:{it}" for it in asked])
    return by_key + list(Call.objects.filter(run_id__in=[it.id for it in makers]))


def _is_lied_of(stage: Stage, undo: Undo) -> bool:
    return any(it.id in stage.lies for it in _calls_of(undo))
