"""What the inbox tells before a decision and after it: changed policies, what it is that is asked, what became of it."""

from __future__ import annotations

import re

import pytest
from django.contrib.auth.models import User
from django.core.cache import cache
from django.test import Client, RequestFactory

from liyagent.approvals.filters import TABS
from liyagent.approvals.models import Approval, ApprovalStatus
from liyagent.console.sidebar import sidebar
from runs.models import Call
from runs.stop import stop_run
from tests.flows import test_approvals_console as inbox
from tests.flows.conftest import make_user
from tests.flows.test_approvals_console import (
    DECIDES,
    FORM,
    INBOX,
    ask,
    client_of,
    decisions,
    page,
    send,
    status_of,
    text,
    words_of,
)
from tests.unit.runs.carrying.conftest import World

held, olga, world = inbox.held, inbox.olga, inbox.world
OTHER_POLICIES = "UPDATE gateway_policy SET text = text || '\n// another text'"
CHANGED = "The policies have changed since this was asked for"


@pytest.mark.promise("CR-29")
@pytest.mark.parametrize(
    ("change", "is_told"),
    [
        ("SELECT 1", False),
        ("UPDATE agents_agent SET name = 'Another'", False),
        (OTHER_POLICIES, True),
    ],
)
def test_that_an_approval_would_only_ask_anew_is_told_where_it_does_and_nowhere_else(
    held: World, olga: Client, change: str, is_told: bool
) -> None:
    approval = ask(held)
    held.sql(change)
    said, listed = words_of(page(olga, approval)), words_of(text(olga.get(INBOX)))
    assert (CHANGED in said) is is_told
    assert ("have it asked for anew" in said) is is_told
    assert ("policies changed: approved, it asks again" in listed) is is_told
    send(olga, approval, "approve")
    held.process("second").carry()
    later = Approval.objects.filter(replaces=approval.id).first()
    assert (later is not None) is is_told
    assert (status_of(approval), len(held.vendor.received)) == (
        ("stale", 0) if is_told else ("consumed", 1)
    )
    if later is not None:
        assert CHANGED not in words_of(page(olga, later))
    assert CHANGED not in words_of(page(olga, approval))


def test_an_approval_that_no_process_made_yet_is_told_of_a_change_too(
    held: World, olga: Client
) -> None:
    approval = ask(held)
    send(olga, approval, "approve")
    assert "To keep the call from being made, stop the run" in words_of(page(olga, approval))
    held.sql(OTHER_POLICIES)
    assert "is not made on that" in words_of(page(olga, approval))
    assert "it asks again" in words_of(text(olga.get(f"{INBOX}?status=approved")))


def test_the_call_itself_is_no_other_write_of_unknown_outcome(held: World) -> None:
    olga = client_of(make_user("olga", *DECIDES, "runs.view_call"))
    first, second = ask(held, tool="v/blind"), ask(held, {"n": 2}, tool="v/blind")
    held.vendor.after_effect = lambda _tool: (_ for _ in ()).throw(ConnectionError("cut"))
    send(olga, first, "approve")
    held.process("second").carry()
    (call,) = Call.objects.filter(fate="unknown")
    html = page(olga, first)
    assert 'id="unknown"' not in html
    assert "nobody knows whether it took effect" in words_of(html)
    assert f"/admin/runs/call/{call.pk}/change/" in html
    Approval.objects.filter(id=second.id).update(correlation_id=first.correlation_id)
    assert "1 other write of unknown outcome" in words_of(page(olga, second))


def test_a_request_is_withdrawn_with_a_reason_and_its_run_is_told(
    held: World, olga: Client
) -> None:
    approval = ask(held)
    assert olga.get(f"{INBOX}{approval.id}/withdraw/").status_code == 302
    assert (status_of(approval), decisions()) == ("pending", [])
    assert "the agent is told that the request was withdrawn" in words_of(page(olga, approval))
    answer = olga.post(f"{INBOX}{approval.id}/withdraw/", {"reason": "not needed"}, follow=True)
    assert "the agent is told that the request was taken back" in words_of(text(answer))
    assert decisions() == [("agent.approval.withdrawn", "olga")]
    assert held.process("second").carry().status == "answered"
    assert "was withdrawn: not needed" in held.model.results()[0]
    assert held.vendor.received == []
    said = words_of(page(olga, approval))
    assert re.search(r"Withdrawn by olga \d+ s ago: not needed", said)
    html = text(olga.post(f"{INBOX}{approval.id}/withdraw/", {"reason": "again"}), 409)
    assert "It was not withdrawn" in words_of(html)
    assert FORM not in html


