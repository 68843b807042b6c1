"""A hand-off as a ticket of another system: a governed write, filed once there, or here with the reason (SG-09)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from pytest_django import Settings

from liyagent.agents.models import Agent
from liyagent.approvals.models import Approval, ApprovalStatus
from liyagent.core.canonical import digest
from liyagent.core.ticket_conf import TicketConf
from liyagent.gateway.local import ToolFailed
from liyagent.tickets.models import Ticket
from liyagent.tickets.words import body_of
from runs.hand_off import hand_off_due
from runs.models import Run
from sagas.models import Saga
from tests.unit.approvals.deciding import let_decide
from tests.unit.runs.carrying.conftest import World
from tests.unit.runs.carrying.test_compensation import fail, undoing, undone
from tests.unit.runs.carrying.test_hand_off import TWO, unswept, word
from tests.unit.runs.carrying.vendor import Killed, die_after_effect, die_before_effect

__all__ = ["undoing", "unswept"]

CONF = TicketConf(
    server="v", tool="keyed", args={"title": "{{ subject }}", "text": "{{ body }}", "of": "{{ source }}"}
)  # fmt: skip


@pytest.fixture
def elsewhere(undoing: World, settings: Settings) -> World:
    """Tickets are filed at the vendor."""
    settings.LIYAGENT = replace(settings.LIYAGENT, saga_handoff="ticket", tickets=CONF)
    return undoing


def tickets(world: World) -> list[dict[str, Any]]:
    return [it for it in world.vendor.rows if "of" in it]


@pytest.mark.promise("SG-09")
def test_the_ticket_is_filed_elsewhere_by_a_governed_write(elsewhere: World) -> None:
    run = fail(elsewhere, *TWO)
    undone(elsewhere)
    assert Saga.objects.get(id=run.id).handed_off_at is None
    assert hand_off_due() == 0, "a run is at it"
    filing = elsewhere.process("filing").carry()
    (ticket,) = tickets(elsewhere)
    assert (filing.loop, filing.status) == ("handoff", "answered")
    assert ticket["of"] == f"saga:{run.id}"
    assert "look after it" in ticket["text"]
    saga = Saga.objects.get(id=run.id)
    assert (saga.handoff, saga.handoff_id) == ("ticket", str(ticket["id"]))
    assert elsewhere.audit("saga.handoff")[0]["id"] == str(ticket["id"])
    assert not Ticket.objects.exists()
    assert saga.registered == 2, "nothing undoes it"
    assert ticket["key"] == digest(["handoff", str(run.id)])


@pytest.mark.promise("SG-09")
@pytest.mark.parametrize("die", [die_before_effect, die_after_effect])
def test_whoever_dies_it_is_filed_once(elsewhere: World, die: Any) -> None:
    run = fail(elsewhere, *TWO)
    undone(elsewhere)
    first = elsewhere.process("first")
    die("keyed")
    with pytest.raises(Killed):
        first.carry()
    elsewhere.lapse(first)
    elsewhere.process("second").carry()
    assert len(tickets(elsewhere)) == 1
    assert Saga.objects.get(id=run.id).handed_off_at is not None
    assert not Ticket.objects.exists()


def test_what_cannot_be_filed_elsewhere_is_filed_here_and_says_why(elsewhere: World) -> None:
    run = fail(elsewhere, *TWO)
    undone(elsewhere)

    def fails(_tool: str) -> None:
        raise ToolFailed("the board is closed")

    elsewhere.vendor.before_effect = fails
    elsewhere.process("filing").carry()
    ticket = Ticket.objects.get()
    body = body_of(ticket)
    assert isinstance(body, dict)
    assert "the board is closed" in body["not_filed_elsewhere"]["reason"]
    assert Saga.objects.get(id=run.id).handoff_id == ticket.number


def test_an_agent_that_may_not_is_told_and_it_is_filed_here(elsewhere: World) -> None:
    fail(elsewhere, *TWO)
    undone(elsewhere)
    Agent.objects.update(tool_patterns=["v/look"])
    elsewhere.process("filing").carry()
    assert not tickets(elsewhere)
    assert Ticket.objects.count() == 1


def test_one_that_is_held_waits_and_rejected_is_filed_here(elsewhere: World) -> None:
    let_decide("kim")
    run = fail(elsewhere, *TWO)
    undone(elsewhere)
    elsewhere.sql("UPDATE agents_agent SET write_posture = 'hold'")
    assert elsewhere.process("filing").carry().status == "waiting"
    assert not Ticket.objects.exists()
    word(Approval.objects.get(), ApprovalStatus.REJECTED)
    elsewhere.process("after").carry()
    assert Saga.objects.get(id=run.id).handoff_id == Ticket.objects.get().number


def test_where_nothing_was_owed_a_run_files_it_all_the_same(
    elsewhere: World, unswept: World
) -> None:
    run = fail(unswept, *TWO)
    undone(unswept)
    unswept.sql("DELETE FROM sagas_undo")
    assert hand_off_due() == 0
    assert Run.objects.filter(loop="handoff").count() == 1
    unswept.process("filing").carry()
    assert hand_off_due() == 1
    assert hand_off_due() == 0
    assert Saga.objects.get(id=run.id).handoff_id
