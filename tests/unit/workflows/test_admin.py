"""Workflows in the console: shown as a picture and in words, changed in a form that loses nothing."""

from __future__ import annotations

import json
import re
from html import unescape
from typing import Any

import pytest
import yaml
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from liyagent.audit.models import AuditRow
from liyagent.gateway.models import Tool
from liyagent.workflows.models import Workflow
from liyagent.workflows.save import save_given
from runs.models import Run
from runs.start import start_run
from tests.databases import FreshDatabase
from tests.flows.conftest import make_user
from tests.unit.workflows.desk import DEFINITION, definition, furnish, given

LIST = "/admin/workflows/workflow/"
HOSTILE = "<img src=x onerror=alert(1)>"


@pytest.fixture
def root(fresh_db: FreshDatabase) -> Client:
    """An administrator, logged in, at the desk."""
    furnish()
    client = Client()
    client.force_login(User.objects.create_superuser("root"))
    return client


def page_of(client: Client, path: str) -> str:
    answer = client.get(path)
    assert answer.status_code == 200
    return unescape(answer.content.decode())


def fields(**changes: Any) -> dict[str, Any]:
    whole = {"key": "outage", "name": "Outage", "agent": "desk", "is_enabled": "on", "definition": yaml.safe_dump(DEFINITION), "version": "0"}  # fmt: skip
    return {**whole, **changes}


def saved(**changes: Any) -> Workflow:
    return save_given(given(**changes), actor="ann")


def test_a_workflow_is_added_and_changed_through_the_verb(root: Client) -> None:
    assert root.post(f"{LIST}add/", fields()).status_code == 302
    row = Workflow.objects.get()
    assert (row.key, row.version, row.definition) == ("outage", 1, DEFINITION)
    at = f"{LIST}{row.pk}/change/"
    assert "issue_key" in page_of(root, at)
    changed = fields(
        definition='{"steps": [{"id": "a", "type": "wait", "seconds": 1e3}]}', version="1"
    )
    assert root.post(at, changed).status_code == 302
    row.refresh_from_db()
    assert (row.version, row.definition["steps"][0]["seconds"]) == (2, 1000.0)
    assert list(AuditRow.objects.filter(action="workflow.saved").values_list("actor", flat=True)) == ["root"] * 2  # fmt: skip


def test_what_is_wrong_is_shown_at_its_field_with_its_path_and_nothing_typed_is_lost(
    root: Client,
) -> None:
    typed = yaml.safe_dump(definition(tool="crate_isue")) + "# not to be lost"
    for path, version in ((f"{LIST}add/", "0"), (f"{LIST}{saved(key='b').pk}/change/", "1")):
        answer = root.post(path, fields(definition=typed, version=version))
        html = unescape(answer.content.decode())
        assert answer.status_code == 200
        assert "$.steps[0].tool: is 'crate_isue'; server jira has no such tool" in html
        assert "# not to be lost" in html
        assert 'class="liy-picture' not in html
    for text, said in (
        ("steps: [", "is no YAML that can be used"),
        ('{"steps": [}', "is no JSON that can be used"),
        ('{"steps": 1, "steps": 2}', "stands twice"),
        ("steps: 5", "$.steps: is 5; it wants a list"),
        ("{{ hello", "is no JSON that can be used"),
        (json.dumps({"steps": [{"id": "a", "type": HOSTILE}] * 30}), "and 10 more"),
    ):
        answer = root.post(f"{LIST}add/", fields(definition=text, agent="nobody"))
        assert HOSTILE not in answer.content.decode()
        html = unescape(answer.content.decode())
        assert said in html, text
        assert "there is no agent of this key" in html
    assert Workflow.objects.get().key == "b"


def test_of_two_that_change_it_the_later_is_told_and_keeps_what_was_typed(root: Client) -> None:
    at = f"{LIST}{saved().pk}/change/"
    saved(name="By another")
    typed = fields(name="Mine", definition=yaml.safe_dump(DEFINITION) + "# mine", version="1")
    answer = root.post(at, typed)
    html = unescape(answer.content.decode())
    assert "It is at version 2 now, and was at 1 as you opened it" in html
    assert "# mine" in html
    assert 'value="Mine"' in html
    assert Workflow.objects.get().name == "By another"
    (version,) = re.findall(r'name="version" value="(\d+)"', html)
    assert root.post(at, {**typed, "version": version}).status_code == 302
    assert Workflow.objects.get().name == "Mine"


