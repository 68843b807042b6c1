"""The inbox of the console: what waits for a person, exactly, and the decision of a person who may."""

from __future__ import annotations

import json
import re
from html import unescape
from typing import Any
from uuid import UUID

import pytest
from django.contrib.auth.models import User
from django.core.cache import cache
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from liyagent.approvals.decide import decide
from liyagent.approvals.models import Approval, ApprovalStatus
from liyagent.audit.models import AuditRow
from liyagent.gateway.models import Tool, ToolServer
from runs.models import Run
from tests.flows.conftest import make_user
from tests.unit.runs.carrying import conftest as carrying
from tests.unit.runs.carrying.conftest import World, calls, says

world = carrying.world
INBOX = "/admin/approvals/approval/"
HOLD = "UPDATE agents_agent SET write_posture = 'hold', may_wait = true"
HOSTILE = "<img src=x onerror=alert(1)>\u202eevil\u200b\x07"
SEES = ("approvals.view_approval", "runs.view_run")
DECIDES = (*SEES, "approvals.decide")
FORM = 'action="/admin/approvals/approval/'


@pytest.fixture
def held(world: World) -> World:
    """The agent's writes are held, and it waits for a person."""
    world.sql(HOLD)
    return world


@pytest.fixture
def olga(held: World) -> Client:
    """One who may decide."""
    return client_of(make_user("olga", *DECIDES))


def client_of(user: User) -> Client:
    User.objects.filter(pk=user.pk).update(is_staff=True)
    client = Client()
    client.force_login(user)
    return client


def ask(held: World, args: dict[str, Any] | None = None, *, tool: str = "v/keyed", **facts: Any) -> Approval:  # fmt: skip
    """Have a run ask for a call that is held, and return the request."""
    if "started_by" in facts:
        User.objects.get_or_create(username=facts["started_by"])
    run = held.start(calls((tool, {"n": 1} if args is None else args)), says("done"), **facts)
    held.process("first").carry()
    return Approval.objects.get(run_id=run.id)


def text(response: Any, status: int = 200) -> str:
    assert response.status_code == status, response.status_code
    return str(response.content.decode())


def page(client: Client, approval: Approval, asked: str = "", *, status: int = 200) -> str:
    return text(client.get(f"{INBOX}{approval.id}/change/{asked}"), status)


def words_of(html: str) -> str:
    """What a page says, without its marks, on one line."""
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", html)).split())


def send(client: Client, approval: Approval, verb: str, **changed: str) -> Any:
    given = {"reason": "looks right", "digest": approval.digest, **changed}
    return client.post(f"{INBOX}{approval.id}/{verb}/", given)


def status_of(approval: Approval) -> str:
    return str(Approval.objects.values_list("status", flat=True).get(id=approval.id))


def decisions() -> list[tuple[str, str]]:
    rows = AuditRow.objects.filter(action__startswith="agent.approval.").exclude(action="agent.approval.requested")  # fmt: skip
    return list(rows.order_by("id").values_list("action", "actor"))


def test_what_waits_longest_stands_first_with_all_that_tells_it_apart(
    held: World, olga: Client
) -> None:
    first = ask(held, mission="INC-7", started_by="rita")
    second = ask(held)
    held.sql("UPDATE approvals_approval SET created_at = created_at - interval '3 hours' WHERE id = %s", first.id)  # fmt: skip
    html = text(olga.get(INBOX))
    assert html.index(str(first.id)) < html.index(str(second.id))
    said = words_of(html)
    for it in ("3 h ago", "v/keyed", "triage", "as rita", "INC-7", "the agent's writes are held"):
        assert it in said, it
    assert f"/admin/runs/run/{first.run_id}/change/" in html
    assert f"{Approval.objects.get(id=first.id).created_at:%Y-%m-%d %H:%M:%S}Z" in html
    assert f"{first.expires_at:%Y-%m-%d %H:%M:%S}Z" in html


