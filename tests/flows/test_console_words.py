"""What pages say is said in words: of empty lists, of one marked write, of processes, of events, of states."""

from __future__ import annotations

import json
import re
from html import unescape
from typing import Any

import psycopg
import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.db.models.functions import Now
from django.test import Client

from liyagent.agents.admin import EXAMPLES
from liyagent.agents.fields import CHECKS
from liyagent.agents.models import Agent
from liyagent.audit.admin import lines_of
from liyagent.audit.record import record
from liyagent.gateway.models import Tool, ToolServer
from liyagent.leases.models import Holder, Lease
from runs.models import Call, Run
from runs.start import start_run
from tests.databases import FreshDatabase

HOSTILE = "<b>\u202eevil\u200b\nactor: olga"
EMPTY = {
    "runs/run": "No run was started yet.",
    "runs/call": "No write is in doubt.",
    "agents/agent": "There is no agent yet",
    "gateway/toolserver": "There is no tool server yet",
    "gateway/tool": "There is no tool yet",
    "gateway/policy": "There is no policy yet",
    "gateway/datapolicy": "There is no data policy yet",
    "audit/auditrow": "Nothing was recorded yet.",
    "access/apikey": "There is no key yet",
    "leases/holder": "No process lives now",
    "leases/lease": "No right is leased now.",
}
CRUMBS = re.compile(r'<h1 class="overflow-hidden.*?</h1>', re.DOTALL)


@pytest.fixture
def root(fresh_db: FreshDatabase) -> Client:
    client = Client()
    client.force_login(User.objects.create_superuser("root"))
    return client


@pytest.fixture
def run(agent: Agent) -> Run:
    run_id = start_run(
        agent_key="triage", task="t", entry="api", started_by="", mission="", request_id="",
    ).run_id  # fmt: skip
    Run.objects.update(model_steps=51)
    return Run.objects.get(id=run_id)


@pytest.fixture
def call(run: Run) -> Call:
    """A write of unknown outcome, on the second page of its run."""
    return Call.objects.create(
        run_id=run.id, correlation_id=run.correlation_id, step=51, index=1, server="jira", tool="create_issue",
        intent="sending", step_key="the-step-key", has_identity=True, key_window_seconds=7200, intent_digest="d" * 64,
        attempt=1, holder=run.id, marked_at=Now(), deadline=Now(), sealed=b"s", fate="unknown",
        settlement="told_unknown", late_finding="no_reader",
    )  # fmt: skip


def html(client: Client, address: str) -> str:
    response = client.get(f"/admin/{address}")
    assert response.status_code == 200
    return str(response.content.decode())


def words(page: str) -> str:
    """What a page shows, its markup taken out."""
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", page)).split())


def crumbs(page: str) -> str:
    found = CRUMBS.search(page)
    assert found
    return words(found[0])


@pytest.mark.parametrize("address", EMPTY)
def test_an_empty_list_says_what_that_means(root: Client, address: str) -> None:
    page = words(html(root, f"{address}/"))
    assert EMPTY[address] in page
    assert "yielded" not in page
    assert "clear search and filters" not in page.lower()


def test_a_choice_that_nothing_matches_says_so(root: Client) -> None:
    for asked in ("runs/call/?doubt=found", "runs/run/?q=INC-7", "runs/run/?status=failed"):
        page = words(html(root, asked))
        assert "Nothing in this list matches what was chosen." in page, asked
        assert "clear search and filters" in page
        assert "No write is in doubt" not in page


def test_no_crumb_is_told_twice(root: Client, run: Run, call: Call) -> None:
    told = {it: crumbs(html(root, f"{it}/")) for it in EMPTY}
    assert told["runs/run"] == "Runs 1 result"
    assert told["leases/lease"] == "Leases 0 results"
    assert told["runs/call"].startswith("Runs chevron_right Calls")
    name = crumbs(html(root, f"runs/call/{call.pk}/change/"))
    assert name.endswith(f"Calls chevron_right jira/create_issue of {run.id}")
    assert "Runs chevron_right Runs" not in crumbs(html(root, f"runs/run/{run.id}/change/"))


def test_a_write_in_doubt_leads_to_its_line_of_its_run_and_then_to_its_own_page(
    root: Client, run: Run, call: Call
) -> None:
    links = re.findall(r'href="(/admin/runs/(?:run|call)/[^"]+/change/[^"]*)"', html(root, "runs/call/"))  # fmt: skip
    in_run = f"/admin/runs/run/{run.id}/change/?steps=2#call-51-1"
    assert unescape(links[0]) == in_run
    assert links[1].split("?")[0] == f"/admin/runs/call/{call.pk}/change/"
    shown = html(root, f"runs/run/{run.id}/change/?steps=2")
    assert 'id="call-51-1"' in shown
    assert 'href="?steps=2#call-51-1"' in shown


