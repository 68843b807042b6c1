"""A request of a turn is a card in its conversation; a button decides by the verb, as the user behind the account."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest

from liyagent.agents.models import Agent
from liyagent.approvals.decide import decide, expire
from liyagent.approvals.models import Approval, ApprovalStatus
from liyagent.entry.models import Arrival, Delivery
from liyagent.entry.teams.cards import CARD
from liyagent.entry.teams.invoke import MESSAGE, NOT_ALLOWED, NOT_HERE, NOT_KNOWN
from runs.models import Run
from tests.fakes.teams_connector import Fault, Shown
from tests.flows.conftest import make_user
from tests.flows.holding import filed
from tests.unit.entry.teams.conftest import Teams, known_as
from tests.unit.runs.carrying.conftest import calls, says

OTHER = "b4d2f6e1-8a6a-4b7b-9e64-3a5c1b2e0f12"


@pytest.fixture
def asking(teams: Teams) -> Teams:
    """The agent's writes are held and its runs wait; kim's Teams account is known, and kim may decide."""
    Agent.objects.update(write_posture="hold", may_wait=True)
    make_user("kim", "approvals.decide")
    known_as("kim")
    return teams


def ask(asking: Teams, **args: Any) -> tuple[Arrival, Approval, Shown]:
    """Let a turn ask for a write, and return it with the card that is shown."""
    before = set(Approval.objects.values_list("id", flat=True))
    arrival = asking.say("do it", calls(("v/keyed", args or {"title": "disk 4"})), says("done"))
    asking.world.process().carry()
    asking.later()
    asking.deliver()
    card = next(it for it in reversed(asking.shown()) if it.card)
    return arrival, Approval.objects.exclude(id__in=before).get(), card


def press(asking: Teams, card: Shown, verb: str, **facts: Any) -> dict[str, Any]:
    """Press a button; return what Teams is told."""
    button = next(it for it in card.buttons if it["verb"] == verb)
    answer = asking.post(asking.channel.press(button, card=card.id, **facts))
    assert answer.status_code == 200, answer.content
    told: dict[str, Any] = answer.json()
    return told


def words(card: Any) -> str:
    """All that a card says, in order."""
    lines = ["".join(it["text"] for it in block["inlines"]) for block in card["body"] if "inlines" in block]  # fmt: skip
    return "\n".join(lines)


@pytest.mark.promise("CR-04")
def test_a_request_is_a_card_with_the_exact_call_and_is_made_once_it_is_approved(
    asking: Teams,
) -> None:
    arrival, approval, card = ask(asking, title="disk **4**", hosts=["a", "b"])
    said = words(card.card)
    for told in ("v/keyed", "triage", str(arrival.run_id), "title: disk **4**", "hosts[1]: b"):
        assert told in said
    shown = press(asking, card, "approve", reason="it is full")
    assert (shown["statusCode"], shown["type"]) == (200, CARD)
    assert shown["value"]["actions"] == []
    assert "approved" in words(shown["value"])
    approval.refresh_from_db()
    decided = (approval.status, approval.decided_by, approval.decision_reason)
    assert decided == ("approved", "kim", "it is full")
    asking.world.process().carry()
    assert len(asking.world.vendor.of("keyed")) == 1
    asking.later()
    for _ in range(3):
        asking.deliver()
    assert "approved" in words(card.card)
    assert card.buttons == []
    assert asking.shown()[0].text == "done"


@pytest.mark.field("FL-72")
def test_a_button_that_is_sent_four_times_decides_once(asking: Teams) -> None:
    _arrival, approval, card = ask(asking)
    told = [press(asking, card, "approve", timestamp=f"at {number}") for number in range(4)]
    assert all(it == told[0] for it in told)
    assert len(asking.world.audit("agent.approval.approved")) == 1
    rejected = press(asking, card, "reject")
    assert rejected == told[0]
    approval.refresh_from_db()
    assert approval.status == "approved"


def test_a_rejection_is_told_to_the_agent_and_shown_on_the_card(asking: Teams) -> None:
    _arrival, approval, card = ask(asking)
    press(asking, card, "reject", reason="not on Sundays")
    asking.world.process().carry()
    assert asking.world.vendor.of("keyed") == []
    asking.later()
    for _ in range(3):
        asking.deliver()
    assert "rejected" in words(card.card)
    assert "not on Sundays" in words(card.card)
    approval.refresh_from_db()
    assert approval.status == "rejected"


def test_an_account_that_is_not_known_decides_nothing_and_is_in_the_audit_log(
    asking: Teams,
) -> None:
    _arrival, approval, card = ask(asking)
    stranger = {"id": "29:x", "aadObjectId": OTHER}
    told = press(asking, card, "approve", **{"from": stranger})
    assert (told["type"], told["value"]) == (MESSAGE, NOT_KNOWN)
    (row,) = asking.world.audit("teams.decision_refused")
    assert row["approval"] == str(approval.id)
    approval.refresh_from_db()
    assert approval.status == "pending"


@pytest.mark.parametrize("why", ["has no right to", "is switched off"])
def test_a_user_who_may_not_decide_does_not_by_a_button_either(asking: Teams, why: str) -> None:
    user = make_user("lee", *(("approvals.decide",) if why == "is switched off" else ()))
    user.is_active = why != "is switched off"
    user.save(update_fields=["is_active"])
    known_as("lee", person=OTHER)
    _arrival, approval, card = ask(asking)
    told = press(asking, card, "approve", **{"from": {"id": "29:x", "aadObjectId": OTHER}})
    assert told["value"] == NOT_ALLOWED
    approval.refresh_from_db()
    assert approval.status == "pending"


def test_nobody_approves_what_was_asked_on_their_own_behalf(asking: Teams) -> None:
    make_user("ona", "approvals.decide")
    asking.bot.started_by = "ona"
    asking.bot.save(update_fields=["started_by"])
    known_as("ona", person=OTHER)
    _arrival, approval, card = ask(asking)
    told = press(asking, card, "approve", **{"from": {"id": "29:x", "aadObjectId": OTHER}})
    assert "somebody else has to approve it" in told["value"]
    approval.refresh_from_db()
    assert approval.status == "pending"


def test_a_request_is_decided_in_the_conversation_that_it_was_asked_in_alone(
    asking: Teams,
) -> None:
    _arrival, approval, card = ask(asking)
    elsewhere = {"id": "a:another", "tenantId": asking.connector.tenant}
    told = press(asking, card, "approve", conversation=elsewhere)
    assert told["value"] == NOT_HERE
    approval.refresh_from_db()
    assert approval.status == "pending"


def test_a_request_of_a_run_below_is_told_where_the_chain_began(asking: Teams) -> None:
    arrival = asking.say("do it", says("done"))
    root = Run.objects.get(id=arrival.run_id)
    child = Run(id=uuid4(), correlation_id=root.id, mission=root.mission, agent_key="fixer", entry=root.entry)  # fmt: skip
    approval = filed(child, title="disk 5")
    asking.deliver()
    asking.deliver()
    (card,) = [it for it in asking.shown() if it.card]
    assert "fixer asks before it calls jira/create_issue" in words(card.card)
    assert str(child.id) in words(card.card)
    press(asking, card, "reject")
    approval.refresh_from_db()
    assert approval.status == "rejected"


def test_a_request_of_a_run_that_came_by_another_way_is_no_card(asking: Teams) -> None:
    asking.world.start(calls(("v/keyed", {"title": "x"})), says("done"))
    asking.world.process().carry()
    assert Approval.objects.count() == 1
    assert not Delivery.objects.exists()


def test_what_was_decided_elsewhere_is_shown_on_the_card(asking: Teams) -> None:
    _arrival, approval, card = ask(asking)
    decide(
        approval_id=approval.id,
        status=ApprovalStatus.REJECTED,
        actor="kim",
        reason="in the console",
        digest=approval.digest,
    )
    asking.deliver()
    assert "in the console" in words(card.card)
    assert card.buttons == []
    told = press_again(asking, card, approval)
    assert "rejected" in words(told["value"])


def press_again(asking: Teams, card: Shown, approval: Approval) -> dict[str, Any]:
    """Press what an old client still shows."""
    data = {"approval": str(approval.id), "digest": approval.digest}
    answer = asking.post(asking.channel.press({"verb": "approve", "data": data}, card=card.id))
    told: dict[str, Any] = answer.json()
    return told


def test_an_expired_request_is_shown_as_that(asking: Teams) -> None:
    _arrival, approval, card = ask(asking)
    asking.world.sql("UPDATE approvals_approval SET expires_at = liyagent_now() - interval '1 s'")
    assert "expired at" in press_again(asking, card, approval)["value"]
    expire(approval.id)
    asking.deliver()
    assert "expired" in words(card.card)
    assert card.buttons == []


def test_a_call_too_long_to_be_shown_whole_is_not_decided_here(asking: Teams) -> None:
    _arrival, _approval, card = ask(asking, title="x" * 7_000)
    assert card.buttons == []
    assert "too long to be shown here" in words(card.card)


def test_what_cannot_be_seen_in_a_call_is_written_out(asking: Teams) -> None:
    _arrival, _approval, card = ask(asking, title="pay\u202elap")
    assert "\\u202e" in words(card.card)
    assert "turns the direction" in words(card.card)


def test_a_card_in_doubt_is_posted_again_and_either_decides_once(asking: Teams) -> None:
    asking.connector.faults = [Fault(status=201, told={"id": "1:1"}, accepts=True), Fault(resets=True, accepts=True, method="POST")]  # fmt: skip
    arrival, approval, _card = ask(asking)
    asking.later()
    asking.deliver()
    cards = [it for it in asking.shown() if it.card]
    assert len(cards) == 2
    for card in cards:
        press(asking, card, "approve")
    approval.refresh_from_db()
    assert approval.status == "approved"
    assert len(asking.world.audit("agent.approval.approved")) == 1
    assert asking.states(arrival)["approval"] == "delivered"


def test_a_card_whose_post_was_never_answered_is_brought_up_to_date_once_it_is_pressed(
    asking: Teams,
) -> None:
    asking.connector.faults = [Fault(status=201, told={"id": "1:1"}, accepts=True), Fault(resets=True, accepts=True, method="POST")]  # fmt: skip
    _arrival, _approval, card = ask(asking)
    assert not Delivery.objects.get(kind="approval").vendor_id
    press(asking, card, "approve")
    assert Delivery.objects.get(kind="approval").vendor_id == card.id
    Delivery.objects.filter(kind="approval").update(state="dead")
    asking.later()
    asking.deliver()
    assert all(not it.buttons for it in asking.shown() if it.id == card.id)


@pytest.mark.parametrize(
    ("value", "name", "code"),
    [
        (None, "adaptiveCard/action", "teams.activity_bad"),
        ({"action": {"verb": "delete", "data": {}}}, "adaptiveCard/action", "teams.activity_bad"),
        ({"action": {"verb": ["approve"], "data": {}}}, "adaptiveCard/action", "teams.activity_bad"),
        ({"action": {"verb": {}, "data": {"approval": {}}}}, "adaptiveCard/action", "teams.activity_bad"),
        ({"action": {"verb": "approve", "data": {"approval": "1"}}}, "adaptiveCard/action", "teams.activity_bad"),
        ({}, "task/fetch", "teams.invoke_unknown"),
    ],
)  # fmt: skip
def test_a_button_of_no_card_of_ours_is_refused(
    asking: Teams, value: Any, name: str, code: str
) -> None:
    answer = asking.post(asking.channel.activity("invoke", name=name, value=value))
    assert (answer.status_code, answer.json()["code"]) == (400, code)
