"""What a failed run left is put before a person, once, and what they decide is done once (SG-08 to SG-10, FL-59, FL-60, FL-66)."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from threading import Barrier
from typing import Any

import pytest
from django.db import connection
from pytest_django import Settings

from events.checking import Asked
from events.content import content_of
from events.kinds import misfit
from events.verify_chains import findings_of, verdicts
from liyagent.agents.models import Agent
from liyagent.approvals.decide import decide
from liyagent.approvals.errors import AlreadyDecided
from liyagent.approvals.models import Approval, ApprovalStatus
from liyagent.approvals.told import told_of
from liyagent.approvals.words import arguments_of
from liyagent.core.errors import LiyagentError
from liyagent.gateway.local import ToolFailed
from liyagent.tickets.models import Ticket
from liyagent.tickets.words import body_of
from runs import behind_end
from runs.again import begun_again
from runs.close_saga import close_saga
from runs.compensate import compensate_run
from runs.errors import AgentContained
from runs.hand_off import hand_off, hand_off_due
from runs.models import Run
from sagas.errors import Compensating, SagaClosed
from sagas.models import Saga, Undo
from tests.unit.approvals.deciding import let_decide
from tests.unit.runs.carrying.conftest import World, says
from tests.unit.runs.carrying.test_compensation import fail, undoing, undone, undos

__all__ = ["undoing"]

TWO = (("v/keyed", {"name": "a"}), ("v/blind", {"x": 3}))


def filed(run: Run) -> Approval:
    return Approval.objects.get(kind="saga", run_id=run.id)


def word(approval: Approval, status: ApprovalStatus, *, actor: str = "kim", reason: str = "seen") -> Approval:  # fmt: skip
    return decide(
        approval_id=approval.id, status=status, actor=actor, reason=reason, digest=approval.digest
    )


@pytest.fixture
def unswept(undoing: World, monkeypatch: pytest.MonkeyPatch) -> World:
    """Whoever ends a run dies before it hands anything off."""
    monkeypatch.setattr(behind_end, "BEHIND_END", [])
    return undoing


@pytest.fixture
def stubborn(undoing: World, settings: Settings) -> World:
    """`blind` answers, and each answer is an error."""
    settings.LIYAGENT = replace(settings.LIYAGENT, undo_backoff_seconds=0)

    def fails(tool: str) -> None:
        if tool == "blind" and Saga.objects.exclude(status="open").exists():
            raise ToolFailed("locked by change freeze")

    undoing.vendor.before_effect = fails
    return undoing


@pytest.mark.promise("SG-08", "SG-09", "SG-12")
@pytest.mark.field("FL-60")
def test_it_is_filed_once_with_the_whole_context(stubborn: World) -> None:
    run = fail(stubborn, *TWO)
    assert not Approval.objects.exists()
    undone(stubborn)
    saga, approval = Saga.objects.get(id=run.id), filed(run)
    assert (saga.status, saga.handoff, saga.handoff_id) == ("partial", "approval", str(approval.id))
    told = arguments_of(approval)
    assert next(iter(told)) == "not_undone"
    (left,) = told["not_undone"]
    assert (left["write"], left["fate"], left["tries"]) == ("v/blind", "failed", 3)
    assert left["error"] == "locked by change freeze"
    assert left["args"] == {"undo_of": 2}
    assert told["task"] == "look after it"
    assert told["failed_step"]
    assert told["error"]
    assert [(it["write"], it["fate"]) for it in told["undos"]] == [
        ("v/blind", "failed"),
        ("v/keyed", "done"),
    ]
    assert (approval.status, approval.requested_by) == ("pending", "")
    assert stubborn.audit("saga.handoff") == [
        {"kind": "approval", "id": str(approval.id), "status": "partial"}
    ]
    assert "saga.handoff" in {it.kind for it in stubborn.events(run)}
    assert hand_off(run.id) is None
    assert hand_off_due() == 0
    assert Approval.objects.count() == 1


def test_of_two_that_hand_off_at_once_one_does(unswept: World) -> None:
    run = fail(unswept, *TWO)
    undone(unswept)
    assert not Approval.objects.exists()
    ready = Barrier(2)

    def work(_: int) -> bool:
        try:
            ready.wait()
            return hand_off(run.id) is not None
        finally:
            connection.close()

    with ThreadPoolExecutor(2) as threads:
        assert sorted(threads.map(work, range(2))) == [False, True]
    assert Approval.objects.filter(kind="saga").count() == 1


@pytest.mark.parametrize("_round", range(4))
def test_handed_off_and_closed_at_once_nothing_is_left_to_decide(
    unswept: World, _round: int
) -> None:
    run = fail(unswept, *TWO)
    undone(unswept)
    ready = Barrier(2)

    def work(verb: Any) -> None:
        try:
            ready.wait()
            verb()
        finally:
            connection.close()

    def closes() -> None:
        close_saga(run_id=run.id, actor="olga", reason="looked after by hand")

    with ThreadPoolExecutor(2) as threads:
        list(threads.map(work, [lambda: hand_off(run.id), closes]))
    saga = Saga.objects.get(id=run.id)
    assert saga.status == "closed"
    assert hand_off_due() == 0
    assert not Approval.objects.filter(status="pending").exists()
    assert (saga.handoff == "none") == (not Approval.objects.exists())


def test_what_a_dead_process_left_is_found(unswept: World) -> None:
    run = fail(unswept, *TWO)
    assert (hand_off_due(), hand_off(run.id)) == (0, None), "it is being undone"
    undone(unswept)
    assert hand_off_due() == 1
    assert filed(run).status == "pending"
    assert hand_off_due() == 0


def test_one_whose_round_ended_unsaid_is_found(unswept: World) -> None:
    run = fail(unswept, *TWO)
    undone(unswept)
    unswept.sql("UPDATE sagas_saga SET status = 'compensating'")
    assert hand_off_due() == 1
    assert Saga.objects.get(id=run.id).status == "compensated"


def test_one_that_cannot_be_handed_off_keeps_no_other_from_it(
    unswept: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = fail(unswept, *TWO), None
    undone(unswept, name="one")
    second = fail(unswept, *TWO)
    undone(unswept, name="two")
    unswept.sql("UPDATE sagas_saga SET handoff = 'ticket' WHERE id = %s", first.id)

    def refuse(*_: Any) -> str:
        raise LookupError("odd")

    monkeypatch.setitem(hand_off.__globals__["WAYS"], "ticket", refuse)
    assert hand_off_due(limit=1) == 0
    assert hand_off_due(limit=1) == 1
    assert filed(second).status == "pending"


@pytest.mark.promise("SG-09")
def test_approving_begins_it_again_with_the_same_input_once(undoing: World) -> None:
    let_decide("kim", "olga")
    run = fail(undoing, *TWO)
    undone(undoing)
    approval = filed(run)
    decided = word(approval, ApprovalStatus.APPROVED)
    assert decided.status == "consumed"
    assert word(approval, ApprovalStatus.APPROVED).status == "consumed", "the very same word"
    with pytest.raises(AlreadyDecided):
        word(approval, ApprovalStatus.REJECTED, actor="olga")
    again = begun_again(Saga.objects.get(id=run.id))
    assert again is not None
    (newest,) = Run.objects.filter(loop="root").exclude(id=run.id)
    assert newest == again
    assert (again.status, again.entry, again.mission) == ("queued", run.entry, run.mission)
    started = undoing.audit("agent.run.started")[-1]
    assert (started["again"], started["approved_by"]) == (str(run.id), "kim")
    undoing.model.steps = [says("done")]
    assert undoing.process("again").carry().status == "answered"
    assert undoing.model.asked[-1].messages[-1].text == "look after it"


@pytest.mark.promise("SG-09")
def test_rejecting_closes_it(undoing: World) -> None:
    let_decide("kim")
    run = fail(undoing, *TWO)
    undone(undoing)
    word(filed(run), ApprovalStatus.REJECTED, reason="not again")
    saga = Saga.objects.get(id=run.id)
    assert (saga.status, saga.closed_by, saga.closed_reason) == ("closed", "kim", "not again")
    assert Run.objects.filter(loop="root").count() == 1
    with pytest.raises(SagaClosed):
        compensate_run(run_id=run.id, actor="olga")


def test_what_was_closed_by_hand_is_not_decided_any_more(undoing: World) -> None:
    let_decide("kim")
    run = fail(undoing, *TWO)
    undone(undoing)
    close_saga(run_id=run.id, actor="olga", reason="looked after by hand")
    assert filed(run).status == "withdrawn"
    assert "looked after by hand" in undoing.audit("agent.approval.withdrawn")[0]["reason"]
    with pytest.raises(AlreadyDecided, match="olga withdrawn it"):
        word(filed(run), ApprovalStatus.APPROVED)
    assert Run.objects.filter(loop="root").count() == 1


def test_a_run_that_cannot_begin_again_undoes_the_decision(undoing: World) -> None:
    let_decide("kim")
    run = fail(undoing, *TWO)
    undone(undoing)
    Agent.objects.update(is_contained=True)
    undoing.sql("UPDATE agents_configversion SET version = version + 1")
    with pytest.raises(AgentContained):
        word(filed(run), ApprovalStatus.APPROVED)
    assert filed(run).status == "pending"
    assert Run.objects.filter(loop="root").count() == 1
    Saga.objects.update(context=None)
    with pytest.raises(LiyagentError, match="not kept"):
        word(filed(run), ApprovalStatus.APPROVED)
    assert filed(run).status == "pending"


def test_a_decision_that_is_not_kept_begins_nothing(
    undoing: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    let_decide("kim")
    run = fail(undoing, *TWO)
    undone(undoing)

    def die(*_: Any) -> None:
        raise RuntimeError("the process died before its commit")

    monkeypatch.setattr(Approval, "refresh_from_db", _second_time(die))
    with pytest.raises(RuntimeError):
        word(filed(run), ApprovalStatus.APPROVED)
    assert filed(run).status == "pending"
    assert Run.objects.filter(loop="root").count() == 1


def test_while_it_is_being_undone_it_does_not_begin_again(stubborn: World) -> None:
    let_decide("kim")
    run = fail(stubborn, *TWO)
    undone(stubborn)
    compensate_run(run_id=run.id, actor="olga")
    for status in (ApprovalStatus.APPROVED, ApprovalStatus.REJECTED):
        with pytest.raises(Compensating):
            word(filed(run), status)
    stubborn.process("second").carry()
    assert word(filed(run), ApprovalStatus.APPROVED).status == "consumed"


@pytest.mark.promise("SG-09", "SG-10")
def test_a_ticket_is_filed_once(undoing: World, settings: Settings) -> None:
    settings.LIYAGENT = replace(settings.LIYAGENT, saga_handoff="ticket")
    run = fail(undoing, *TWO)
    undone(undoing)
    ticket = Ticket.objects.get()
    assert (ticket.priority, ticket.queue, ticket.run_id) == ("P2", "Service Desk L1", run.id)
    assert Saga.objects.get(id=run.id).handoff_id == ticket.number
    body = body_of(ticket)
    assert isinstance(body, dict)
    assert next(iter(body)) == "not_undone"
    assert body["task"] == "look after it"
    assert not Approval.objects.exists()


@pytest.mark.promise("SG-09")
def test_nothing_is_filed_where_nothing_is_to_be(undoing: World, settings: Settings) -> None:
    settings.LIYAGENT = replace(settings.LIYAGENT, saga_handoff="none")
    run = fail(undoing, *TWO)
    undone(undoing)
    assert (Saga.objects.get(id=run.id).handoff, hand_off_due()) == ("none", 0)
    assert undos(run) == [("blind", "done", 1), ("keyed", "done", 1)]
    assert not Approval.objects.exists()
    assert not Ticket.objects.exists()


@pytest.mark.promise("SG-07")
@pytest.mark.field("FL-66")
def test_a_held_undo_is_made_once_when_it_is_approved(undoing: World) -> None:
    let_decide("kim", "olga")
    run = fail(undoing, ("v/keyed", {"name": "a"}), ("v/readable", {"x": 1}), ("v/blind", {"x": 2}))
    _hold(undoing, "readable")
    undone(undoing)
    assert undos(run) == [("blind", "done", 1), ("readable", "held", 1), ("keyed", "done", 1)]
    held = Undo.objects.get(fate="held")
    assert Saga.objects.get(id=run.id).status == "partial"
    assert told_of(filed(run).id, with_words=False)["not_undone"][0]["approval"] == str(
        held.approval
    )
    word(Approval.objects.get(kind="call"), ApprovalStatus.APPROVED)
    undoing.process("approved").carry()
    assert [it.get("undo_of") for it in undoing.vendor.rows[3:]] == [3, 1, 2]
    assert undos(run)[1] == ("readable", "done", 1)
    assert Saga.objects.get(id=run.id).status == "compensated"


@pytest.mark.field("FL-66")
@pytest.mark.parametrize("by", ["closing", "rejecting"])
def test_closed_first_a_held_undo_is_not_there_to_be_approved(undoing: World, by: str) -> None:
    let_decide("kim", "olga")
    run = fail(undoing, ("v/readable", {"x": 1}), ("v/blind", {"x": 2}))
    _hold(undoing, "readable")
    undone(undoing)
    held = Approval.objects.get(kind="call")
    if by == "closing":
        close_saga(run_id=run.id, actor="olga", reason="by hand")
    else:
        word(filed(run), ApprovalStatus.REJECTED, actor="olga", reason="by hand")
    with pytest.raises(AlreadyDecided, match="olga"):
        word(held, ApprovalStatus.APPROVED)
    assert undos(run)[1][:2] == ("readable", "failed")
    assert Saga.objects.get(id=run.id).status == "closed"
    assert len(undoing.vendor.rows) == 3


def _hold(world: World, tool: str) -> None:
    """This tool is not what an operator approved any more: each call of it waits for a person."""
    world.sql("UPDATE gateway_tool SET fingerprint = 'another' WHERE name = %s", tool)


def _second_time(act: Any) -> Any:
    """Refreshed once after the decision, and again once what it sets going is done."""
    refresh, seen = Approval.refresh_from_db, []

    def counted(self: Approval, *args: Any, **known: Any) -> None:
        seen.append(self)
        if len(seen) == 2:
            act()
        refresh(self, *args, **known)

    return counted


@pytest.mark.promise("SG-12")
@pytest.mark.parametrize("way", ["approval", "ticket"])
def test_the_chain_of_a_run_that_was_handed_off_and_decided_is_whole(
    undoing: World, settings: Settings, way: str
) -> None:
    settings.LIYAGENT = replace(settings.LIYAGENT, saga_handoff=way)
    let_decide("kim")
    run = fail(undoing, *TWO)
    undone(undoing)
    if way == "approval":
        word(filed(run), ApprovalStatus.REJECTED, reason="not again")
    (verdict,) = verdicts(Asked())
    assert list(findings_of(verdict)) == []
    told = [it for it in undoing.events(run) if it.kind == "saga.handoff"]
    assert [misfit(it.kind, content_of(it.content)) for it in told] == [""]
