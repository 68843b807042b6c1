"""Writes in doubt in the console: what is known in a line, what to do, and a person's word by POST alone."""

from __future__ import annotations

import re
from html import unescape
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from liyagent.agents.models import Agent
from liyagent.audit.models import AuditRow
from liyagent.gateway.contracts import forget_contracts
from liyagent.gateway.models import Tool, ToolServer
from runs.checkpoint import sealer_of
from runs.marks import open_outcome
from runs.models import Call, Run
from tests.databases import FreshDatabase
from tests.flows.conftest import make_user
from tests.flows.doubting import KEY, doubt, ended_run

VERBS = ("happened", "did_not", "look_again")
SAID = {"reason": "looked at the board", "confirmed": "yes"}


def client_of(user: User) -> Client:
    User.objects.filter(pk=user.pk).update(is_staff=True)
    client = Client()
    client.force_login(user)
    return client


@pytest.fixture
def settler(fresh_db: FreshDatabase) -> Client:
    """One who may see runs and marked calls, and say what happened."""
    return client_of(make_user("sara", "runs.view_call", "runs.view_run", "runs.settle_call"))


@pytest.fixture
def call(agent: Agent) -> Call:
    return doubt(ended_run())


def page_of(call: Call) -> str:
    return f"/admin/runs/call/{call.pk}/change/"


def ask(call: Call, verb: str) -> str:
    return f"/admin/runs/call/{call.pk}/{verb}/"


def text(response: Any) -> str:
    assert response.status_code == 200, response
    return str(response.content.decode())


def words(page: str) -> str:
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", page)).split())


def said_rows() -> int:
    return AuditRow.objects.filter(action="agent.call.settled_by_person").count()


def test_the_list_shows_the_oldest_first_with_what_is_known_and_what_to_do(
    settler: Client, agent: Agent
) -> None:
    run = ended_run()
    for number in (2, 0, 1):
        doubt(run, number=number, step_key=f"key-{number}")
    page = words(text(settler.get("/admin/runs/call/")))
    assert page.index("key-0") < page.index("key-1") < page.index("key-2")
    assert "nobody knows whether it took effect" in page
    assert "Look at jira for what was made at that time, and for the step key" in page
    assert "oldest first" in page
    newest = words(text(settler.get("/admin/runs/call/?doubt=all")))
    assert newest.index("key-1") < newest.index("key-0") < newest.index("key-2")


def test_the_page_says_in_a_line_each_what_is_known_and_what_to_do(
    settler: Client, call: Call
) -> None:
    page = text(settler.get(page_of(call)))
    shown = words(page)
    assert "It was sent, or may have been, and nobody knows whether it took effect." in shown
    assert "Look at jira for what was made at that time, and for the step key" in shown
    assert KEY in shown
    for verb in VERBS:
        assert (f'href="{ask(call, verb)}"' in page) == (verb != "look_again"), verb
    assert "disk 4 is full" in page


def test_arguments_are_not_shown_to_who_may_only_look(call: Call) -> None:
    page = text(client_of(make_user("vic", "runs.view_call")).get(page_of(call)))
    assert "disk 4 is full" not in page
    assert "transcripts.content.read" in page


def test_arguments_are_shown_to_who_may_read_words(call: Call) -> None:
    reader = client_of(make_user("rita", "runs.view_call", "transcripts.content.read"))
    page = text(reader.get(page_of(call)))
    assert "disk 4 is full" in page
    assert "needs the permission runs.settle_call" in page
    Call.objects.update(tool="delete_issue")
    assert "does not verify" in text(reader.get(page_of(call)))


def test_what_is_said_is_asked_first_and_done_by_post_with_a_reason(
    settler: Client, call: Call
) -> None:
    for verb in VERBS:
        page = text(settler.get(f"{ask(call, verb)}?reason=x&confirmed=yes"))
        assert "<form" in page
        assert "This field is required" in text(settler.post(ask(call, verb), {"confirmed": "yes"}))
    assert said_rows() == 0
    answer = settler.post(ask(call, "did_not"), SAID, follow=True)
    assert "sara said that it did not happen: looked at the board" in words(text(answer))
    call.refresh_from_db()
    assert (call.fate, call.settled_by) == ("failed", "sara")
    late = words(text(settler.post(ask(call, "happened"), SAID, follow=True)))
    assert "sara said that it did not happen" in late
    assert said_rows() == 1


