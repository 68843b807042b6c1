"""`/api/calls`: writes in doubt before an operator, and what a person says of them."""

from __future__ import annotations

import dataclasses
import re
from importlib import import_module
from types import SimpleNamespace
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from django.apps import apps
from django.conf import settings
from django.contrib.auth.models import Group
from django.db import connection
from django.test.utils import CaptureQueriesContext

from liyagent.agents.models import Agent
from liyagent.audit.models import AuditRow
from liyagent.gateway.contracts import forget_contracts
from liyagent.gateway.models import Tool, ToolServer
from runs.doubts import list_doubts
from runs.models import Call
from tests.databases import FreshDatabase, Template
from tests.flows.conftest import Api, api_of, make_user
from tests.flows.doubting import KEY, doubt, ended_run
from tests.flows.many import template_of_many

LIST = "/api/calls/in-doubt"
REASON = {"reason": "looked at the board"}
CALLS = """
INSERT INTO runs_call (run_id, correlation_id, step, index, provider_call_id, server, tool, intent, step_key,
    has_identity, key_window_seconds, intent_digest, attempt, holder, marked_at, deadline, sealed, fate, settlement,
    late_finding)
SELECT id, correlation_id, 1, 0, 'c', 'jira', 'create_issue', 'sending', id::text, true, 0, 'd', 1, gen_random_uuid(),
    created_at, created_at, '\\x00', CASE WHEN n % 20000 = 0 THEN 'unknown' WHEN n % 20000 = 1 THEN '' ELSE 'done' END,
    'answered', '' FROM (SELECT *, row_number() OVER (ORDER BY created_at) AS n FROM runs_run) AS r
"""


@pytest.fixture
def settler(fresh_db: FreshDatabase) -> Api:
    """One who may see marked calls and say what happened."""
    return api_of(make_user("sara", "runs.view_call", "runs.settle_call"))


@pytest.fixture
def viewer(fresh_db: FreshDatabase) -> Api:
    """One who may only see."""
    return api_of(make_user("vera", "runs.view_call", "transcripts.content.read"))


def ids(answer: Any) -> list[int]:
    assert answer.status == 200, answer.data
    return [call["id"] for call in answer.data["calls"]]


def refusal(answer: Any) -> tuple[int, str]:
    assert answer.headers["Content-Type"] == "application/problem+json"
    return answer.status, answer.data["code"]


def test_the_list_is_oldest_first_and_leads_on_over_both_states(settler: Api, agent: Agent) -> None:
    run = ended_run()
    made = [doubt(run, number=it, fate="unknown" if it % 2 else "").id for it in range(5)]
    doubt(run, number=5, late_finding="found")
    doubt(run, number=6, fate="done")
    assert ids(settler.get(LIST)) == made
    seen: list[int] = []
    path: str | None = f"{LIST}?limit=2"
    while path:
        answer = settler.get(path)
        seen += ids(answer)
        path = answer.data["next"]
    assert seen == made
    assert ids(settler.get(f"{LIST}?state=unknown")) == made[1::2]
    assert ids(settler.get(f"{LIST}?state=open")) == made[0::2]


def test_calls_marked_at_one_moment_are_told_once_each(settler: Api, agent: Agent) -> None:
    run = ended_run()
    made = [doubt(run, number=it).id for it in range(5)]
    Call.objects.update(marked_at="2026-11-29T03:00:00Z")
    first = settler.get(f"{LIST}?limit=3")
    assert ids(first) + ids(settler.get(first.data["next"])) == made


def test_the_list_is_narrowed_by_what_a_call_and_its_run_are(settler: Api, agent: Agent) -> None:
    mine = ended_run(mission="INC-1")
    first, second = doubt(mine), doubt(mine, number=1, server="slack", tool="post")
    other = doubt(ended_run(), number=2)
    narrowed = {
        "server=slack": [second.id],
        "tool=create_issue": [first.id, other.id],
        "mission=INC-1": [first.id, second.id],
        f"run={mine.id}": [first.id, second.id],
        "agent=triage&server=jira&mission=INC-1": [first.id],
        "agent=nobody": [],
    }
    for asked, found in narrowed.items():
        assert ids(settler.get(f"{LIST}?{asked}")) == found, asked


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ("state=lost", "unknown, open"),
        ("state=", "unknown, open"),
        ("server=", "wants a name"),
        ("tool=a%20b", "wants a name"),
        ("agent=a%20b", "wants a name"),
        ("run=7", "run's id"),
        ("mission=%0A", "letters"),
        ("limit=0", "1 to 200"),
        ("cursor=x", "unchanged"),
        ("cursor=WyIyMDI2IiwgIjEiXQ", "unchanged"),
        ("color=red", "color"),
        ("state=open&state=open", "2 times"),
    ],
)
def test_a_bad_filter_is_refused_naming_what_is_allowed(
    settler: Api, asked: str, says: str
) -> None:
    answer = settler.get(f"{LIST}?{asked}")
    assert refusal(answer) == (400, "input.bad")
    assert says in answer.data["detail"]