def test_who_asked_withdraws_without_the_right_to_decide_and_another_viewer_does_not(
    held: World, olga: Client
) -> None:
    approval = ask(held, started_by="kim")
    User.objects.filter(username="kim").delete()
    kim = client_of(make_user("kim", "approvals.view_approval"))
    vera = client_of(make_user("vera", "approvals.view_approval"))
    assert FORM not in page(vera, approval)
    address = f"{INBOX}{approval.id}/withdraw/"
    assert text(vera.post(address, {"reason": "mine"}), 403)
    assert client_of(make_user("stan")).post(address, {"reason": "mine"}).status_code == 403
    assert (status_of(approval), decisions()) == ("pending", [])
    assert page(kim, approval).count(FORM) == 1
    assert kim.post(address, {"reason": "not needed"}).status_code == 302
    assert decisions() == [("agent.approval.withdrawn", "kim")]


def test_what_can_be_decided_no_more_can_be_withdrawn(held: World, olga: Client) -> None:
    late, sealed = ask(held), ask(held, {"n": 2})
    held.sql("UPDATE approvals_approval SET expires_at = liyagent_now() WHERE id = %s", late.id)
    held.sql("UPDATE approvals_approval SET sealed = '' WHERE id = %s", sealed.id)
    for approval in (late, sealed):
        html = page(olga, approval)
        assert html.count(FORM) == 1
        assert f"{INBOX}{approval.id}/withdraw/" in html
        assert olga.post(f"{INBOX}{approval.id}/withdraw/", {"reason": "r"}).status_code == 302
        assert status_of(approval) == "withdrawn"


@pytest.mark.parametrize("verb", ["approve", "reject", "withdraw"])
@pytest.mark.parametrize(
    ("reason", "told"),
    [
        ("", "reason is empty"),
        (" ", "reason is empty"),
        ("long " * 101, "reason has 504 characters; it wants 500 at most"),
        ("a\u202eb", r"reason holds \u202e, which cannot be seen"),
    ],
)
def test_what_is_wrong_with_a_reason_is_said_first_and_what_was_typed_is_kept(
    held: World, olga: Client, verb: str, reason: str, told: str
) -> None:
    approval = ask(held)
    html = text(send(olga, approval, verb, reason=reason), 400)
    first = html.split('id="refused"')[1].split('id="arguments"')[0]
    assert told in words_of(first)
    assert f'href="#{verb}"' in first
    assert (reason.strip() in html.split(f'id="{verb}"')[1]) or not reason.strip()
    assert f'href="{INBOX}{approval.id}/change/?lines=' not in html
    assert (status_of(approval), decisions()) == ("pending", [])


def test_links_of_a_refused_form_lead_to_the_page(held: World, olga: Client) -> None:
    approval = ask(held, {f"k{it}": "w" * 2_000 for it in range(120)})
    html = text(send(olga, approval, "reject", reason=""), 400)
    for asked in ("lines=2", "show=1", "show=raw"):
        assert f'href="{INBOX}{approval.id}/change/?{asked}' in html


def test_a_stale_request_says_when_it_went_stale_why_and_what_was_filed_in_its_place(
    held: World, olga: Client
) -> None:
    changed, ended = ask(held), ask(held, {"n": 2})
    for approval in (changed, ended):
        send(olga, approval, "approve")
    held.sql(OTHER_POLICIES)
    stop_run(run_id=ended.run_id, actor="olga", reason="enough")
    for process in ("second", "third"):
        for run_id, attempt in held.process(process).take():
            held.process(process).go_on(run_id, attempt)
    (later,) = Approval.objects.filter(replaces=changed.id)
    listed = text(olga.get(f"{INBOX}?status=stale"))
    for approval, why in ((changed, "the policies"), (ended, "the run ended before it was made")):
        row = Approval.objects.get(id=approval.id)
        assert row.status == "stale"
        assert row.settled_at is not None
        at = f"{row.settled_at:%Y-%m-%d %H:%M:%S}Z"
        assert (at in listed, why in words_of(listed)) == (True, True)
        history = page(olga, approval).split('id="history"')[1]
        assert at in history
        said = words_of(page(olga, approval))
        assert re.search(rf"Stale \d+ s ago: .*{why}", said)
    assert f"{INBOX}{later.id}/change/" in listed
    assert page(olga, changed).count(f"{INBOX}{later.id}/change/") == 2


