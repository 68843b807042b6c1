"""The page of one run: all that happened, words for those alone who may read them, nothing obeyed or hidden."""

from __future__ import annotations

import json
from typing import Any
from uuid import UUID

import psycopg
import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from liyagent.agents.models import Agent
from runs.models import Run
from runs.start import start_run
from tests.databases import FreshDatabase
from tests.flows.conftest import make_user

HOSTILE = "<img src=x onerror=alert(1)>\u202eevil\u200b\x07"
STEPS = 1000
# The login of the test among them.
MOST_STATEMENTS = 40


@pytest.fixture
def run(agent: Agent) -> Run:
    return Run.objects.get(
        id=start_run(
            agent_key="triage", task="t", entry="api", started_by="", mission="", request_id="",
        ).run_id
    )  # fmt: skip


def tell(url: str, run: Run, kind: str, **content: Any) -> None:
    """Write an event as it would stand in the log; its hash is nobody's matter here."""
    with psycopg.connect(url, autocommit=True) as writing:
        writing.execute(
            "INSERT INTO events_runevent (correlation_id, number, run_id, at, kind, mission, recording, content, hash)"
            " SELECT %s, 1 + coalesce(max(number), 0), %s, now(), %s, 'm', 'full', %s, '\\x00' FROM events_runevent"
            " WHERE correlation_id = %s",
            [run.correlation_id, run.id, kind, json.dumps(content), run.correlation_id],
        )


def page_of(user: User, run_id: UUID, asked: str = "") -> str:
    User.objects.filter(pk=user.pk).update(is_staff=True)
    client = Client()
    client.force_login(user)
    response = client.get(f"/admin/runs/run/{run_id}/change/{asked}")
    assert response.status_code == 200
    return str(response.content.decode())


def step(number: int, text: Any = "I look.") -> dict[str, Any]:
    return {"step": number, "finish": "calls", "input_tokens": 1, "output_tokens": 2, "cost_micros": 0, "calls": [], "text": text}  # fmt: skip


def call(number: int, **words: Any) -> dict[str, Any]:
    facts = {"step": number, "index": 0, "server": "jira", "tool": "find", "effect": "read", "fate": "done", "posture": "posture",
        "gate": "", "policy": "", "key": "k" * 64, "settlement": "", "ms": 7}  # fmt: skip
    return {**facts, "args": words.get("args", {}), "result": words.get("result", {})}


def test_words_are_shown_to_those_alone_who_may_read_them(
    fresh_db: FreshDatabase, run: Run
) -> None:
    Run.objects.update(model_steps=1)
    tell(fresh_db.url, run, "step", **step(1, "a secret thought"))
    tell(fresh_db.url, run, "tool.call", **call(1, args={"q": "secret-arg"}, result="secret-result"))  # fmt: skip
    vera = page_of(make_user("vera", "runs.view_run"), run.id)
    assert "jira/find" in vera
    assert "7 ms" in vera
    assert "secret" not in vera
    rita = page_of(make_user("rita", "runs.view_run", "transcripts.content.read"), run.id)
    assert all(it in rita for it in ("a secret thought", "secret-arg", "secret-result"))


def test_hostile_words_are_written_out_and_never_obeyed(fresh_db: FreshDatabase, run: Run) -> None:
    Run.objects.update(model_steps=1, reason=HOSTILE, started_by=HOSTILE)
    tell(fresh_db.url, run, "step", **step(1, HOSTILE))
    tell(fresh_db.url, run, "tool.call", **call(1, args={HOSTILE: HOSTILE}, result=HOSTILE))
    page = page_of(User.objects.create_superuser("root"), run.id)
    assert "<img" not in page
    assert not [it for it in "\u202e\u200b\x07" if it in page]
    assert page.count("&lt;img src=x onerror=alert(1)&gt;\\u202eevil\\u200b\\x07") >= 4


def test_what_is_cut_says_so(fresh_db: FreshDatabase, run: Run) -> None:
    Run.objects.update(model_steps=1)
    tell(fresh_db.url, run, "step", **step(1, "w" * 50_000))
    page = page_of(User.objects.create_superuser("root"), run.id)
    assert "cut: the first 4000 of 50000 characters" in page
    assert "w" * 4001 not in page


def test_words_that_are_not_kept_are_said_to_be_so(fresh_db: FreshDatabase, run: Run) -> None:
    Run.objects.update(model_steps=1)
    tell(fresh_db.url, run, "step", **step(1, {"sha256": "0" * 64, "bytes": 12}))
    page = page_of(User.objects.create_superuser("root"), run.id)
    assert "not kept: 12 bytes" in page


def test_a_run_of_a_thousand_steps_is_shown_fifty_at_a_time(
    fresh_db: FreshDatabase, run: Run
) -> None:
    Run.objects.update(model_steps=STEPS)
    rows = [(run.correlation_id, it, run.id, json.dumps(step(it))) for it in range(1, STEPS + 1)]
    with psycopg.connect(fresh_db.url, autocommit=True) as writing, writing.cursor() as cursor:
        cursor.executemany(
            "INSERT INTO events_runevent (correlation_id, number, run_id, at, kind, mission, recording, content, hash)"
            " VALUES (%s, %s, %s, now(), 'step', 'm', 'full', %s, '\\x00')",
            rows,
        )
    root = User.objects.create_superuser("root")
    with CaptureQueriesContext(connection) as queries:
        first = page_of(root, run.id)
    assert len(queries) <= MOST_STATEMENTS
    last = page_of(root, run.id, "?steps=20")
    assert "page 1 of 20" in first
    assert [it in first for it in ("Step 1<", "Step 50<", "Step 51<")] == [True, True, False]
    assert [it in last for it in ("Step 950<", "Step 951<", "Step 1000<")] == [False, True, True]
    for asked in ("?steps=21", "?steps=99999999", "?steps=-1", "?steps=x", "?steps=%F0%9F%92%A9"):
        assert "of 20" in page_of(root, run.id, asked)


def test_a_run_that_there_is_not_leads_back_to_the_list(fresh_db: FreshDatabase) -> None:
    client = Client()
    client.force_login(User.objects.create_superuser("root"))
    assert client.get(f"/admin/runs/run/{UUID(int=1)}/change/").status_code == 302
