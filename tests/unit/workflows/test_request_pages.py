"""The pages of requests that are no calls: the question of a workflow's step, and what a failed run left."""

from __future__ import annotations

from dataclasses import replace

import pytest
from django.contrib.auth.models import User
from django.test import Client
from pytest_django import Settings

from liyagent.approvals.models import Approval
from runs.models import Run
from sagas.models import Saga
from tests.unit.runs.page.conftest import WORDS, reader, words
from tests.unit.runs.page.test_sagas import refuse_undos
from tests.unit.workflows.conftest import Works, tool

VIEW, DECIDE = "approvals.view_approval", "approvals.decide"
UNDO = {"tool": "blind", "args": {"undo_of": "{{ steps.change.output.id }}"}}
KEYED = {"tool": "keyed", "args": {"undo_of": "{{ steps.issue.output.id }}"}}
OF_CALLS = (
    "no such tool",
    "The call has no arguments",
    "contract",
    "exactly what is shown is sent",
    "make this call",
)


@pytest.fixture
def root(works: Works) -> Client:
    client = Client()
    client.force_login(User.objects.create_superuser("root"))
    return client


def page_of(client: Client, approval: Approval) -> str:
    response = client.get(f"/admin/approvals/approval/{approval.id}/change/")
    assert response.status_code == 200
    return str(response.content.decode())


def asked(works: Works, question: str = "Reboot web-17 now?") -> Approval:
    works.start(
        {"id": "ask", "type": "approve", "question": question}, tool("a", "keyed", {"n": 1})
    )
    works.world.process().carry()
    return Approval.objects.get()


def decide(client: Client, approval: Approval, verb: str) -> str:
    given = {"reason": "seen", "digest": approval.digest}
    answer = client.post(f"/admin/approvals/approval/{approval.id}/{verb}/", given, follow=True)
    return words(answer.content.decode())


def test_a_question_is_read_as_one_and_not_as_a_call(works: Works, root: Client) -> None:
    approval = asked(works)
    html = page_of(root, approval)
    shown = words(html)
    assert "Workflow work of agent triage asks : Reboot web-17 now?" in shown.replace(
        "asks:", "asks :"
    )
    assert "Reboot web-17 now?" in html.partition('id="question"')[2].partition("</p>")[0]
    assert "✓ Yes: the workflow goes on" in shown
    assert "✗ No: the step fails" in shown
    assert "The workflow sleeps until somebody answers" in shown
    assert not [it for it in OF_CALLS if it in shown]
    listed = words(root.get("/admin/approvals/approval/").content.decode())
    assert "“Reboot web-17 now?”" in listed
    assert "a step of a workflow asks a person" in listed
    run = Run.objects.get()
    assert "waits for a person to answer the question of its workflow" in words(
        root.get(f"/admin/runs/run/{run.id}/change/").content.decode()
    )


def test_a_hostile_question_is_written_out(works: Works, root: Client) -> None:
    html = page_of(root, asked(works, "<img src=x onerror=alert(1)> \u202eoff"))
    assert "<img" not in html
    assert "\u202e" not in html
    assert "The question is not all as it looks" in html


@pytest.mark.parametrize(("verb", "came"), [("approve", "answered"), ("reject", "failed")])
def test_what_was_said_to_a_question_is_told_in_its_words(
    works: Works, root: Client, verb: str, came: str
) -> None:
    approval = asked(works)
    told = decide(root, approval, verb)
    goes_on = "the workflow goes on within seconds" if verb == "approve" else "the step fails"
    assert goes_on in told
    assert works.world.process("b").carry().status == came
    approval.refresh_from_db()
    shown = words(page_of(root, approval))
    assert (
        "yes, and the workflow went on" if verb == "approve" else "no Rejected by root"
    ) in shown
    assert "the call was sent" not in shown


