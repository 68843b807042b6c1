"""`/api/runs`: the list, one run, its transcript, its stop."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any
from urllib.parse import urlencode
from uuid import UUID, uuid4

import pytest
from django.conf import settings
from django.db import connection
from django.db.models.functions import Now
from django.test.utils import CaptureQueriesContext

from liyagent.agents.models import Agent
from liyagent.audit.record import record
from liyagent.leases.models import Holder
from runs.models import Call, Run, RunStatus
from runs.start import start_run
from tests.flows.carrying import carrying
from tests.flows.conftest import Api

UNKNOWN = "/api/runs/0190a0a0-0000-7000-8000-000000000000"
STEPS = """
steps:
  - text: I look.
    calls:
      - {tool: jira/search_issues, args: {text: secret words}}
      - {tool: jira/get_issue, args: {}}
  - text: All is well.
"""


def start(count: int = 1, *, agent_key: str = "triage", mission: str = "") -> list[UUID]:
    """Start runs; return their ids, oldest first."""
    return [
        start_run(
            agent_key=agent_key,
            task="Look.",
            entry="api",
            started_by="olga",
            mission=mission,
            request_id="",
        ).run_id
        for _ in range(count)
    ]


def ids(data: Any) -> list[str]:
    return [run["id"] for run in data["runs"]]


@pytest.fixture
def script(agent: Agent, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What the agent's model says."""
    conf = dataclasses.replace(settings.LIYAGENT, scripts_dir=tmp_path)
    monkeypatch.setattr(settings, "LIYAGENT", conf)
    path = tmp_path / "triage-keyed.yaml"
    path.write_text(STEPS)
    return path


def test_the_list_is_newest_first_and_leads_on_without_gap_or_repeat(
    operator: Api, agent: Agent
) -> None:
    started = [str(it) for it in start(7)]
    # Three of one instant: the id decides.
    Run.objects.filter(id__in=started[2:5]).update(created_at=Now())
    expected = [
        str(it) for it in Run.objects.order_by("-created_at", "-id").values_list("id", flat=True)
    ]
    seen: list[str] = []
    path: str | None = "/api/runs?limit=2"
    while path:
        answer = operator.get(path)
        assert answer.status == 200
        seen += ids(answer.data)
        path = answer.data["next"]
        start(1)  # what starts meanwhile moves nothing
    assert seen == expected


def test_the_list_filters_and_its_next_link_keeps_the_filters(operator: Api, agent: Agent) -> None:
    first, second, third = start(3, mission="INC-1")
    (other,) = start(1, mission="INC-2")
    Run.objects.filter(id=third).update(status=RunStatus.STOPPED)
    page = operator.get("/api/runs?mission=INC-1&status=queued&limit=1")
    assert ids(page.data) == [str(second)]
    assert ids(operator.get(page.data["next"]).data) == [str(first)]
    assert operator.get(page.data["next"]).data["next"] is None
    assert ids(operator.get("/api/runs?mission=INC-2&agent=triage&entry=api").data) == [str(other)]
    assert ids(operator.get("/api/runs?entry=cron").data) == []
    assert ids(operator.get("/api/runs?agent=nobody").data) == []


def test_the_list_reads_a_bounded_number_of_rows_and_no_bodies(operator: Api, agent: Agent) -> None:
    start(3)
    operator.get("/api/runs")
    with CaptureQueriesContext(connection) as queries:
        operator.get("/api/runs")
    on_runs = [it["sql"] for it in queries if "runs_run" in it["sql"]]
    assert len(on_runs) == 1
    assert '"seal"' not in on_runs[0]
    assert "LIMIT 51" in on_runs[0]


def test_a_bad_filter_is_refused_naming_what_is_allowed(operator: Api) -> None:
    for name, value, says in (
        ("status", "done", "queued, running, waiting"),
        ("status", "", "queued, running, waiting"),
        ("agent", "a b", "letters, digits"),
        ("entry", "", "letters, digits"),
        ("mission", "INC-1\n", "128 letters"),
        ("limit", "0", "1 to 200"),
        ("limit", "201", "1 to 200"),
        ("limit", "\u0661", "1 to 200"),
        ("cursor", "x", "unchanged"),
        ("cursor", "MjAyNi0xMS0yOSB4", "unchanged"),
        ("cursor", "MjAyNi0xMS0yOSAwMTkwYTBhMC0wMDAwLTcwMDAtODAwMC0wMDAwMDAwMDAwMDA=", "unchanged"),
        ("cursor", "\u00e9", "unchanged"),
        (
            "page",
            "2",
            "status, agent, mission, entry, error, started_by, parent, since, until, limit, cursor",
        ),
    ):
        answer = operator.get(f"/api/runs?{urlencode({name: value})}")
        assert answer.status == 400, (name, value)
        assert answer.data["code"] == "input.bad"
        assert says in answer.data["detail"], answer.data