@pytest.mark.parametrize("status", ["rejected", "withdrawn", "expired", "consumed"])
def test_when_a_request_was_settled_is_kept_of_each(held: World, olga: Client, status: str) -> None:
    approval = ask(held)
    assert approval.settled_at is None
    held.sql("UPDATE approvals_approval SET status = 'approved'")
    assert Approval.objects.get().settled_at is None
    held.sql("UPDATE approvals_approval SET status = %s", status)
    assert Approval.objects.get().settled_at is not None


def test_equal_requests_of_one_agent_are_told_apart_and_known_as_equal(
    held: World, olga: Client
) -> None:
    first, twin, other = ask(held), ask(held), ask(held, {"n": 2})
    html = text(olga.get(INBOX))
    for approval in (first, other):
        assert f"/admin/runs/run/{approval.run_id}/change/" in html
        assert "call 1 of step 1" in html
    assert first.digest == twin.digest
    assert html.count(f">{first.digest[:8]}<") == 2
    assert html.count(f">{other.digest[:8]}<") == 1
    assert first.digest not in html


def test_no_tab_leads_to_what_is_never_there(held: World, olga: Client) -> None:
    approval = ask(held)
    assert "?status=approved" not in text(olga.get(INBOX))
    send(olga, approval, "approve")
    assert "?status=approved" in text(olga.get(INBOX))
    said = words_of(text(olga.get(f"{INBOX}?status=approved")))
    assert "approved, the call is not made yet" in said
    assert "approved, not yet made" in said
    assert held.process("second").carry().status == "answered"
    assert "?status=approved" not in text(olga.get(INBOX))
    said = words_of(text(olga.get(f"{INBOX}?status=approved")))
    assert "No approved call waits to be made" in said
    assert "v/keyed" in words_of(text(olga.get(f"{INBOX}?status=consumed")))


def test_each_list_says_what_is_in_it_and_that_nothing_is(held: World, olga: Client) -> None:
    assert set(TABS) == {*ApprovalStatus.values, "all"}
    for status, tab in TABS.items():
        said = words_of(text(olga.get(f"{INBOX}?status={status}")))
        assert tab.told in said
        assert tab.empty in said
    said = words_of(text(olga.get(f"{INBOX}?q=nothing-of-this-name")))
    assert "Clear the search and the filters" in said


def test_how_long_there_is_to_decide_is_said_in_words(held: World, olga: Client) -> None:
    approval = ask(held)
    for left, told in (("6 days 1 hour", "6 days"), ("40.5 minutes", "40 minutes")):
        held.sql(f"UPDATE approvals_approval SET expires_at = liyagent_now() + interval '{left}'")
        for html in (page(olga, approval), text(olga.get(INBOX))):
            assert f"expires in {told}" in words_of(html)


def test_the_number_beside_the_menu_is_that_of_the_page(held: World, olga: Client) -> None:
    cache.clear()
    first, _ = ask(held), ask(held, {"n": 2})
    text(olga.get("/admin/"))
    assert waiting("/admin/") == "2"
    send(olga, first, "reject")
    assert waiting("/admin/") == "2"
    assert waiting(INBOX) == "1"
    assert waiting("/admin/") == "1"


def waiting(path: str) -> str:
    """What stands beside `Approvals` on a page."""
    request = RequestFactory().get(path)
    request.user = User.objects.get(username="olga")
    items = [it for group in sidebar(request) for it in group["items"]]
    return str(next(it["badge"] for it in items if it["title"] == "Approvals"))


def test_the_same_decision_sent_again_says_where_the_request_stands_now(
    held: World, olga: Client
) -> None:
    stale, made = ask(held), ask(held, {"n": 2})
    address = f"{INBOX}{made.id}/approve/"
    given = {"reason": "looks right", "digest": made.digest}
    olga.post(address, given)
    assert held.process("second").carry().status == "answered"
    said = words_of(text(olga.post(address, given, follow=True)))
    assert "you had approved it before, and the call was sent. Nothing was changed now." in said
    send(olga, stale, "approve")
    held.sql(OTHER_POLICIES)
    held.process("third").carry()
    given = {"reason": "looks right", "digest": stale.digest}
    said = words_of(text(olga.post(f"{INBOX}{stale.id}/approve/", given, follow=True)))
    assert "since then it is stale: the call was not made on it" in said


def test_a_request_that_is_not_there_leads_to_those_that_wait(held: World, olga: Client) -> None:
    approval = ask(held)
    answer = olga.get(f"{INBOX}0190a0a0-0000-7000-8000-000000000000/change/", follow=True)
    said = words_of(text(answer))
    assert "There is no request 0190a0a0-0000-7000-8000-000000000000" in said
    assert str(approval.id) in text(answer)
