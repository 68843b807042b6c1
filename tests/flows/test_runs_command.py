"""`manage.py runs`, and how any command says what was wrong."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
from pathlib import Path
from uuid import UUID

import pytest
from django.conf import settings
from django.core.management import call_command
from django.db.models.functions import Now

from liyagent.access.errors import UserUnknown
from liyagent.agents.errors import AgentUnknown
from liyagent.agents.models import Agent
from liyagent.audit.models import AuditRow
from liyagent.core.errors import BadInput
from runs.await_end import wait_for_end
from runs.errors import NotAnswered, RunNotFound
from runs.models import Call, Run
from tests.databases import FreshDatabase
from tests.flows.carrying import carrying
from tests.flows.conftest import Api, make_user

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def script(agent: Agent, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What the agent's model says."""
    conf = dataclasses.replace(settings.LIYAGENT, scripts_dir=tmp_path)
    monkeypatch.setattr(settings, "LIYAGENT", conf)
    path = tmp_path / "triage-keyed.yaml"
    path.write_text(
        "steps:\n- {text: I look., calls: [{tool: jira/get_issue, args: {}}]}\n- text: All is well.\n"
    )
    return path


def said(capsys: pytest.CaptureFixture[str]) -> str:
    return capsys.readouterr().out


def test_a_run_is_started_waited_for_listed_and_shown(
    script: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with carrying():
        call_command("runs", "start", "triage", "--task", "Look.", "--wait")
    run = Run.objects.get()
    assert said(capsys).splitlines()[-2:] == [str(run.id), "All is well."]
    call_command("runs", "list", "--status", "answered", "--agent", "triage")
    head, row = said(capsys).splitlines()
    assert head.split() == [
        "ID",
        "STATUS",
        "AGENT",
        "STEPS",
        "LOSSES",
        "UNKNOWN",
        "MISSION",
        "CREATED",
        "WAITS",
        "FOR",
    ]
    assert row.split()[:6] == [str(run.id), "answered", "triage", "2", "0", "0"]
    call_command("runs", "show", str(run.id))
    shown = said(capsys)
    assert "status" in shown
    assert "answered" in shown
    assert "1.0" in shown
    assert "jira/get_issue" in shown


def test_a_run_that_fails_is_said_so_with_an_exit_code(
    script: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script.write_text("steps: [{error: rejected}]\n")
    with carrying(), pytest.raises(NotAnswered, match=r"is failed; .*runs show"):
        call_command("runs", "start", "triage", "--task", "Look.", "--wait")


def test_writes_of_unknown_outcome_are_counted_in_list_and_head(
    agent: Agent, operator: Api, capsys: pytest.CaptureFixture[str]
) -> None:
    call_command("runs", "start", "triage", "--task", "Look.")
    run_id = said(capsys).strip()
    for index, (fate, finding) in enumerate(
        [("unknown", ""), ("unknown", "not_found"), ("unknown", "found"), ("done", ""), ("", "")]
    ):
        Call.objects.create(
            run_id=run_id, correlation_id=run_id, step=1, index=index, server="jira", tool="create_issue",
            intent="sending", step_key=f"k{index}", has_identity=True, intent_digest="d", attempt=1, holder=run_id,
            marked_at=Now(), deadline=Now(), sealed=b"s", fate=fate, late_finding=finding,
        )  # fmt: skip
    call_command("runs", "list")
    assert said(capsys).splitlines()[1].split()[5] == "2"
    call_command("runs", "show", run_id)
    shown = said(capsys)
    assert [line.split()[-1] for line in shown.splitlines()[-4:-1]] == ["k0", "k1", "k2"]
    assert shown.splitlines()[-1].startswith("Look at the vendor for the step key")
    assert operator.get(f"/api/runs/{run_id}").data["unknown_writes"] == 2
    assert operator.get("/api/runs").data["runs"][0]["unknown_writes"] == 2
    stopped = operator.post(f"/api/runs/{run_id}/stop", {"reason": "r"})
    assert stopped.data["unknown_writes"] == 2


def test_words_are_shown_where_asked_for_and_cannot_move_the_cursor(
    script: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Agent.objects.update(recording="full")
    script.write_text(
        "steps:\n- {text: I look., calls: [{tool: jira/get_issue, args: {}}]}\n"
        '- {text: "All is\\n\\e[2Jwell."}\n'
    )
    call_command("runs", "start", "triage", "--task", "Look\rhere.")
    run_id = said(capsys).strip()
    call_command("runs", "show", run_id, "--words")
    assert said(capsys).splitlines()[-1] == "user: Look\\rhere."
    with carrying():
        assert wait_for_end(UUID(run_id), seconds=20)
    call_command("runs", "show", run_id)
    assert "Look" not in said(capsys)
    call_command("runs", "show", run_id, "--words")
    lines = said(capsys).splitlines()
    first = lines.index("user: Look\\rhere.")
    assert lines[first + 1 : first + 3] == [
        "assistant: I look.",
        "assistant calls: jira/get_issue {}",
    ]
    assert lines[-2:] == ["assistant: All is", "  \\x1b[2Jwell."]


def test_the_answer_alone_is_shown_where_no_other_words_are_kept(
    script: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with carrying():
        call_command("runs", "start", "triage", "--task", "Look.", "--wait")
    call_command("runs", "show", str(Run.objects.get().id), "--words")
    assert said(capsys).splitlines()[-2:] == ["", "answer: All is well."]
    script.write_text("steps: [{error: rejected}]\n")
    with carrying(), pytest.raises(NotAnswered):
        call_command("runs", "start", "triage", "--task", "Look.", "--wait")
    call_command("runs", "show", str(Run.objects.order_by("-created_at")[0].id), "--words")
    assert said(capsys).splitlines()[-1] == "no words are kept"


def test_a_run_is_started_only_for_one_who_may_operate(agent: Agent) -> None:
    make_user("stan")
    make_user("olga", "agents.operate")
    with pytest.raises(UserUnknown, match="no active user 'nobody'"):
        call_command("runs", "start", "triage", "--task", "t", "--user", "nobody")
    with pytest.raises(BadInput, match=r"agents\.operate"):
        call_command("runs", "start", "triage", "--task", "t", "--user", "stan")
    assert not Run.objects.exists()
    call_command("runs", "start", "triage", "--task", "t", "--user", "olga")
    assert Run.objects.get().started_by == "olga"


def test_a_run_is_stopped_with_a_reason(agent: Agent, capsys: pytest.CaptureFixture[str]) -> None:
    call_command("runs", "start", "triage", "--task", "Look.")
    run_id = said(capsys).strip()
    call_command("runs", "stop", run_id, "--reason", "wrong host")
    assert said(capsys) == f"{run_id} stops at its next step\n"
    row = AuditRow.objects.get(action="agent.run.stop_requested")
    assert row.detail == {"reason": "wrong host"}
    assert row.actor.startswith("cli:")


def test_what_cannot_be_done_is_said(agent: Agent) -> None:
    with pytest.raises(BadInput, match="is no run id"):
        call_command("runs", "show", "x")
    with pytest.raises(RunNotFound):
        call_command("runs", "show", "0190a0a0-0000-7000-8000-000000000000")
    with pytest.raises(AgentUnknown):
        call_command("runs", "start", "nobody", "--task", "t")
    with pytest.raises(BadInput, match="one of queued"):
        call_command("runs", "list", "--status", "done")


@pytest.mark.parametrize(
    "words",
    [
        ["runs", "show", "x"],
        ["agents", "load", "/nowhere.yaml"],
        ["apikeys", "create", "ci", "--user", "nobody"],
    ],
)
def test_a_command_fails_in_one_line(fresh_db: FreshDatabase, words: list[str]) -> None:
    done = subprocess.run(
        [sys.executable, "manage.py", *words], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert done.stdout == ""
    assert len(done.stderr.strip().splitlines()) == 1
    assert "Traceback" not in done.stderr