def test_an_ended_run_is_told_in_full(reader: Api, operator: Api, script: Path) -> None:
    with carrying():
        started = reader.post(
            "/api/agents/triage/runs?wait=20", {"task": "Look."}, x_liyagent_mission="INC-7"
        )
    answer = reader.get(started.data["url"])
    run = answer.data
    assert run == started.data
    assert run["status"] == "answered"
    assert run["agent"] == "triage"
    assert run["agent_version"] == 1
    assert (run["entry"], run["mission"], run["started_by"]) == ("api", "INC-7", "rita")
    assert run["steps"] == 2
    assert run["unknown_writes"] == 0
    assert (run["losses"], run["attempt"], run["lease"], run["takeovers"]) == (0, 1, None, [])
    assert run["stop_requested"] is False
    assert run["created_at"] < run["taken_at"] < run["ended_at"]
    assert run["answer"] == "All is well."
    assert [(it["step"], it["index"], it["server"], it["tool"]) for it in run["calls"]] == [
        (1, 0, "jira", "search_issues"),
        (1, 1, "jira", "get_issue"),
    ]
    assert {it["fate"] for it in run["calls"]} == {"refused"}
    assert run["calls_truncated"] is False
    assert "secret words" not in json.dumps(run)
    without_words = operator.get(started.data["url"]).data
    assert "answer" not in without_words
    assert {**without_words, "answer": "All is well."} == run


@pytest.mark.promise("CR-11")
def test_a_running_run_names_its_lease(operator: Api, agent: Agent) -> None:
    (run_id,) = start()
    holder = Holder.objects.create(
        name="web-1", boot_id="b", pid_namespace="p", pid=1, started_ticks=1,
        renew_by=Now(), created_at=Now(),
    )  # fmt: skip
    Run.objects.filter(id=run_id).update(status="running", holder=holder.id, attempt=1)
    lease = operator.get(f"/api/runs/{run_id}").data["lease"]
    assert lease["name"] == f"checkpoint:{run_id}"
    assert lease["holder"] == "web-1"
    assert lease["until"]
    Holder.objects.all().delete()
    lost = operator.get(f"/api/runs/{run_id}").data["lease"]
    assert lost == {"name": f"checkpoint:{run_id}", "holder": str(holder.id), "until": None}


def mark(run_id: UUID, *, step: int, index: int, **facts: Any) -> None:
    """Store a marked write."""
    Call.objects.create(
        run_id=run_id, correlation_id=run_id, step=step, index=index, server="jira",
        tool="create_issue", intent="sending", step_key=f"key-{step}-{index}", has_identity=True,
        intent_digest="d", attempt=1, holder=uuid4(), marked_at=Now(), deadline=Now(),
        sealed=b"x", **facts,
    )  # fmt: skip


def test_marked_writes_are_told_in_order_with_what_became_of_them(
    operator: Api, agent: Agent
) -> None:
    (run_id,) = start()
    mark(run_id, step=2, index=0)
    mark(run_id, step=1, index=1, fate="done", settlement="sent_with_same_key", settled_at=Now())
    first, second = operator.get(f"/api/runs/{run_id}").data["calls"]
    assert (first["step"], first["fate"], first["settlement"]) == (1, "done", "sent_with_same_key")
    assert first["effect"] == "write"
    assert first["step_key"] == "key-1-1"
    assert first["marked_at"]
    assert first["settled_at"]
    assert (second["step"], second["fate"], second["settled_at"]) == (2, "", None)


def test_more_than_1000_calls_are_cut_and_said_so(operator: Api, agent: Agent) -> None:
    (run_id,) = start()
    mark(run_id, step=0, index=0)
    with connection.cursor() as cursor:
        names = [f.column for f in Call._meta.fields if f.column not in {"id", "step"}]
        listed = ", ".join(f'"{name}"' for name in names)
        cursor.execute(
            f"INSERT INTO runs_call (step, {listed}) SELECT n, {listed} FROM runs_call, generate_series(1, 1000) n"
        )
    answer = operator.get(f"/api/runs/{run_id}").data
    assert len(answer["calls"]) == 1000
    assert answer["calls_truncated"] is True
    assert answer["calls"][-1]["step"] == 999