def test_the_page_tells_what_it_does_and_what_it_did(root: Client) -> None:
    row = saved()
    saved(definition=definition(retry={"times": 2}), name=HOSTILE)
    started = start_run(agent_key="desk", task="x", entry="api", started_by="ann", mission="", request_id="")  # fmt: skip
    Run.objects.filter(id=started.run_id).update(workflow="outage", reason=HOSTILE)
    Tool.objects.filter(name="page").update(is_offered=False)
    answer = root.get(f"{LIST}{row.pk}/change/")
    assert HOSTILE not in answer.content.decode()
    html = unescape(answer.content.decode())
    assert html.count('class="liy-flow-step') == 3
    for part in (
        'id="step-issue"',
        'href="#step-issue"',
        'id="box-issue"',
        'href="#box-issue"',
        "undone by jira/delete_issue",
    ):
        assert part in html, part
    assert "3 steps (3 tool), 2 of them with an undo" in html
    assert "steps changed: issue" in html
    assert f"/admin/runs/run/{started.run_id}/change/" in html
    assert "$.steps[2].tool" in html
    assert "which server pager does not offer any more" in html
    assert page_of(root, LIST).count("field-shown_name") == 1


def test_who_may_only_see_it_is_shown_it_and_no_form(root: Client) -> None:
    row = saved()
    make_user("vera", "workflows.view_workflow")
    User.objects.update(is_staff=True)
    viewer = Client()
    viewer.force_login(User.objects.get(username="vera"))
    html = page_of(viewer, f"{LIST}{row.pk}/change/")
    assert 'class="liy-picture' in html
    assert "issue_key" in html
    assert 'id="runs"' not in html
    assert "<textarea" not in html
    assert viewer.post(f"{LIST}{row.pk}/change/", fields(version="1")).status_code == 403
    assert viewer.get(f"{LIST}{row.pk}/remove/").status_code == 403
    assert viewer.get(f"{LIST}add/").status_code == 403


def test_it_is_removed_after_a_question_and_not_while_its_runs_go_on(root: Client) -> None:
    row = saved()
    started = start_run(agent_key="desk", task="x", entry="api", started_by="ann", mission="", request_id="")  # fmt: skip
    Run.objects.update(workflow="outage")
    at = f"{LIST}{row.pk}/remove/"
    assert "Its runs" not in page_of(root, at)
    assert str(started.run_id) in unescape(root.post(at, {"confirmed": "yes"}, follow=True).content.decode())  # fmt: skip
    assert Workflow.objects.exists()
    Run.objects.update(workflow="")
    root.post(at, {"confirmed": "yes"})
    assert not Workflow.objects.exists()


def test_a_page_of_two_hundred_steps_takes_few_statements(root: Client) -> None:
    steps = [{"id": f"s{n}", "type": "tool", "server": "jira", "tool": "create_issue", "compensate": {"tool": "delete_issue"}} for n in range(200)]  # fmt: skip
    row = saved(definition={"steps": steps})
    at = f"{LIST}{row.pk}/change/"
    page_of(root, at)
    with CaptureQueriesContext(connection) as queries:
        html = page_of(root, at)
    assert len(queries) <= 20, [it["sql"][:80] for it in queries]
    assert html.count('class="liy-flow-step') == 200
    assert len(html) < 1_000_000


WANTS_A_TITLE = {"input": {"type": "object", "required": ["title", "count"], "properties": {"title": {"type": "string"}, "count": {"type": "integer"}}}, "steps": [{"id": "s", "type": "set", "values": {"x": "y"}}]}  # fmt: skip


def test_a_run_is_started_with_an_input_and_sent_twice_it_is_one(root: Client) -> None:
    row = saved(definition=WANTS_A_TITLE)
    at = f"{LIST}{row.pk}/run-it/"
    shown = page_of(root, at)
    assert '"title": ""' in shown
    assert '"count": 0' in shown
    once = re.findall(r'name="once" value="([0-9a-f-]{36})"', shown)[0]
    sent = {"input": '{"title": "Mail is down", "count": 2}', "once": once}
    first, again = root.post(at, sent), root.post(at, sent)
    run = Run.objects.get()
    assert (
        first.headers["Location"]
        == again.headers["Location"]
        == f"/admin/runs/run/{run.id}/change/"
    )
    assert (run.workflow, run.entry, run.started_by) == ("outage", "playground", "root")


def test_an_input_that_does_not_fit_is_refused_by_its_path_and_nothing_typed_is_lost(
    root: Client,
) -> None:
    row = saved(definition=WANTS_A_TITLE)
    at, once = f"{LIST}{row.pk}/run-it/", "7b1c8a60-3f5e-4a0e-9f0b-0d2f6c1f9a11"
    misfit = root.post(at, {"input": '{"title": "Mail is down", "count": "two"}', "once": once})
    told = unescape(misfit.content.decode())
    assert "input.count" in told
    assert "Mail is down" in told
    broken = unescape(root.post(at, {"input": '{"title": ', "once": once}).content.decode())
    assert "cannot be used" in broken
    assert not Run.objects.exists()


def test_who_may_not_operate_starts_none(root: Client) -> None:
    row = saved(definition=WANTS_A_TITLE)
    make_user("vera", "workflows.view_workflow")
    User.objects.update(is_staff=True)
    viewer = Client()
    viewer.force_login(User.objects.get(username="vera"))
    assert viewer.get(f"{LIST}{row.pk}/run-it/").status_code == 403
    assert "Start a run" not in page_of(viewer, f"{LIST}{row.pk}/change/")
