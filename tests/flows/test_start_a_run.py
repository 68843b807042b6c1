"""`POST /api/agents/{key}/runs`."""

from __future__ import annotations

import dataclasses
import json
import time
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from django.conf import settings
from django.db import connection
from django.test import Client

from liyagent.agents.containment import contain_agent
from liyagent.agents.models import Agent
from liyagent.audit.models import AuditRow
from runs.models import Run, RunStatus, StartKey
from runs.transcript import read_transcript
from tests.databases import FreshDatabase
from tests.flows.carrying import carrying
from tests.flows.conftest import OPERATOR, Api, api_of, make_user

START = "/api/agents/triage/runs"
NO_JSON = [
    (b'{"task": NaN}', "NaN is no JSON number"),
    (b'{"task": "t", "history": Infinity}', "Infinity is no JSON number"),
    (b'{"task": "t", "x": 1e999}', "1e999 is too large"),
    (b'{"task": "t", "x": -Infinity}', "-Infinity is no JSON number"),
    (b'{"task": ' + b"[" * 100_000, "nested too deeply"),
    (b"[" * 150 + b"]" * 150, "nested deeper than 100"),
    (b'{"task": ' + b"9" * 5000 + b"}", "digits"),
    (b'{"task": "t"', "cannot be used"),
    (b'{"task": "\xff"}', "not UTF-8"),
    (b'{"task": "a\x00b"}', "cannot be used"),
    (b"", ""),
    (b'{"task": "t", "task": "u"}', "'task' stands twice"),
    (b'\xef\xbb\xbf{"task": "t"}', "BOM"),
]
WRONG_FIELDS: list[tuple[Any, str, str]] = [
    ({}, "task", "required"),
    ({"task": ""}, "task", "blank"),
    ({"task": 7}, "task", "Not a valid string"),
    ({"task": True}, "task", "Not a valid string"),
    ({"task": None}, "task", "null"),
    ({"task": "t", "taks": 1, "x": 2}, "taks", "the known ones are task, history"),
    ({"task": "t", "history": "x"}, "history", "list"),
    ({"task": "t", "history": [{"role": "system", "text": "x"}]}, "history.0.role", "system"),
    ({"task": "t", "history": [{"role": "user"}]}, "history.0.text", "required"),
    (
        {"task": "t", "history": [{"role": "user", "text": "x", "y": 1}]},
        "history.0.y",
        "known",
    ),
    ([], "body", "dictionary"),
    ("task", "body", "dictionary"),
]