def test_what_was_decided_stands_apart(held: World, olga: Client) -> None:
    waiting, rejected = ask(held), ask(held, {"n": 2})
    send(olga, rejected, "reject", reason="wrong host")
    html = text(olga.get(INBOX))
    assert str(waiting.id) in html
    assert str(rejected.id) not in html
    html = text(olga.get(f"{INBOX}?status=rejected"))
    assert str(rejected.id) in html
    assert "by olga" in html
    assert str(waiting.id) not in html
    every = text(olga.get(f"{INBOX}?status=all"))
    assert str(waiting.id) in every
    assert str(rejected.id) in every
    for status in ApprovalStatus.values:
        text(olga.get(f"{INBOX}?status={status}&agent_key=triage"))
        assert f"?status={status}" in every or status in {"pending", "approved"}
    assert str(waiting.id) in text(olga.get(f"{INBOX}?agent_key=triage"))
    assert str(waiting.id) not in text(olga.get(f"{INBOX}?agent_key=other"))


def test_requests_are_found_by_id_run_and_mission(held: World, olga: Client) -> None:
    approval, other = ask(held, mission="INC-7"), ask(held, {"n": 2})
    for term in (approval.id, approval.run_id, "INC-7"):
        html = text(olga.get(INBOX, {"q": str(term)}))
        assert str(approval.id) in html, term
        assert str(other.id) not in html, term
    for term in ("%", "x" * 5000, str(UUID(int=1)), "💩"):
        assert str(approval.id) not in text(olga.get(INBOX, {"q": term}))


def test_the_list_reads_no_body_and_counts_no_further_than_an_index_leads(
    held: World, olga: Client
) -> None:
    ask(held)
    with CaptureQueriesContext(connection) as queries:
        text(olga.get(INBOX))
    ours = [it["sql"] for it in queries if 'FROM "approvals_approval"' in it["sql"]]
    assert not [it for it in ours if '"sealed"' in it or '"ceiling"' in it]
    counts = [it for it in ours if it.startswith("SELECT COUNT")]
    assert counts
    assert all("LIMIT 5000" in it for it in counts)


def test_the_page_says_what_would_be_done_and_shows_exactly_what_would_be_sent(
    held: World, olga: Client
) -> None:
    Tool.objects.filter(name="keyed").update(undo={"tool": "v/remove"})
    approval = ask(held, {"host": {"name": "db-1"}, "labels": ["a", 7]}, started_by="rita", task="Mend db-1.")  # fmt: skip
    html = page(olga, approval)
    said = words_of(html)
    assert "Agent triage wants to call v/keyed with the rights of rita ." in said
    for it in ("host.name", "“ db-1 ”", "labels[0]", "labels[1]", "text, 4 characters", "number"):
        assert it in said, it
    raw = unescape(html.split('class="liy-block liy-raw">')[1].split("</pre>")[0])
    assert json.loads(raw) == {"host": {"name": "db-1"}, "labels": ["a", 7]}
    for it in (
        "Mend db-1.", "changes something", "v/remove", "for 24 h a second sending does nothing", "it is sent again with the same key",
        "The agent's writes are held", "by its pattern v/*", "with the rights of rita", "policies that let it through: all",
        "The run sleeps until this is decided", approval.digest, approval.policy_fingerprint, approval.mission,
    ):  # fmt: skip
        assert it in said, it
    assert html.count(FORM) == 3
    assert html.count(f'value="{approval.digest}"') == 2


def test_hostile_arguments_are_written_out_told_of_and_never_obeyed(
    held: World, olga: Client
) -> None:
    approval = ask(held, {HOSTILE: HOSTILE, "path": "a" + " " * 500 + "b"}, task=HOSTILE)
    html = page(olga, approval)
    assert "<img" not in html
    assert not [it for it in "\u202e\u200b\x07" if it in html]
    said = words_of(html)
    assert "The arguments are not all as they look" in said
    for it in ("⟨U+202E⟩ RIGHT-TO-LEFT OVERRIDE", "⟨U+200B⟩ ZERO WIDTH SPACE", "⟨U+0007⟩ BELL", "⟨500 spaces⟩"):  # fmt: skip
        assert it in said, it
    assert "<script>" not in html.split("<body")[1].split('id="content')[-1]


