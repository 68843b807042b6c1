"""Work handed down, over HTTP, in the console and at the shell: who asked whom, and what came of it."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.core.management import call_command
from django.test import Client

from liyagent.agents.definitions import save_agent
from liyagent.gateway.policy_versions import load_policy
from runs.await_end import wait_for_end
from runs.models import Run
from runs.start import start_run
from tests.databases import FreshDatabase
from tests.flows.carrying import carrying
from tests.flows.conftest import api_of, make_user
from tests.flows.test_call_a_tool import PERMIT

NOBODY = "0190a0a0-0000-7000-8000-000000000000"
SCRIPTS = {
    "lead": """
steps:
  - text: I hand it down.
    calls: [{tool: agents/helper, args: {task: look at web-17}}]
  - text: "The helper says: {{ results.0 }}"
""",
    "helper": "steps:\n- text: web-17 is well\n",
}


@pytest.fixture
def handed(fresh_db: FreshDatabase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """The run of an agent that handed work to another, both ended."""
    conf = dataclasses.replace(settings.LIYAGENT, scripts_dir=tmp_path)
    monkeypatch.setattr(settings, "LIYAGENT", conf)
    load_policy(PERMIT, name="all", actor="test")
    for key, script in SCRIPTS.items():
        (tmp_path / f"{key}.yaml").write_text(script)
        known = {"key": key, "name": key.title(), "provider": "scripted", "model": key}
        more = {"tool_patterns": ["agents/*"], "write_posture": "allow", "recording": "full"}
        save_agent({**known, **more}, actor="test")
    make_user("olga", "agents.operate")
    run_id = start_run(
        agent_key="lead",
        task="see to it",
        entry="api",
        started_by="olga",
        mission="",
        request_id="",
    ).run_id
    with carrying():
        assert wait_for_end(run_id, seconds=20)
    return Run.objects.get(id=run_id)


@pytest.fixture
def viewer(fresh_db: FreshDatabase) -> User:
    return make_user("vera", "runs.view_run", "transcripts.content.read")


def child_of(run: Run) -> Run:
    return Run.objects.get(parent_id=run.id)


def test_a_run_tells_of_its_parent_and_its_children(handed: Run, viewer: User) -> None:
    api, child = api_of(viewer), child_of(handed)
    told = api.get(f"/api/runs/{handed.id}").data
    assert (told["status"], told["parent_id"]) == ("answered", None)
    assert told["answer"] == "The helper says: web-17 is well"
    (of_child,) = told["children"]
    assert (of_child["id"], of_child["agent"], of_child["status"]) == (
        str(child.id), "helper", "answered",
    )  # fmt: skip
    assert told["children_truncated"] is False
    (call,) = told["calls"]
    assert (call["server"], call["tool"], call["effect"]) == ("agents", "helper", "write")
    assert of_child["loop"] == call["step_key"]
    below = api.get(f"/api/runs/{child.id}").data
    assert (below["parent_id"], below["children"]) == (str(handed.id), [])
    assert below["correlation_id"] == str(handed.id)


@pytest.mark.parametrize(
    ("asked", "status", "count"),
    [("{parent}", 200, 1), (NOBODY, 200, 0), ("nonsense", 400, None), ("{parent}&agent=helper", 200, 1),
     ("{parent}&agent=lead", 200, 0), ("", 400, None)],
)  # fmt: skip
def test_a_run_s_children_are_listed(
    handed: Run, viewer: User, asked: str, status: int, count: int | None
) -> None:
    answer = api_of(viewer).get(f"/api/runs?parent={asked.format(parent=handed.id)}")
    assert answer.status == status
    if count is None:
        assert "parent is" in answer.data["detail"]
    else:
        assert len(answer.data["runs"]) == count


def page(user: User, run_id: UUID) -> str:
    User.objects.filter(pk=user.pk).update(is_staff=True)
    client = Client()
    client.force_login(user)
    response = client.get(f"/admin/runs/run/{run_id}/change/")
    assert response.status_code == 200
    return str(response.content.decode())


def test_the_page_of_a_run_leads_to_its_children_and_back(handed: Run, viewer: User) -> None:
    child = child_of(handed)
    shown = page(viewer, handed.id)
    # In its own section, and beside the call that asked for it.
    assert shown.count(f"/admin/runs/run/{child.id}/change/") == 2
    assert "agents/helper" in shown
    shown = page(viewer, child.id)
    assert f"/admin/runs/run/{handed.id}/change/" in shown
    assert "Work handed down by run" in shown


def test_the_shell_shows_them_too(handed: Run, capsys: pytest.CaptureFixture[str]) -> None:
    child = child_of(handed)
    call_command("runs", "show", str(handed.id))
    shown = capsys.readouterr().out
    assert "CHILD" in shown
    assert f"{child.id}" in shown
    call_command("runs", "show", str(child.id))
    shown = capsys.readouterr().out
    assert f"{handed.id}" in shown
    assert "CHILD" not in shown


def test_an_agent_is_called_by_hand_by_nobody(handed: Run) -> None:
    api = api_of(make_user("carl", "gateway.call_tool", "agents.operate"))
    answer = api.post("/api/tools/agents/helper/call", {"args": {"task": "x"}})
    assert answer.status == 403
    assert "POST /api/agents/helper/runs" in answer.data["detail"]
    assert Run.objects.count() == 2


def test_a_trial_knows_work_that_is_handed_down(handed: Run) -> None:
    api = api_of(make_user("carl", "gateway.view_policy"))
    body: dict[str, Any] = {"agent": "lead", "tool": "agents/helper", "args": {"task": "x"}}
    answer = api.post("/api/policies/try", body)
    assert (answer.status, answer.data["posture"]) == (200, "posture")
    answer = api.post("/api/policies/try", {**body, "delegated_by": ["helper"]})
    assert (answer.data["posture"], answer.data["gate"]) == ("refused", "delegation")
    assert api.post("/api/policies/try", {**body, "delegated_by": ["nobody"]}).status == 404
    assert api.post("/api/policies/try", {**body, "delegated_by": ["a", "b", "c"]}).status == 400


def test_no_server_is_declared_where_agents_stand(fresh_db: FreshDatabase) -> None:
    servers = [f"gateway.{verb}_toolserver" for verb in ("view", "add", "change")]
    answer = api_of(make_user("paul", *servers)).send("PUT", "/api/servers/agents", {"transport": "local"})  # fmt: skip
    assert answer.status == 400
    assert "where agents stand as tools" in answer.data["detail"]


def test_agents_that_are_nowhere_are_told_at_load_and_check(
    fresh_db: FreshDatabase, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "agents.yaml"
    file.write_text(
        "agents:\n- {key: lead, name: Lead, provider: scripted, model: lead, tool_patterns: [agents/gone, 'agents/*']}\n"
    )
    for verb in ("check", "load"):
        call_command("agents", verb, str(file))
        told = capsys.readouterr()
        assert "warning: lead may hand work to agents/gone, and there is no agent gone" in told.err
        assert "warning" not in told.out