@pytest.fixture
def left(works: Works, settings: Settings) -> Approval:
    """Two writes, of which one could not be undone."""
    settings.LIYAGENT = replace(settings.LIYAGENT, undo_backoff_seconds=0)
    works.start(
        tool("issue", "keyed", {"name": "{{ input.title }}"}, compensate=KEYED),
        tool("change", "blind", {"x": 1}, compensate=UNDO),
        tool("page", "gone", {}),
        given={"title": "disk of the secret host"},
    )
    works.world.process().carry()
    refuse_undos(works.world, "blind")
    works.world.process("undoer").carry()
    return Approval.objects.get(kind="saga")


@pytest.mark.promise("SG-09")
def test_a_hand_off_lists_first_what_would_be_made_again(left: Approval, root: Client) -> None:
    html = page_of(root, left)
    shown = words(html)
    assert f"Run {left.run_id} of workflow work failed at step page" in shown
    assert "Shall it begin again from the start, or be closed?" in shown
    first = shown.index("it makes a second time what is not undone")
    assert first < shown.index("v/blind № 2") < shown.index("What is known of the run")
    assert "v/keyed № 1" not in shown
    assert shown.index("Why it ended") < shown.index("Its input") < shown.index("✗ Close it")
    assert "disk of the secret host" in shown
    assert "it does not run out" in shown
    assert not [it for it in OF_CALLS if it in shown]
    assert f"/admin/sagas/saga/{left.run_id}/compensate/" in html
    seen = words(page_of(reader(VIEW), left))
    assert "v/blind № 2" in seen
    assert "disk of the secret host" not in seen
    assert "disk of the secret host" in words(page_of(reader(VIEW, WORDS), left))
    assert "begin workflow work again" in words(
        root.get("/admin/approvals/approval/").content.decode()
    )


@pytest.mark.promise("SG-09")
def test_beginning_again_and_closing_are_told_as_that(
    left: Approval, works: Works, root: Client
) -> None:
    needs = "/admin/sagas/saga/?status=needs"
    assert str(left.run_id) in root.get(needs).content.decode()
    told = decide(root, left, "approve")
    assert str(left.run_id) not in root.get(needs).content.decode()
    assert "it begins again from the start, with the same input" in told
    again = Run.objects.get(loop="root", status="queued")
    left.refresh_from_db()
    html = page_of(root, left)
    assert "approved, and it began again" in words(html)
    assert f"/admin/runs/run/{again.id}/change/" in html
    assert f"began again as run {again.id}" in words(
        root.get(f"/admin/sagas/saga/{left.run_id}/change/").content.decode()
    )


def test_rejecting_a_hand_off_closes_it(left: Approval, root: Client) -> None:
    assert "it is closed: nothing more of it is undone" in decide(root, left, "reject")
    assert Saga.objects.get(id=left.run_id).status == "closed"
    left.refresh_from_db()
    assert "closed: it does not begin again" in words(page_of(root, left))


def test_where_all_is_undone_nothing_is_made_twice(works: Works, root: Client) -> None:
    works.start(tool("issue", "keyed", {"n": 1}, compensate=KEYED), tool("page", "gone", {}))
    works.world.process().carry()
    works.world.process("undoer").carry()
    shown = words(page_of(root, Approval.objects.get(kind="saga")))
    assert "Nothing is made twice: all that it wrote is undone" in shown
    assert "Not all is undone" not in shown


@pytest.mark.promise("SG-09")
def test_a_write_without_an_undo_stands_and_would_be_made_again(works: Works, root: Client) -> None:
    works.start(
        tool("issue", "keyed", {"n": 1}, compensate=KEYED),
        tool("note", "blind", {"x": 1}),
        tool("page", "gone", {}),
    )
    works.world.process().carry()
    works.world.process("undoer").carry()
    approval = Approval.objects.get(kind="saga")
    shown = words(page_of(root, approval))
    assert "Nothing is made twice" not in shown
    assert "1 write without an undo stands as it is." in shown
    bare = shown.partition("What it wrote and no undo is declared for")[2]
    assert "v/blind" in bare.partition("Its saga")[0]
    assert "Not all is undone" in shown
    saga = words(root.get(f"/admin/sagas/saga/{approval.run_id}/change/").content.decode())
    assert "1 write is undone. 1 write without an undo stands as it is." in saga