def test_what_is_long_is_cut_openly_and_can_be_seen_whole(held: World, olga: Client) -> None:
    long = "w" * 20_000 + "x" * 15_000 + "the end"
    approval = ask(held, {"note": long, **{f"k{it}": it for it in range(150)}})
    said = words_of(page(olga, approval))
    assert "34,007 characters not shown here" in said
    assert "Not all of it is on this page" in said
    assert "151 values, 1 to 100 of them here" in said
    assert "Not all of what would be sent is on this page." in said
    assert "k140" in words_of(page(olga, approval, "?lines=2")).split("The same as raw JSON")[0]
    first, second = (page(olga, approval, f"?show=1&part={it}") for it in (1, 2))
    assert "w" * 20_000 in first
    assert "x" * 15_000 + "the end" in second
    assert "part 2 of 2" in second
    assert "&quot;k149&quot;: 149" in page(olga, approval, "?show=raw&part=2")
    for asked in ("?show=0", "?show=152", "?show=-1", "?show=x", "?show=💩", "?show=²"):
        page(olga, approval, asked, status=404)
    for asked in ("?lines=99999", "?lines=x", "?lines=-1"):
        assert "of them here" in words_of(page(olga, approval, asked))


def test_arguments_are_for_those_who_decide_or_read_words_and_forms_for_those_who_decide(
    held: World, olga: Client
) -> None:
    approval = ask(held, {"q": "secret-arg"}, task="secret-task")
    vera = client_of(make_user("vera", *SEES))
    html = page(vera, approval)
    assert "secret" not in html
    assert FORM not in html
    assert "wants to call" in words_of(html)
    assert page(vera, approval, "?show=1", status=403)
    assert page(vera, approval, "?show=task", status=403)
    rita = client_of(make_user("rita", *SEES, "transcripts.content.read"))
    html = page(rita, approval)
    assert "secret-arg" in html
    assert "secret-task" in html
    assert FORM not in html
    for verb in ("approve", "reject"):
        assert send(vera, approval, verb).status_code == 403
        assert send(rita, approval, verb).status_code == 403
    stranger = client_of(make_user("stan"))
    assert stranger.get(INBOX).status_code == 403
    page(stranger, approval, status=403)
    assert (status_of(approval), decisions()) == ("pending", [])
    assert FORM in page(olga, approval)


def test_an_approval_by_post_lets_the_run_go_on_and_make_the_call_once(
    held: World, olga: Client
) -> None:
    approval = ask(held)
    answer = send(olga, approval, "approve")
    assert (answer.status_code, answer["Location"]) == (302, INBOX)
    assert decisions() == [("agent.approval.approved", "olga")]
    assert held.process("second").carry().status == "answered"
    assert held.vendor.received == ["keyed"]
    said = words_of(page(olga, approval))
    assert "approved, and the call was sent" in said
    assert "What became of it done" in said
    assert "Approved" in said
    assert "looks right" in said
    assert FORM not in page(olga, approval)


def test_a_rejection_by_post_is_told_to_the_run_with_its_reason(held: World, olga: Client) -> None:
    approval = ask(held)
    assert send(olga, approval, "reject", reason="wrong host").status_code == 302
    assert held.process("second").carry().status == "answered"
    assert held.vendor.received == []
    assert "olga rejected this call: wrong host" in held.model.results()[0]
    assert re.search(r"Rejected by olga \d+ s ago: wrong host", words_of(page(olga, approval)))