def test_the_page_of_a_write_speaks_as_the_list_does(root: Client, call: Call) -> None:
    page = html(root, f"runs/call/{call.pk}/change/")
    first = next(it for it in re.findall(r'href="([^"]*)"', page.split('id="content-main"')[1]))
    assert f"/runs/run/{call.run_id}/change/" in first
    shown = words(page)
    told = (
        "not sent again; the model was told it is unknown",
        "its tool cannot be read back",
        "about to be sent",
        "for 2 h",
        "the same at each sending",
        "none was asked for",
        "the-step-key",
    )
    assert [it for it in told if it not in shown] == []
    raw = ("told_unknown", "no_reader", "Has identity", "Key window", "Approval id", "Intent")
    assert [it for it in raw if it in shown] == []


def test_details_of_the_audit_log_are_lines_and_no_value_passes_for_one(root: Client) -> None:
    detail = {
        "agent": "triage",
        "reason": HOSTILE,
        "is_held": True,
        "calls": [{"index": 0, "call": "jira/find"}],
        "tools": ["a", "b"],
        HOSTILE: 1,
    }
    assert lines_of(detail) == [
        "agent: triage",
        "reason: <b>\\u202eevil\\u200b\\nactor: olga",
        "is_held: yes",
        "calls:",
        "  1:",
        "    index: 0",
        "    call: jira/find",
        "tools: a, b",
        "<b>\\u202eevil\\u200b\\nactor: olga: 1",
    ]
    deep: Any = 1
    for _ in range(100):
        deep = {"in": deep}
    assert len(lines_of({"deep": deep})) < 10
    record("agent.contained", actor="root", detail=detail)
    page = html(root, "audit/auditrow/")
    assert "reason: &lt;b&gt;\\u202eevil\\u200b\\nactor: olga\n" in page
    assert not [it for it in "\u202e\u200b" if it in page]


def test_processes_say_what_they_are_and_by_which_lock_they_live(root: Client) -> None:
    facts = {"boot_id": "b", "pid_namespace": "p", "started_ticks": 1}
    Holder.objects.create(name="locked", pid=1, renew_by=Now(), created_at=Now(), life_lock=4711, backend_pid=99, **facts)  # fmt: skip
    Holder.objects.create(name="lapsing", pid=2, renew_by=Now(), created_at=Now(), **facts)
    page = words(html(root, "leases/holder/"))
    assert "A holder is one life of one process" in page
    assert "life-lock 4711 kept by session 99" in page
    assert "no life-lock" in page
    Lease.objects.create(name="job:sweep", holder=Holder.objects.all()[0].id, until=Now())
    assert "A lease is a named right" in words(html(root, "leases/lease/"))


def test_events_are_told_in_words(root: Client, fresh_db: FreshDatabase, run: Run) -> None:
    calls = [{"index": 0, "call": "jira/create_issue", "settlement": "read_back"}]
    content = {"attempt": 2, "step": 0, "losses": 1, "cause": "proof", "holder": "B", "calls": calls}  # fmt: skip
    with psycopg.connect(fresh_db.url, autocommit=True) as writing:
        writing.execute(
            "INSERT INTO events_runevent (correlation_id, number, run_id, at, kind, mission, recording, content, hash)"
            " VALUES (%s, 1, %s, now(), 'run.resumed', 'm', 'full', %s, '\\x00')",
            [run.correlation_id, run.id, json.dumps(content)],
        )
        writing.execute(
            "INSERT INTO events_runevent (correlation_id, number, run_id, at, kind, mission, recording, content, hash)"
            " VALUES (%s, 2, %s, now(), 'run.ended', 'm', 'full', '{\"calls\": 3, \"unsettled\": []}', '\\x00')",
            [run.correlation_id, run.id],
        )
    Run.objects.update(losses=1, last_loss="proof")
    page = words(html(root, f"runs/run/{run.id}/change/"))
    assert "Taken over after a loss" in page
    assert "how the death was seen: proven dead by a neighbour on the same host" in page
    assert "calls that were left: jira/create_issue: looked for at the vendor" in page
    assert "calls: 3" in page
    assert "calls not settled: none" in page
    assert "the last one: proven dead by a neighbour" in page
    assert "Taken over after a loss" in words(html(root, f"events/?q={run.id}"))


def test_the_form_of_an_agent_shows_examples_that_it_takes(root: Client) -> None:
    page = words(html(root, "agents/agent/add/"))
    assert set(EXAMPLES) == {"channels", "tool_patterns", "compensations", "guardrails", "hooks"}
    for name, (told, example) in EXAMPLES.items():
        CHECKS[name](example)
        assert f"{told} Example: {json.dumps(example)}" in page


def test_states_of_servers_and_tools_are_the_words_of_the_shell(
    root: Client, capsys: pytest.CaptureFixture[str]
) -> None:
    server = ToolServer.objects.create(key="jira", url="http://127.0.0.1:1/mcp")
    Tool.objects.create(server=server, name="create_issue", fingerprint="b" * 64)
    listed = words(html(root, "gateway/tool/"))
    call_command("tools", "list")
    assert "offered, to approve" in listed
    assert "offered, to approve" in capsys.readouterr().out
    told = "never read: `manage.py servers sync jira` reads it"
    call_command("servers", "list")
    assert told in capsys.readouterr().out
    shown = words(html(root, "gateway/toolserver/"))
    assert f"enabled catalogue {told}" in shown
    Tool.objects.update(is_offered=False)
    assert "not offered" in words(html(root, "gateway/tool/"))