@pytest.fixture
def script(agent: Agent, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What the agent's model says: a file to write."""
    conf = dataclasses.replace(settings.LIYAGENT, scripts_dir=tmp_path)
    monkeypatch.setattr(settings, "LIYAGENT", conf)
    path = tmp_path / "triage-keyed.yaml"
    path.write_text("steps:\n  - text: All is well.\n")
    return path


def test_a_start_answers_202_once_the_row_is_committed(operator: Api, agent: Agent) -> None:
    answer = operator.post(START, {"task": "Look."})
    assert answer.status == 202
    run = Run.objects.get()
    assert answer.data == {
        "id": str(run.id),
        "status": "queued",
        "correlation_id": str(run.correlation_id),
        "mission": str(run.correlation_id),
        "url": f"/api/runs/{run.id}",
    }
    assert (run.status, run.entry, run.started_by) == (RunStatus.QUEUED, "api", "olga")
    assert run.request_id == answer.headers["X-Request-ID"]
    assert "Idempotent-Replay" not in answer.headers


@pytest.mark.promise("MI-01")
def test_a_named_mission_and_request_id_are_the_runs(operator: Api, agent: Agent) -> None:
    answer = operator.post(
        START, {"task": "Look."}, x_liyagent_mission="INC-77", x_request_id="req-9"
    )
    assert answer.data["mission"] == "INC-77"
    run = Run.objects.get()
    assert (run.mission, run.request_id) == ("INC-77", "req-9")


@pytest.mark.field("FL-98")
def test_ids_that_do_not_fit_reach_no_row(operator: Api, agent: Agent) -> None:
    for bad in ("INC-1\n", " INC-1", "\uff29NC-1", "-INC", "x" * 129, "A,B", ""):
        answer = operator.post(START, {"task": "Look."}, x_liyagent_mission=bad, x_request_id=bad)
        run = Run.objects.get(id=answer.data["id"])
        assert answer.data["mission"] == run.mission == str(run.correlation_id)
        assert str(UUID(run.request_id)) == run.request_id
        row = AuditRow.objects.get(run_id=run.id)
        assert (row.mission, row.request_id) == (run.mission, run.request_id)


def test_the_same_key_and_body_answer_as_the_first_time(operator: Api, agent: Agent) -> None:
    first = operator.post(START, {"task": "Look."}, idempotency_key="k-1")
    again = operator.post(
        START, {"task": "Look."}, idempotency_key="k-1", x_liyagent_mission="another"
    )
    assert again.status == first.status == 202
    assert again.data == first.data
    assert again.headers["Idempotent-Replay"] == "true"
    assert Run.objects.count() == 1


def test_the_same_body_written_another_way_is_the_same_body(operator: Api, agent: Agent) -> None:
    operator.post(START, b'{"task": "L\\u006fok.", "history": []}', idempotency_key="k-1")
    again = operator.post(START, b'{"history":[],"task":"Look."}', idempotency_key="k-1")
    assert again.status == 202
    assert Run.objects.count() == 1


def test_the_same_key_with_another_body_is_a_conflict(operator: Api, agent: Agent) -> None:
    operator.post(START, {"task": "Look."}, idempotency_key="k-1")
    answer = operator.post(START, {"task": "Act."}, idempotency_key="k-1")
    assert answer.status == 409
    assert answer.data["code"] == "run.start_key_reused"
    assert Run.objects.count() == 1


def test_a_key_is_its_owners_own(operator: Api, agent: Agent) -> None:
    other = api_of(make_user("otto", *OPERATOR))
    first = operator.post(START, {"task": "Look."}, idempotency_key="k-1")
    second = other.post(START, {"task": "Act."}, idempotency_key="k-1")
    assert second.status == 202
    assert second.data["id"] != first.data["id"]


def test_an_idempotency_key_that_is_not_visible_ascii_is_refused(
    operator: Api, agent: Agent
) -> None:
    for key in ("", "a b", "x" * 256, "\x7f", "k\u00e9", "a\tb"):
        status, code, detail = detail_of(operator, {"task": "Look."}, idempotency_key=key)
        assert (status, code) == (400, "input.bad")
        assert detail == "Idempotency-Key wants 1 to 255 visible ASCII characters"
    assert not StartKey.objects.exists()


def test_the_longest_key_is_taken(operator: Api, agent: Agent) -> None:
    assert operator.post(START, {"task": "Look."}, idempotency_key="~" * 255).status == 202


def test_waiting_answers_with_the_run_once_it_ended(reader: Api, script: Path) -> None:
    with carrying():
        answer = reader.post(f"{START}?wait=20", {"task": "Look."})
    assert answer.status == 200
    assert answer.data["status"] == "answered"
    assert answer.data["answer"] == "All is well."
    assert answer.data["lease"] is None


def test_waiting_shows_no_words_to_who_may_not_read_them(operator: Api, script: Path) -> None:
    with carrying():
        answer = operator.post(f"{START}?wait=20", {"task": "Look."})
    assert answer.data["status"] == "answered"
    assert "answer" not in answer.data
    assert "All is well." not in json.dumps(answer.data)


def test_waiting_in_vain_answers_202(operator: Api, agent: Agent) -> None:
    began = time.monotonic()
    answer = operator.post(f"{START}?wait=0.1", {"task": "Look."})
    assert time.monotonic() - began >= 0.1
    assert answer.status == 202
    assert answer.data["status"] == "queued"


def test_a_wait_outside_its_bounds_is_refused_before_anything_starts(
    operator: Api, agent: Agent
) -> None:
    for wait in ("61", "-1", "1e1", "nan", "", "x", "\u0661"):
        answer = operator.post(f"{START}?wait={wait}", {"task": "Look."})
        assert answer.status == 400
        assert "seconds from 0 to 60" in answer.data["detail"]
    assert not Run.objects.exists()


def test_an_unknown_query_name_is_refused(operator: Api, agent: Agent) -> None:
    answer = operator.post(f"{START}?wiat=3", {"task": "Look."})
    assert answer.status == 400
    assert "wiat" in answer.data["detail"]


@pytest.mark.field("FL-32")
def test_text_that_cannot_be_stored_is_made_storable(
    reader: Api, script: Path, agent: Agent
) -> None:
    Agent.objects.update(recording="full")
    body = rb'{"task": "boot\u0000ok \ud83d and \\u0000", "history": [{"role": "user", "text": "a\u0000b"}]}'
    with carrying():
        answer = reader.post(f"{START}?wait=20", body)
    assert answer.data["status"] == "answered"
    transcript = read_transcript(Run.objects.get())
    assert [it["text"] for it in transcript["messages"][:2]] == [
        "a\ufffdb",
        "boot\ufffdok \ufffd and \\u0000",
    ]


def detail_of(operator: Api, body: Any, **headers: str) -> tuple[int, str, str]:
    answer = operator.post(START, body, **headers)
    assert answer.headers["Content-Type"] == "application/problem+json"
    assert answer.data["request_id"] == answer.headers["X-Request-ID"]
    assert answer.data["status"] == answer.status
    assert answer.data["title"]
    assert not Run.objects.exists()
    return answer.status, answer.data["code"], answer.data.get("detail", "")


@pytest.mark.field("FL-34")
def test_a_body_that_is_no_json_is_refused(operator: Api, agent: Agent) -> None:
    for body, says in NO_JSON:
        status, code, detail = detail_of(operator, body)
        assert (status, code) in {(400, "body.bad"), (400, "input.bad")}
        assert says in detail


def test_each_field_is_named_with_what_was_wrong(operator: Api, agent: Agent) -> None:
    for body, field, says in WRONG_FIELDS:
        status, code, _ = detail_of(operator, body)
        assert (status, code) == (400, "input.bad")
        errors = operator.post(START, body).data["errors"]
        assert any(it["field"] == field and says in it["detail"] for it in errors), errors


def test_a_task_without_words_or_too_long_is_refused(operator: Api, agent: Agent) -> None:
    for task in ("   ", "\n", "x" * 200_001):
        assert detail_of(operator, {"task": task})[:2] == (400, "input.bad")


def test_a_body_over_2_mib_is_refused(operator: Api, agent: Agent) -> None:
    body = b'{"task": "' + b"x" * (2 << 20) + b'"}'
    status, code, detail = detail_of(operator, body)
    assert (status, code) == (413, "body.too_large")
    assert str(2 << 20) in detail


def test_a_body_of_another_kind_is_refused(operator: Api, agent: Agent) -> None:
    for kind in ("text/plain", "application/x-www-form-urlencoded", ""):
        assert detail_of(operator, b"task=t", content_type=kind)[:2] == (415, "body.media_type")


def test_an_unknown_or_contained_agent_starts_nothing(operator: Api, agent: Agent) -> None:
    answer = operator.post("/api/agents/nobody/runs", {"task": "t"})
    assert (answer.status, answer.data["code"]) == (404, "agent.unknown")
    assert answer.data["facts"] == {"agent": "nobody"}
    contain_agent("triage", actor="test", reason="odd")
    assert detail_of(operator, {"task": "t"})[:2] == (409, "agent.contained")


def test_an_answer_in_json_whatever_is_accepted(operator: Api, agent: Agent) -> None:
    for accept in ("text/html", "application/xml", "application/problem+json", "nonsense"):
        assert operator.post(START, {"task": "t"}, accept=accept).status == 202


def test_an_unexpected_error_shows_no_trace_and_is_logged(
    operator: Api, agent: Agent, caplog: pytest.LogCaptureFixture
) -> None:
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE runs_startkey RENAME TO runs_elsewhere")
    answer = operator.post(START, {"task": "t"}, idempotency_key="k", x_request_id="req-5")
    assert answer.status == 500
    assert answer.data == {
        "type": "urn:liyagent:problem:unexpected",
        "title": "Something went wrong here; the log names the request id.",
        "status": 500,
        "code": "unexpected",
        "instance": "urn:liyagent:request:req-5",
        "request_id": "req-5",
    }
    assert "runs_startkey" in caplog.text


def test_unknown_addresses_and_methods_are_problems(operator: Api, agent: Agent) -> None:
    missing = operator.get("/api/nothing")
    assert (missing.status, missing.data["code"]) == (404, "not_found")
    assert operator.get("/api/runs/").status == 404
    wrong = operator.send("DELETE", START)
    assert (wrong.status, wrong.data["code"]) == (405, "method.not_allowed")
    assert wrong.headers["Allow"] == "POST"
    assert operator.send("OPTIONS", START).status == 405
    assert operator.send("HEAD", "/api/runs").status == 200


def test_a_request_django_itself_refuses_is_a_problem_too(fresh_db: FreshDatabase) -> None:
    client = Client(raise_request_exception=False)
    answer = client.get("/api/runs", headers={"host": "evil.example"})
    assert answer.status_code == 400
    assert answer["Content-Type"] == "application/problem+json"
    assert answer.json()["code"] == "request.bad"