def test_to_look_is_never_to_decide(held: World, olga: Client) -> None:
    approval = ask(held)
    for verb in ("approve", "reject"):
        answer = olga.get(f"{INBOX}{approval.id}/{verb}/?reason=x&digest={approval.digest}")
        assert (answer.status_code, answer["Location"]) == (302, f"{INBOX}{approval.id}/change/")
    assert olga.post(f"{INBOX}{approval.id}/change/", {"reason": "x"}).status_code == 403
    checked = Client(enforce_csrf_checks=True)
    checked.force_login(User.objects.get(username="olga"))
    assert send(checked, approval, "approve").status_code == 403
    for wrong in ("no-uuid", str(UUID(int=1)), "\u0000"):
        assert olga.post(f"{INBOX}{wrong}/approve/", {"reason": "x"}).status_code in {400, 404}
        assert olga.get(f"{INBOX}{wrong}/change/").status_code in {302, 400, 404}
    assert (status_of(approval), decisions()) == ("pending", [])


@pytest.mark.promise("CR-29")
def test_what_somebody_else_decided_meanwhile_is_told_with_who_and_why(
    held: World, olga: Client
) -> None:
    approval = ask(held)
    make_user("paula", *DECIDES)
    decide(approval_id=approval.id, status=ApprovalStatus.REJECTED, actor="paula", reason="wrong host", digest=approval.digest)  # fmt: skip
    html = text(send(olga, approval, "approve"), 409)
    said = words_of(html)
    assert "Your decision was not taken" in said
    assert "paula decided meanwhile. It is rejected, because: wrong host" in said
    assert FORM not in html
    assert decisions() == [("agent.approval.rejected", "paula")]


def test_another_digest_than_that_of_the_request_decides_nothing(held: World, olga: Client) -> None:
    approval = ask(held)
    said = words_of(text(send(olga, approval, "approve", digest="0" * 64), 409))
    assert "The digest is not that of this request" in said
    assert text(send(olga, approval, "approve", digest=""), 400)
    assert status_of(approval) == "pending"


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ("key_id = 'gone'", "not on the ring"),
        ("sealed = set_byte(sealed, 20, get_byte(sealed, 20) # 1)", "does not verify"),
        ("sealed = ''", "does not verify"),
        ("tool = 'blind'", "not what was filed"),
        ("agent_key = 'another'", "not what was filed"),
        ("run_as = 'root'", "not what was filed"),
        ("ceiling = '{}'", "not what was filed"),
    ],
)
def test_what_cannot_be_shown_as_it_was_filed_is_not_decided_about(
    held: World, olga: Client, change: str, told: str
) -> None:
    approval = ask(held, {"q": "the-argument"})
    held.sql(f"UPDATE approvals_approval SET {change}")
    html = page(olga, approval)
    assert told in words_of(html)
    assert not [verb for verb in ("approve", "reject") if f"/{verb}/" in html]
    assert "the-argument" not in html
    for verb in ("approve", "reject"):
        assert told in words_of(text(send(olga, approval, verb), 409))
    assert (status_of(approval), decisions()) == ("pending", [])
    page(olga, approval, "?show=1", status=404)


def test_nobody_approves_what_they_asked_for(held: World, olga: Client) -> None:
    approval = ask(held, started_by="olga")
    html = page(olga, approval)
    assert "Somebody else has to approve it" in words_of(html)
    assert html.count(FORM) == 2
    assert f"{approval.id}/approve/" not in html
    said = words_of(text(send(olga, approval, "approve"), 403))
    assert "somebody else has to approve it" in said
    assert status_of(approval) == "pending"
    assert send(olga, approval, "reject").status_code == 302


def test_a_request_whose_time_has_passed_is_not_decided(held: World, olga: Client) -> None:
    approval = ask(held)
    held.sql("UPDATE approvals_approval SET expires_at = liyagent_now() - interval '1 s'")
    html = page(olga, approval)
    assert "Its time has passed" in words_of(html)
    assert not [verb for verb in ("approve", "reject") if f"/{verb}/" in html]
    assert "expired at" in words_of(text(send(olga, approval, "approve"), 409))
    assert "its time has passed" in words_of(text(olga.get(INBOX)))


