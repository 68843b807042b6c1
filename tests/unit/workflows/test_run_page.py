"""The page of a workflow's run: its steps marked, what it rests for, what undoes it, and what a Stop would undo."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from liyagent.workflows.models import Workflow, WorkflowVersion
from liyagent.workflows.signal import send_signal
from runs.models import Part, Run
from tests.unit.runs.page.conftest import WORDS, reader, timeline, words
from tests.unit.workflows.conftest import Works, tool

VIEW = "workflows.view_workflow"
KEYED = {"tool": "keyed", "args": {"undo_of": {"$expr": "steps.issue.output.id"}}}


@pytest.fixture
def root(works: Works) -> Client:
    client = Client()
    client.force_login(User.objects.create_superuser("root"))
    return client


def page_of(client: Client, run: Run, asked: str = "change/") -> str:
    response = client.get(f"/admin/runs/run/{run.id}/{asked}")
    assert response.status_code == 200
    return str(response.content.decode())


def marks(html: str) -> dict[str, str]:
    """What the picture says of each step, by its key."""
    found = re.findall(
        r'<g class="liy-flow-step liy-flow-\w+ liy-flow-is-(\w+)" id="box-([^"]+)"', html
    )
    return {key: state for state, key in found}


def line_of(html: str, key: str) -> str:
    return words("<x " + html.partition(f'id="step-{key}"')[2].partition("</tr>")[0])


def version_of(works: Works) -> None:
    """The workflow's version, as saving it by its verb would leave it."""
    workflow = Workflow.objects.get()
    WorkflowVersion.objects.create(
        workflow=workflow, number=1, agent_key="triage", definition=workflow.definition, digest="d"
    )


def test_the_steps_of_a_failed_run_are_marked_and_the_one_that_failed_leads(
    works: Works, root: Client
) -> None:
    works.start(
        tool("issue", "keyed", {"n": 1}, compensate=KEYED),
        {"id": "skip", "type": "set", "values": {"a": 1}, "when": "`false`"},
        tool("page", "gone", {}),
        tool("never", "keyed", {"n": 2}),
    )
    run = works.world.process().carry()
    html = page_of(root, run)
    assert marks(html) == {"issue": "done", "skip": "skipped", "page": "failed", "never": "none"}
    assert "1 done, 1 skipped, 1 failed, 1 not reached" in words(html)
    assert 'It failed at <a class="liy-link liy-mono" href="#box-page">' in html
    assert "there is no tool v/gone" in line_of(html, "page")
    assert "not reached" in line_of(html, "never")
    assert "Workflow work, version 1" in words(html)
    shown = timeline(html)
    assert "Step issue: done" in shown
    assert "Step page: refused" in shown
    assert "the model took" not in shown


def test_without_its_words_the_picture_is_of_the_version_that_was_saved(
    works: Works, root: Client
) -> None:
    works.start(tool("issue", "keyed", {"n": 1}), tool("page", "gone", {}))
    run = works.world.process().carry()
    Part.objects.all().delete()
    assert "is not kept any more" in words(page_of(root, run))
    version_of(works)
    assert marks(page_of(root, run)) == {"issue": "done", "page": "failed"}


def test_steps_are_for_those_who_may_see_workflows_and_errors_for_readers_of_words(
    works: Works,
) -> None:
    works.start(tool("page", "gone", {}))
    run = works.world.process().carry()
    assert 'id="flow"' not in page_of(reader(), run)
    plain = page_of(reader(VIEW), run)
    assert marks(plain) == {"page": "failed"}
    assert "there is no tool v/gone" not in line_of(plain, "page")
    assert "there is no tool v/gone" in line_of(page_of(reader(VIEW, WORDS), run), "page")


def test_branches_are_marked_in_their_parallel_step(works: Works, root: Client) -> None:
    run = works.start(
        tool("first", "keyed", {"n": 1}),
        {
            "id": "both",
            "type": "parallel",
            "branches": {
                "left": [tool("l", "keyed", {"n": 2}), tool("m", "gone", {})],
                "right": [tool("r", "blind", {"n": 3})],
            },
        },
    )
    process = works.world.process()
    process.carry()
    waiting = page_of(root, run)
    assert marks(waiting)["both"] == "waiting"
    assert "For 2 runs below it." in words(waiting)
    for taken in process.take():
        process.go_on(*taken)
    run = process.carry()
    html = page_of(root, run)
    expected = {"first": "done", "both": "failed", "both-left-l": "done", "both-left-m": "failed", "both-right-r": "done"}  # fmt: skip
    assert marks(html) == expected
    assert "a branch" in words(html.partition('id="family"')[2])
    branch = Run.objects.filter(parent_id=run.id, status="failed").get()
    below = page_of(root, branch)
    assert marks(below) == {"l": "done", "m": "failed"}
    assert "branch left of a parallel step" in words(below)


