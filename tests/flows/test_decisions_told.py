"""What people decided about a run's calls, told in the same words by the API, the console and the shell; and what a run waits for."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from liyagent.agents.models import Agent
from liyagent.approvals.decide import decide, expire, withdraw
from liyagent.approvals.models import Approval, ApprovalStatus
from runs.listing import list_runs
from runs.models import Run
from tests.flows import holding
from tests.flows.conftest import Api, api_of, make_user
from tests.flows.holding import DECIDER, age, ask, end
from tests.unit.runs.carrying.conftest import World, calls, says
from tests.unit.runs.delegating import conftest as delegating
from tests.unit.runs.delegating.conftest import Cast, carry_all, hands

held, world, cast = holding.held, holding.world, delegating.cast


@pytest.fixture
def dora(held: World) -> str:
    return str(make_user("dora", *DECIDER).username)


@pytest.fixture
def viewer(held: World) -> Api:
    return api_of(make_user("vera", "runs.view_run", "runs.view_call"))


@pytest.fixture
def root(held: World) -> Client:
    client = Client()
    client.force_login(User.objects.create_superuser("root"))
    return client


def decided(approval: Approval, status: ApprovalStatus, by: str) -> None:
    decide(approval_id=approval.id, status=status, actor=by, reason="wrong host", digest=approval.digest)  # fmt: skip


def page_of(root: Client, run_id: object) -> str:
    return " ".join(root.get(f"/admin/runs/run/{run_id}/change/").content.decode().split())


def told_everywhere(
    approval: Approval, viewer: Api, root: Client, capsys: pytest.CaptureFixture[str]
) -> tuple[str, str]:
    """Return fate and decision of the one call, the same wherever they are told."""
    run_id = approval.run_id
    (call,) = viewer.get(f"/api/runs/{run_id}").data["calls"]
    capsys.readouterr()
    call_command("runs", "show", str(run_id))
    shell = capsys.readouterr().out
    (line,) = [it for it in shell.splitlines() if it.startswith("1.0")]
    assert line.split()[3] == call["fate"]
    assert call["decision"] in line
    page = page_of(root, run_id)
    assert call["decision"] in page
    assert f'href="/admin/approvals/approval/{approval.id}/change/"' in page
    listed = root.get(f"/admin/runs/call/?doubt=all&q={run_id}").content.decode()
    if call["fate"] in {"held", "refused"}:
        assert f"It was not sent: {call['decision']}." in " ".join(listed.split())
    one = viewer.get(f"/api/calls/{call['id']}").data
    assert one["decision"] == call["decision"]
    for text in (shell, page):
        assert "in flight" not in text
        assert "decided by" not in text
    return call["fate"], call["decision"]


def test_a_call_that_waits_says_for_which_approval(
    held: World, viewer: Api, root: Client, capsys: pytest.CaptureFixture[str]
) -> None:
    approval = ask(held, n=1)
    told = told_everywhere(approval, viewer, root, capsys)
    assert told == ("held", f"waits for approval {approval.id}")
    assert "held by the gate write posture" in page_of(root, approval.run_id)


def test_a_rejected_call_says_who_refused_it_and_why(
    held: World, dora: str, viewer: Api, root: Client, capsys: pytest.CaptureFixture[str]
) -> None:
    approval = ask(held, n=1)
    decided(approval, ApprovalStatus.REJECTED, dora)
    assert told_everywhere(approval, viewer, root, capsys)[1] == "refused by dora: wrong host"
    held.process().carry()
    told = told_everywhere(approval, viewer, root, capsys)
    assert told == ("refused", "refused by dora: wrong host")
    (call,) = viewer.get(f"/api/runs/{approval.run_id}").data["calls"]
    assert call["settlement"] == ""
    assert "by the server" not in page_of(root, approval.run_id)


def test_one_withdrawn_and_one_expired_say_so(
    held: World, dora: str, viewer: Api, root: Client, capsys: pytest.CaptureFixture[str]
) -> None:
    first = ask(held, n=1)
    withdraw(approval_id=first.id, actor=dora, reason="not needed", may_decide=True)
    held.process().carry()
    told = told_everywhere(first, viewer, root, capsys)
    assert told == ("refused", "withdrawn by dora: not needed")
    second = ask(held, n=2)
    age(held, second)
    expire(second.id)
    held.process().carry()
    told = told_everywhere(second, viewer, root, capsys)
    assert told == ("refused", "expired: nobody decided in time")
    third = ask(held, n=3)
    end(held, third)
    told = told_everywhere(third, viewer, root, capsys)
    assert told == ("held", "withdrawn: the run ended before it was made")


def test_an_approved_call_says_who_approved_it(
    held: World, dora: str, viewer: Api, root: Client, capsys: pytest.CaptureFixture[str]
) -> None:
    approval = ask(held, n=1)
    decided(approval, ApprovalStatus.APPROVED, dora)
    assert told_everywhere(approval, viewer, root, capsys) == ("held", "approved by dora")
    held.process().carry()
    assert told_everywhere(approval, viewer, root, capsys) == ("done", "approved by dora")
    assert "by the server&#x27;s answer" in page_of(root, approval.run_id)


def test_a_call_made_after_its_run_went_on_leads_to_the_run_that_made_it(
    held: World, dora: str, viewer: Api, root: Client, capsys: pytest.CaptureFixture[str]
) -> None:
    approval = ask(held, waits=False, n=1)
    told = told_everywhere(approval, viewer, root, capsys)
    assert told == ("held", f"waits for approval {approval.id}")
    decided(approval, ApprovalStatus.APPROVED, dora)
    held.process().carry()
    made_in = Run.objects.get(parent_id=approval.run_id)
    assert told_everywhere(approval, viewer, root, capsys) == ("held", "approved by dora")
    assert f'by run <a class="liy-link liy-mono" href="/admin/runs/run/{made_in.id}/change/">' in (
        page_of(root, approval.run_id)
    )


def test_a_gate_s_refusal_names_the_gate(
    held: World, viewer: Api, root: Client, capsys: pytest.CaptureFixture[str]
) -> None:
    held.sql("UPDATE agents_agent SET write_posture = 'refuse'")
    run = held.start(calls(("v/keyed", {"n": 1})), says("done"))
    held.process().carry()
    (call,) = viewer.get(f"/api/runs/{run.id}").data["calls"]
    assert (call["fate"], call["decision"]) == ("refused", "refused by the gate write_posture")
    call_command("runs", "show", str(run.id))
    assert "refused by the gate write_posture" in capsys.readouterr().out
    assert "refused by the gate write_posture" in page_of(root, run.id)


def waits(held: World, viewer: Api, run_id: Any) -> Any:
    (listed,) = [it for it in viewer.get("/api/runs").data["runs"] if it["id"] == str(run_id)]
    shown = viewer.get(f"/api/runs/{run_id}").data["waits_for"]
    assert listed["waits_for"] == shown
    return shown


def test_a_run_that_waits_leads_to_its_open_request(
    held: World, dora: str, viewer: Api, root: Client, capsys: pytest.CaptureFixture[str]
) -> None:
    approval = ask(held, n=1)
    told = waits(held, viewer, approval.run_id)
    assert (told["approval"], told["call"]) == (str(approval.id), "v/keyed")
    assert (told["run"], told["run_status"]) == (str(approval.run_id), "waiting")
    assert told["told"] == f"approval {approval.id} of v/keyed"
    link = f'href="/admin/approvals/approval/{approval.id}/change/"'
    page = page_of(root, approval.run_id)
    assert f"{link}>Look at the request, and decide" in page
    assert link in root.get("/admin/runs/run/").content.decode()
    capsys.readouterr()
    call_command("runs", "list")
    assert capsys.readouterr().out.splitlines()[1].endswith(told["told"])
    call_command("runs", "show", str(approval.run_id))
    shown = capsys.readouterr().out
    assert f"approvals show {approval.id}" in shown.splitlines()[-1]
    decided(approval, ApprovalStatus.REJECTED, dora)
    assert waits(held, viewer, approval.run_id) is None
    assert "It waits for a person" not in page_of(root, approval.run_id)


def test_who_may_see_no_request_is_led_to_none(held: World) -> None:
    approval = ask(held, n=1)
    client = Client()
    user = make_user("vic", "runs.view_run", "runs.view_call")
    user.is_staff = True
    user.save(update_fields=["is_staff"])
    client.force_login(user)
    for page in ("/admin/runs/run/", f"/admin/runs/run/{approval.run_id}/change/"):
        text = client.get(page).content.decode()
        assert "waits for a person" in text
        assert "/admin/approvals/approval/" not in text


def test_a_parent_leads_to_what_its_child_waits_for(
    held: World, cast: Cast, viewer: Api, root: Client
) -> None:
    Agent.objects.update(may_wait=True, write_posture="allow")
    Agent.objects.filter(key="reader").update(write_posture="hold")
    cast.lists = {
        "triage": [hands("reader"), says("told")],
        "reader": [calls(("v/keyed", {"n": 1})), says("read")],
    }
    parent = held.start()
    carry_all(held)
    approval = Approval.objects.get()
    assert approval.run_id != parent.id
    told = waits(held, viewer, parent.id)
    assert (told["approval"], told["run"]) == (str(approval.id), str(approval.run_id))
    assert told["told"].endswith(f"asked for by run {approval.run_id}")
    page = page_of(root, parent.id)
    assert f"/admin/approvals/approval/{approval.id}/change/" in page
    assert f"/admin/runs/run/{approval.run_id}/change/" in page


def test_a_parent_whose_child_works_leads_to_the_child(
    held: World, cast: Cast, viewer: Api, root: Client, capsys: pytest.CaptureFixture[str]
) -> None:
    Agent.objects.update(may_wait=True, write_posture="allow")
    cast.lists = {"triage": [hands("reader"), says("told")], "reader": [says("read")]}
    parent = held.start()
    held.process().carry()
    child = Run.objects.get(parent_id=parent.id)
    told = waits(held, viewer, parent.id)
    assert (told["approval"], told["run"], told["run_status"]) == (None, str(child.id), "queued")
    assert "It waits for the run that it handed work to" in page_of(root, parent.id)
    assert "the run it handed work to" in root.get("/admin/runs/run/").content.decode()
    capsys.readouterr()
    call_command("runs", "list")
    assert f"run {child.id}, which is queued" in capsys.readouterr().out


def test_a_list_asks_once_for_all_that_wait_and_never_where_none_does(held: World) -> None:
    for number in range(3):
        ask(held, n=number)
    with CaptureQueriesContext(connection) as some:
        page = list_runs({})
    assert len(page.waits) == 3
    with CaptureQueriesContext(connection) as one:
        list_runs({"limit": "1"})
    assert len(some) == len(one)
    with CaptureQueriesContext(connection) as none:
        list_runs({"status": "answered"})
    assert not [it for it in none if "RECURSIVE" in it["sql"]]


@pytest.mark.parametrize("path", ["/api/runs/{0}", "/api/runs/{0}/transcript"])
def test_an_unknown_run_is_told_with_what_to_do(held: World, path: str) -> None:
    reader = api_of(make_user("rita", "runs.view_run", "transcripts.content.read"))
    answer = reader.get(path.format("0190a0a0-0000-7000-8000-000000000000"))
    assert (answer.status, answer.data["code"]) == (404, "run.not_found")
    assert "GET /api/runs" in answer.data["detail"]
    assert "runs list" in answer.data["detail"]


def test_an_unknown_call_is_told_with_what_to_do(viewer: Api) -> None:
    answer = viewer.get("/api/calls/777")
    assert (answer.status, answer.data["code"]) == (404, "call.not_found")
    assert "/api/calls/in-doubt" in answer.data["detail"]


@pytest.mark.parametrize(
    ("page", "says_so"),
    [
        ("/admin/runs/run/0190a0a0-0000-7000-8000-000000000000/change/", "Search for the id"),
        ("/admin/runs/run/x/change/", "There is no run x."),
        ("/admin/runs/call/777/change/", "There is no call 777."),
    ],
)
def test_a_page_of_what_is_not_there_leads_to_the_list(
    root: Client, page: str, says_so: str
) -> None:
    answer = root.get(page, follow=True)
    assert answer.redirect_chain[-1][0] == f"{page.rpartition('/change')[0].rpartition('/')[0]}/"
    assert says_so in answer.content.decode()