@pytest.mark.parametrize(
    ("typed", "kept"),
    [
        ('{"key": "OPS-7"}', {"key": "OPS-7"}),
        ("OPS-7", "OPS-7"),
        ("  ", "It took effect, as a person found; what it returned is not known."),
    ],
)
def test_a_result_is_json_or_plain_words(
    settler: Client, call: Call, typed: str, kept: Any
) -> None:
    settler.post(ask(call, "happened"), {**SAID, "result": typed})
    call.refresh_from_db()
    run = Run.objects.get(id=call.run_id)
    assert open_outcome(sealer_of(run), call).result == kept


def test_a_reason_typed_on_two_lines_is_kept_on_one(settler: Client, call: Call) -> None:
    settler.post(ask(call, "did_not"), {**SAID, "reason": "no issue\r\nof that hour"})
    call.refresh_from_db()
    assert call.settled_reason == "no issue of that hour"
    page = words(text(settler.get(f"/admin/runs/run/{call.run_id}/change/")))
    assert " ms " not in page


def test_a_result_that_cannot_be_kept_is_told_of(settler: Client, call: Call) -> None:
    page = text(settler.post(ask(call, "happened"), {**SAID, "result": "[" * 200 + "]" * 200}))
    assert "cannot be kept" in page
    assert said_rows() == 0


def test_a_vendor_that_can_be_asked_is_asked_again(settler: Client, call: Call) -> None:
    server = ToolServer.objects.create(key="jira", transport="local")
    reader = {"tool": "jira/find", "args": {"key": "{{ key }}"}, "match": {"records": "", "field": "key"}}  # fmt: skip
    Tool.objects.create(server=server, name="create_issue", reader=reader)
    forget_contracts()
    assert f'href="{ask(call, "look_again")}"' in text(settler.get(page_of(call)))
    answer = settler.post(ask(call, "look_again"), SAID, follow=True)
    assert "asked within some seconds" in text(answer)
    call.refresh_from_db()
    assert call.late_look_at is not None


def test_an_open_mark_offers_nothing_to_say(settler: Client, agent: Agent) -> None:
    opened = doubt(ended_run(status="queued"), fate="", settlement="", late_finding="")
    page = text(settler.get(page_of(opened)))
    assert "waits for a process" in page
    assert "nobody can settle it but its run" in page
    assert ask(opened, "happened") not in page
    refused = words(text(settler.post(ask(opened, "did_not"), SAID, follow=True)))
    assert "settles it first of all" in refused


def test_who_may_not_settle_is_neither_shown_nor_let_in(call: Call) -> None:
    viewer = client_of(make_user("vera", "runs.view_call"))
    page = text(viewer.get(page_of(call)))
    for verb in VERBS:
        assert ask(call, verb) not in page
        assert viewer.get(ask(call, verb)).status_code == 403
        assert viewer.post(ask(call, verb), SAID).status_code == 403
    call.refresh_from_db()
    assert call.fate == "unknown"


def test_the_page_of_a_run_and_the_dashboard_lead_there(settler: Client, call: Call) -> None:
    page = text(settler.get(f"/admin/runs/run/{call.run_id}/change/"))
    assert f'href="{page_of(call)}"' in page
    board = text(settler.get("/admin/"))
    assert "/admin/runs/call/?doubt=unknown" in board


def test_what_was_written_elsewhere_is_shown_as_it_is(settler: Client, call: Call) -> None:
    reason = "<script>alert(1)</script>"
    settler.post(ask(call, "did_not"), {**SAID, "reason": reason})
    page = text(settler.get(page_of(call)))
    assert reason not in page
    assert "&lt;script&gt;alert(1)" in page