def test_a_run_that_rests_says_until_when_and_for_what(works: Works, root: Client) -> None:
    run = works.start(
        {"id": "nap", "type": "wait", "seconds": 3600},
        {"id": "go", "type": "wait", "signal": "go"},
        tool("a", "keyed", {"n": 1}),
    )
    world = works.world
    run = world.process().carry()
    html = page_of(root, run)
    assert re.search(r"It rests until \d{4}-\d\d-\d\d .*in \d+ min For step nap\.", words(html))
    assert marks(html) == {"nap": "waiting", "go": "none", "a": "none"}
    listed = words(root.get("/admin/runs/run/").content.decode())
    assert re.search(r"rests until .* for step nap", listed)
    assert "workflow work" in listed
    world.sql("UPDATE runs_run SET not_before = liyagent_now()")
    Run.objects.filter(id=run.id).update(not_before=None)
    assert "It rests until" not in words(page_of(root, run))


def test_a_run_that_waits_for_a_signal_says_which(works: Works, root: Client) -> None:
    works.start({"id": "go", "type": "wait", "signal": "go"}, tool("a", "keyed", {"n": 1}))
    run = works.world.process().carry()
    html = page_of(root, run)
    assert "It waits For step go: signal go." in words(html)
    assert "waits for step go: signal go" in words(root.get("/admin/runs/run/").content.decode())
    send_signal(run_id=run.id, name="go", payload={}, actor="olga")
    works.world.process("b").carry()
    run.refresh_from_db()
    assert marks(page_of(root, run)) == {"go": "done", "a": "done"}


def test_a_run_that_undoes_says_what_and_a_failed_one_leads_to_its_saga(
    works: Works, root: Client
) -> None:
    works.start(tool("issue", "keyed", {"n": 1}, compensate=KEYED), tool("page", "gone", {}))
    run = works.world.process().carry()
    works.world.process("undoer").carry()
    html = page_of(root, run)
    assert "What it did: all undone Its one write is undone." in words(html)
    assert f'href="/admin/sagas/saga/{run.id}/change/"' in html
    assert "Go on from it" not in words(html)
    undo = Run.objects.get(loop="undo:1")
    told = page_of(root, undo)
    assert f"It undoes what run {run.id} did, the newest first: round 1." in words(told)
    assert f'href="/admin/sagas/saga/{run.id}/change/"' in told
    assert "Undo 1: done" in timeline(told)
    assert "undoes what its run did" in words(root.get("/admin/runs/run/").content.decode())


@pytest.mark.promise("SG-05")
def test_the_form_of_a_stop_names_what_would_be_undone(works: Works, root: Client) -> None:
    def stop(run: Run) -> str:
        return words(page_of(root, run, "stop/"))

    nap = {"id": "nap", "type": "wait", "seconds": 3600}
    made = tool("issue", "keyed", {"n": 1}, compensate=KEYED)
    works.start(nap)
    none = works.world.process().carry()
    assert "it wrote nothing that can be undone: nothing is undone" in stop(none)
    works.save(made, nap, key="two")
    one = carried(works, works.begin(key="two"))
    asked = stop(one)
    assert "what it did is undone by a run of its own: this write" in asked
    assert re.search(r"What would be undone .* 1 v/keyed .* v/keyed", asked)
    works.save(made, nap, key="three", on_failure={"on_stop": "keep"})
    kept = carried(works, works.begin(key="three"))
    asked = stop(kept)
    assert "its workflow says that a stopped run keeps what it did" in asked
    assert "What would be undone" not in asked
    chosen: dict[str, Any] = {"action": "stop_chosen", "_selected_action": [str(one.id), str(none.id)]}  # fmt: skip
    both = words(root.post("/admin/runs/run/", chosen).content.decode())
    assert "unless its workflow says that a stopped run keeps it" in both
    assert "Writes to undo" in both


def carried(works: Works, run: Run) -> Run:
    process = works.world.process(f"of-{run.workflow}")
    for taken in process.take():
        process.go_on(*taken)
    run.refresh_from_db()
    return run