def test_a_page_looks_so_far_and_leads_on(
    settler: Api, agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("runs.doubts.MOST_LOOKED_THROUGH", 3)
    monkeypatch.setattr("runs.doubts.LOOKED_AT_ONCE", 2)
    run = ended_run()
    for number in range(4):
        doubt(run, number=number)
    last = doubt(run, number=4, server="slack")
    first = settler.get(f"{LIST}?server=slack")
    assert (ids(first), ids(settler.get(first.data["next"]))) == ([], [last.id])


def test_no_list_reads_a_body(settler: Api, agent: Agent) -> None:
    doubt(ended_run())
    with CaptureQueriesContext(connection) as queries:
        settler.get(LIST)
    read = " ".join(it["sql"] for it in queries)
    assert "late_finding" in read
    for body in ('"sealed"', '"outcome"', '"seal"'):
        assert body not in read


def test_one_call_tells_what_is_known_and_what_to_do_in_a_line_each(
    settler: Api, agent: Agent
) -> None:
    call = doubt(ended_run(mission="INC-1"))
    told = settler.get(f"/api/calls/{call.id}").data
    assert told["state"] == "unknown"
    assert told["known"].startswith("It was sent, or may have been, and nobody knows")
    assert told["to_do"].startswith("Look at jira for what was made")
    assert (told["agent"], told["mission"], told["run_status"], told["run_lives"]) == (
        "triage", "INC-1", "answered", False,
    )  # fmt: skip
    assert (told["step_key"], told["intent"], told["has_reader"]) == (KEY, "sending", False)


def test_an_open_mark_says_that_its_run_settles_it(settler: Api, agent: Agent) -> None:
    run = ended_run(status="queued")
    call = doubt(run, fate="", settlement="", late_finding="")
    told = settler.get(f"/api/calls/{call.id}").data
    assert (told["state"], told["run_lives"]) == ("open", True)
    assert "waits for a process" in told["known"]
    assert told["to_do"] == "Wait: nobody can settle it but its run."
    held = doubt(
        run, number=1, fate="", settlement="", late_finding="", intent="held", approval_id=uuid4()
    )
    told = settler.get(f"/api/calls/{held.id}").data
    assert (told["state"], told["known"]) == ("waits", "It was not sent: it is held for a person.")


def test_exact_arguments_are_for_who_may_read_words_and_a_missing_key_is_told(
    viewer: Api, agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    call = doubt(ended_run())
    told = viewer.get(f"/api/calls/{call.id}").data
    assert told["args"] == {"title": "disk 4 is full"}
    Call.objects.update(tool="delete_issue")
    told = viewer.get(f"/api/calls/{call.id}").data
    assert told["args"] is None
    assert "does not verify" in told["args_missing"]
    conf = dataclasses.replace(settings.LIYAGENT, seal_keys=(("other", bytes(32)),))
    monkeypatch.setattr(settings, "LIYAGENT", conf)
    told = viewer.get(f"/api/calls/{call.id}").data
    assert (told["args"], told["args_missing"]) == (None, "its sealing key 'k1' is not here")


def test_who_says_what_happened_sees_what_was_sent(settler: Api, agent: Agent) -> None:
    told = settler.get(f"/api/calls/{doubt(ended_run()).id}").data
    assert told["args"] == {"title": "disk 4 is full"}
    looker = api_of(make_user("vic", "runs.view_call"))
    assert "args" not in looker.get(f"/api/calls/{Call.objects.get().id}").data


def test_it_happened_is_said_once_with_its_result(settler: Api, agent: Agent) -> None:
    call = doubt(ended_run())
    answer = settler.post(f"/api/calls/{call.id}/happened", {**REASON, "result": {"key": "OPS-7"}})
    assert answer.status == 200
    said = {
        name: answer.data[name] for name in ("state", "fate", "settled_by", "withdrawn", "waiting")
    }
    assert said == {
        "state": "settled",
        "fate": "done",
        "settled_by": "sara",
        "withdrawn": [],
        "waiting": [],
    }
    assert answer.data["known"] == "sara said that it happened: looked at the board"
    again = settler.post(f"/api/calls/{call.id}/did-not", REASON)
    assert refusal(again) == (409, "call.settled")
    assert again.data["detail"].startswith("sara said that it happened")
    row = AuditRow.objects.get(action="agent.call.settled_by_person")
    assert (row.actor, row.detail["reason"]) == ("sara", "looked at the board")
    assert ids(settler.get(LIST)) == []


def test_it_did_not_and_a_result_that_is_left_out(settler: Api, agent: Agent) -> None:
    run = ended_run()
    first, second = doubt(run), doubt(run, number=1)
    assert settler.post(f"/api/calls/{first.id}/did-not", REASON).data["fate"] == "failed"
    assert settler.post(f"/api/calls/{second.id}/happened", REASON).data["fate"] == "done"


def test_each_refusal_is_a_problem_of_its_own(settler: Api, agent: Agent) -> None:
    run = ended_run(status="queued")
    opened = doubt(run, fate="", settlement="", late_finding="")
    found = doubt(run, number=1, late_finding="found")
    unknown = doubt(run, number=2)
    done = doubt(run, number=3, fate="done", settlement="answered")
    refused = {
        f"/api/calls/{opened.id}/did-not": (409, "call.under_way"),
        f"/api/calls/{opened.id}/happened": (409, "call.under_way"),
        f"/api/calls/{found.id}/did-not": (409, "call.found"),
        f"/api/calls/{unknown.id}/look-again": (409, "call.no_reader"),
        f"/api/calls/{done.id}/look-again": (409, "call.settled"),
        "/api/calls/777/did-not": (404, "call.not_found"),
        f"/api/calls/{1 << 70}/did-not": (404, "call.not_found"),
    }
    for address, problem in refused.items():
        assert refusal(settler.post(address, REASON)) == problem, address
    assert refusal(settler.get(f"/api/calls/{1 << 70}")) == (404, "call.not_found")
    bodies: tuple[Any, ...] = (
        {},
        {"reason": ""},
        {"reason": "x" * 501},
        {"reason": "a\nb"},
        {"reason": 7},
        {**REASON, "why": 1},
        [],
    )
    for body in bodies:
        assert settler.post(f"/api/calls/{unknown.id}/did-not", body).status == 400, body
    assert not AuditRow.objects.filter(action="agent.call.settled_by_person").exists()


def test_a_look_is_asked_for_where_the_tool_can_be_read_back(settler: Api, agent: Agent) -> None:
    server = ToolServer.objects.create(key="jira", transport="local")
    reader = {
        "tool": "jira/find",
        "args": {"key": "{{ key }}"},
        "match": {"records": "", "field": "key"},
    }
    Tool.objects.create(server=server, name="create_issue", reader=reader)
    forget_contracts()
    call = doubt(ended_run(), late_finding="not_found")
    assert "showed no single record" in settler.get(f"/api/calls/{call.id}").data["known"]
    Call.objects.update(late_finding="not_asked")
    assert "could not be asked for a day" in settler.get(f"/api/calls/{call.id}").data["known"]
    answer = settler.post(f"/api/calls/{call.id}/look-again", REASON)
    assert (answer.status, answer.data["late_finding"]) == (200, "")
    assert answer.data["late_look_at"] is not None
    assert "asked once more" in answer.data["known"]


def test_only_who_may_settle_says_what_happened(viewer: Api, stranger: Api, agent: Agent) -> None:
    call = doubt(ended_run())
    for verb in ("happened", "did-not", "look-again"):
        answer = viewer.post(f"/api/calls/{call.id}/{verb}", REASON)
        assert answer.status == 403
        assert "runs.settle_call" in answer.data["detail"]
    for path in (LIST, f"/api/calls/{call.id}"):
        assert stranger.get(path).status == 403
        assert Api().get(path).status == 401
    call.refresh_from_db()
    assert call.fate == "unknown"


def test_operators_and_approvers_may_settle_also_those_of_an_earlier_release(
    fresh_db: FreshDatabase,
) -> None:
    def may() -> set[str]:
        there = Group.objects.filter(permissions__codename="settle_call")
        return set(there.values_list("name", flat=True))

    assert may() == {"operator", "approver"}
    for group in Group.objects.all():
        group.permissions.remove(*group.permissions.filter(codename="settle_call"))
    migration = import_module("runs.migrations.0009_operators_and_approvers_settle")
    migration.give(apps, SimpleNamespace(connection=connection))
    assert may() == {"operator", "approver"}


class TestOfMany:
    """200,000 marked calls, ten of them unknown and ten open."""

    @pytest.fixture
    def cloned_from(self, migrated_template: Template) -> str:
        return template_of_many(migrated_template)

    @pytest.mark.timeout(240)  # for the filling
    def test_ten_in_doubt_cost_ten(self, fresh_db: FreshDatabase) -> None:
        with psycopg.connect(fresh_db.url, autocommit=True) as filling:
            filling.execute(CALLS)
            filling.execute("VACUUM ANALYZE runs_call")
        with CaptureQueriesContext(connection) as queries:
            page = list_doubts({"limit": "50", "server": "jira"})
            assert len(page.doubts) == 20
        asked = [it["sql"] for it in queries if it["sql"].startswith("SELECT")]
        assert len(asked) == 3
        with connection.cursor() as cursor:
            for statement in asked:
                cursor.execute(f"EXPLAIN (ANALYZE, TIMING OFF) {statement}")
                plan = "\n".join(row[0] for row in cursor.fetchall())
                met = re.findall(r"Scan.*actual rows=(\d+)|Removed by \w+: (\d+)", plan)
                assert sum(int(rows or removed) for rows, removed in met) <= 40, plan
                assert "Seq Scan" not in plan, plan