@pytest.mark.promise("CR-19")
def test_each_takeover_is_told_as_audited(operator: Api, agent: Agent) -> None:
    (run_id,) = start()
    for losses in (1, 2):
        detail = {
            "attempt": losses + 1,
            "step": 3,
            "losses": losses,
            "cause": "lapsed",
            "holder": "web-2",
            "calls": [{"index": 0, "call": "jira/create_issue", "settlement": "read_back"}],
        }
        record("agent.run.crash_resumed", actor="system", run_id=run_id, detail=detail)
    record("agent.run.started", actor="olga", run_id=run_id)
    first, second = operator.get(f"/api/runs/{run_id}").data["takeovers"]
    assert (first["attempt"], first["losses"], first["step"]) == (2, 1, 3)
    assert first["calls"][0]["settlement"] == "read_back"
    assert first["at"] < second["at"]


def test_a_transcript_is_for_who_may_read_words(
    reader: Api, operator: Api, script: Path, agent: Agent
) -> None:
    Agent.objects.update(recording="full")
    with carrying():
        started = reader.post("/api/agents/triage/runs?wait=20", {"task": "Look."})
    answer = reader.get(f"{started.data['url']}/transcript")
    assert answer.status == 200
    assert answer.data["run_id"] == started.data["id"]
    assert answer.data["is_complete"] is True
    assert answer.data["answer"] == "All is well."
    assert answer.data["messages"][0] == {"role": "user", "text": "Look."}
    refused = operator.get(f"{started.data['url']}/transcript")
    assert (refused.status, refused.data["code"]) == (403, "permission.denied")
    assert refused.data["detail"] == "This needs the permission transcripts.content.read."


def test_without_the_sealing_key_the_head_is_told_and_the_words_are_not(
    reader: Api, script: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with carrying():
        started = reader.post("/api/agents/triage/runs?wait=20", {"task": "Look."})
    conf = dataclasses.replace(settings.LIYAGENT, seal_keys=(("other", b"x" * 32),))
    monkeypatch.setattr(settings, "LIYAGENT", conf)
    transcript = reader.get(f"{started.data['url']}/transcript")
    assert (transcript.status, transcript.data["code"]) == (409, "seal.key_missing")
    run = reader.get(started.data["url"])
    assert run.status == 200
    assert run.data["answer"] is None
    assert "sealing key" in run.data["answer_missing"]


def test_a_stop_is_accepted_once_stored_and_refused_after_the_end(
    operator: Api, agent: Agent
) -> None:
    (run_id,) = start()
    stop = f"/api/runs/{run_id}/stop"
    answer = operator.post(stop, {"reason": "wrong host\u0000"})
    assert answer.status == 202
    assert answer.data["id"] == str(run_id)
    assert (answer.data["stop_requested"], answer.data["stopped_by"]) == (True, "olga")
    assert operator.get(f"/api/runs/{run_id}").data["stop_requested"] is True
    Run.objects.filter(id=run_id).update(status=RunStatus.STOPPED)
    again = operator.post(stop, {"reason": "again"})
    assert (again.status, again.data["code"]) == (409, "run.ended")


def test_a_stop_without_a_reason_is_refused(operator: Api, agent: Agent) -> None:
    (run_id,) = start()
    for body in ({}, {"reason": ""}, {"reason": "  "}, {"reason": "x" * 501}, {"why": "x"}):
        answer = operator.post(f"/api/runs/{run_id}/stop", body)
        assert (answer.status, answer.data["code"]) == (400, "input.bad"), body
    assert Run.objects.get().stop_requested is False


def test_a_run_that_is_not_there_is_404_everywhere(reader: Api) -> None:
    for answer in (
        reader.get(UNKNOWN),
        reader.get(f"{UNKNOWN}/transcript"),
        reader.post(f"{UNKNOWN}/stop", {"reason": "r"}),
    ):
        assert (answer.status, answer.data["code"]) == (404, "run.not_found")
    assert reader.get("/api/runs/not-an-id").data["code"] == "not_found"


def test_agents_are_listed_and_shown(operator: Api, agent: Agent) -> None:
    listed = operator.get("/api/agents").data["agents"]
    shown = operator.get("/api/agents/triage").data
    assert listed == [shown]
    assert (shown["key"], shown["version"], shown["write_posture"]) == ("triage", 1, "hold")
    missing = operator.get("/api/agents/nobody")
    assert (missing.status, missing.data["code"]) == (404, "agent.unknown")