def test_earlier_writes_of_unknown_outcome_are_named_and_led_to(held: World, olga: Client) -> None:
    held.sql("UPDATE agents_agent SET write_posture = 'allow'")
    held.vendor.after_effect = lambda _tool: (_ for _ in ()).throw(ConnectionError("cut"))
    run = held.start(
        calls(("v/blind", {"n": 1}), ids=["toolu_a1b2c3d4e5"]),
        calls(("v/blind", {"n": 1}), ids=["toolu_f6g7h8i9j0"]),
        says("done"),
    )
    assert held.process("first").carry().status == "waiting"
    html = page(olga, Approval.objects.get(run_id=run.id))
    assert "1 other write of unknown outcome in this run" in words_of(html)
    assert held.call(run, 1).step_key in html
    assert f"/admin/runs/run/{run.id}/change/?steps=1#call-1-0" in html
    assert "nobody knows whether it took effect" in words_of(html)


def test_other_requests_for_exactly_the_same_are_named(held: World, olga: Client) -> None:
    first, second, other = ask(held), ask(held), ask(held, {"n": 2})
    html = page(olga, first)
    assert "1 other request for exactly the same" in words_of(html)
    assert f"{INBOX}{second.id}/change/" in html
    assert str(other.id) not in html


def test_a_run_that_went_on_is_told_and_so_is_the_run_that_makes_the_call(
    held: World, olga: Client
) -> None:
    held.sql("UPDATE agents_agent SET may_wait = false")
    approval = ask(held)
    assert "The run did not wait" in words_of(page(olga, approval))
    assert send(olga, approval, "approve").status_code == 302
    made = held.process("second").carry()
    html = page(olga, approval)
    assert f"/admin/runs/run/{made.id}/change/" in html
    assert "What became of it done" in words_of(html)


def test_a_stale_request_and_the_one_that_replaced_it_lead_to_each_other(
    held: World, olga: Client
) -> None:
    approval = ask(held)
    send(olga, approval, "approve")
    held.sql("UPDATE gateway_policy SET text = text || '\n// another text'")
    assert held.process("second").carry().status == "waiting"
    later = Approval.objects.get(replaces=approval.id)
    old, new = page(olga, approval), page(olga, later)
    assert f"{INBOX}{later.id}/change/" in old
    assert "the policies" in words_of(old)
    assert "olga" in words_of(old)
    assert f"{INBOX}{approval.id}/change/" in new
    assert FORM in new


def test_a_tool_that_is_gone_and_a_server_that_is_off_are_told(held: World, olga: Client) -> None:
    approval = ask(held)
    ToolServer.objects.update(is_enabled=False)
    assert "switched off" in words_of(page(olga, approval))
    Tool.objects.filter(name="keyed").delete()
    assert "There is no such tool any more" in words_of(page(olga, approval))


def test_a_run_that_is_gone_or_cannot_be_opened_leaves_the_page_whole(
    held: World, olga: Client
) -> None:
    approval = ask(held)
    Run.objects.filter(id=approval.run_id).update(key_id="gone")
    assert "cannot be opened here" in words_of(page(olga, approval))
    held.sql("DELETE FROM runs_part")
    assert "were not kept" in words_of(page(olga, approval))


def test_the_dashboard_says_how_many_wait_and_since_when(held: World, olga: Client) -> None:
    cache.clear()
    assert "No call waits for a person to decide" in words_of(text(olga.get("/admin/")))
    approval = ask(held)
    held.sql("UPDATE approvals_approval SET created_at = created_at - interval '5 hours'")
    cache.clear()
    html = text(olga.get("/admin/"))
    said = words_of(html)
    assert "1 waiting for a person to decide" in said
    assert "The oldest has waited 5 h" in said
    assert f'href="{INBOX}"' in html
    assert f"{INBOX}{approval.id}/change/" in html
    assert "waiting for a person to decide" not in text(client_of(make_user("stan")).get("/admin/"))
