"""The console: what an operator sees, and what nobody can change there."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from html import unescape
from typing import Any

import pytest
from django.contrib.admin import site
from django.contrib.auth.models import User
from django.db import connection
from django.db.models.functions import Now
from django.test import Client
from django.test.utils import CaptureQueriesContext

from liyagent.access.keys import create_key, key_of
from liyagent.access.models import ApiKey
from liyagent.agents.models import Agent, AgentVersion
from liyagent.audit.models import AuditRow
from liyagent.audit.record import record
from liyagent.console.templatetags import attention
from liyagent.gateway.models import ToolServer
from liyagent.leases.models import Holder
from runs.models import Call, Run
from runs.start import start_run
from tests.databases import FreshDatabase

AGENT_FORM = {
    "name": "Triage",
    "provider": "scripted",
    "base_url": "",
    "api_key_env": "",
    "model": "m",
    "model_timeout_seconds": "120",
    "instructions": "",
    "tool_patterns": '["jira/*"]',
    "write_posture": "hold",
    "recording": "metadata",
    "max_steps": "50",
    "max_calls": "500",
    "max_tokens": "0",
    "max_seconds": "0",
    "max_answer_tokens": "0",
    "guardrails": "",
    "hooks": "[]",
    "owner": "",
    "channels": '["*"]',
    "run_as": "",
    "is_enabled": "on",
    "versions-TOTAL_FORMS": "0",
    "versions-INITIAL_FORMS": "0",
}


@pytest.fixture
def root(fresh_db: FreshDatabase) -> Client:
    """A superuser, logged in."""
    client = Client()
    client.force_login(User.objects.create_superuser("root"))
    return client


@pytest.fixture
def run(agent: Agent) -> Run:
    """A running run with a marked call and a takeover."""
    holder = Holder.objects.create(
        name="web-<1>", boot_id="b", pid_namespace="p", pid=1, started_ticks=1,
        renew_by=Now(), created_at=Now(),
    )  # fmt: skip
    run_id = start_run(
        agent_key="triage", task="Look.", entry="api", started_by="root", mission="INC-7", request_id="",
    ).run_id  # fmt: skip
    Run.objects.filter(id=run_id).update(status="running", holder=holder.id, attempt=2, losses=1)
    Call.objects.create(
        run_id=run_id, correlation_id=run_id, step=1, index=0, server="jira", tool="create_issue",
        intent="sending", step_key="the-step-key", has_identity=True, intent_digest="d", attempt=1,
        holder=holder.id, marked_at=Now(), deadline=Now(), sealed=b"sealed-bytes", fate="unknown",
        settlement="told_unknown",
    )  # fmt: skip
    calls = [{"index": 0, "call": "jira/create_issue", "settlement": "told_unknown"}]
    detail = {
        "attempt": 2,
        "step": 1,
        "losses": 1,
        "cause": "lapsed",
        "holder": "web-2",
        "calls": calls,
    }
    record("agent.run.crash_resumed", actor="system", run_id=run_id, detail=detail)
    return Run.objects.get(id=run_id)


def text(response: Any) -> str:
    assert response.status_code == 200
    return str(response.content.decode())


def test_the_list_of_runs_names_holder_and_mission_and_reads_no_seal(
    root: Client, run: Run
) -> None:
    with CaptureQueriesContext(connection) as queries:
        page = text(root.get("/admin/runs/run/"))
    assert str(run.id) in page
    assert "web-&lt;1&gt;" in page
    assert "INC-7" in page
    on_runs = [it["sql"] for it in queries if 'FROM "runs_run"' in it["sql"]]
    assert not [it for it in on_runs if '"seal"' in it]
    counts = [it for it in on_runs if it.startswith("SELECT COUNT")]
    assert counts
    assert all("LIMIT 5000" in it for it in counts)
    assert not [it for it in on_runs if "DISTINCT" in it]


def test_runs_are_found_by_id_and_filtered(root: Client, run: Run) -> None:
    assert str(run.id) in text(root.get(f"/admin/runs/run/?q={run.id}"))
    assert "0 runs" in text(root.get("/admin/runs/run/?q=INC-8"))
    assert "0 runs" in text(root.get("/admin/runs/run/?status__exact=queued"))
    assert str(run.id) in text(root.get("/admin/runs/run/?agent_key=triage"))
    assert "0 runs" in text(root.get("/admin/runs/run/?agent_key=other"))


@pytest.mark.promise("CR-11")
def test_a_run_shows_its_lease_calls_and_takeovers(root: Client, run: Run) -> None:
    page = text(root.get(f"/admin/runs/run/{run.id}/change/"))
    assert f"checkpoint:{run.id}: web-&lt;1&gt;" in page
    assert "<td>create_issue</td>" in page
    assert "jira/create_issue: told_unknown" in page
    assert 'name="_save"' not in page


def test_a_marked_call_leads_to_its_run_and_shows_no_bytes(root: Client, run: Run) -> None:
    page = text(root.get("/admin/runs/call/?q=the-step-key"))
    assert f'href="/admin/runs/run/{run.id}/change/"' in page
    call = Call.objects.get()
    assert "sealed-bytes" not in text(root.get(f"/admin/runs/call/{call.pk}/change/"))


def test_calls_are_filtered_by_what_became_of_them(root: Client, run: Run) -> None:
    address = "/admin/runs/call/"
    assert str(run.id) in text(root.get(f"{address}?fate=unknown"))
    assert "0 calls" in text(root.get(f"{address}?fate=in-flight"))
    Call.objects.update(fate="", settlement="")
    assert str(run.id) in text(root.get(f"{address}?fate=in-flight"))


def test_a_run_with_writes_of_unknown_outcome_shows_how_many_and_is_found_by_it(
    root: Client, run: Run
) -> None:
    address = "/admin/runs/run/"
    with CaptureQueriesContext(connection) as alone:
        page = text(root.get(f"{address}?writes=unknown"))
    assert '<td class="field-unknown">1</td>' in page
    start_run(
        agent_key="triage", task="Look.", entry="api", started_by="root", mission="", request_id="",
    )  # fmt: skip
    assert str(run.id) in page
    with CaptureQueriesContext(connection) as both:
        page = text(root.get(address))
    assert len(both) == len(alone)
    assert page.count('<td class="field-unknown">0</td>') == 1
    assert "1 run\n" in text(root.get(f"{address}?writes=unknown"))
    assert str(run.id) in text(root.get("/admin/runs/call/?fate=not-found"))
    Call.objects.update(late_finding="found")
    assert '<td class="field-unknown">1</td>' not in text(root.get(address))
    assert "0 runs" in text(root.get(f"{address}?writes=unknown"))
    assert "0 calls" in text(root.get("/admin/runs/call/?fate=not-found"))


def test_the_first_page_counts_and_leads_to_what_wants_a_look(root: Client, run: Run) -> None:
    start_run(
        agent_key="triage", task="t", entry="api", started_by="", mission="", request_id="",
    )  # fmt: skip
    Run.objects.exclude(id=run.id).update(status="failed")
    page = text(root.get("/admin/"))
    line = re.search(r'<p id="attention">(.*)</p>', page)
    assert line
    links = dict(re.findall(r'href="([^"]*)">([^<]*)<', line[1]))
    assert list(links.values()) == [
        "calls of unknown outcome: 1",
        "running runs: 1",
        "failed runs of the last 24 hours: 1",
    ]
    for address, noun in zip(links, ("call", "run", "run"), strict=True):
        assert f"1 {noun}\n" in text(root.get(unescape(address)))
    Call.objects.update(late_finding="found")
    assert "calls of unknown outcome: 0" in text(root.get("/admin/"))


def test_the_first_page_counts_no_further_than_a_thousand(
    root: Client, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(attention, "MOST_COUNTED", 0)
    with CaptureQueriesContext(connection) as queries:
        page = text(root.get("/admin/"))
    assert "running runs: more than 0" in page
    counts = [it["sql"] for it in queries if it["sql"].startswith("SELECT COUNT")]
    assert len(counts) == 3
    assert all("LIMIT 1)" in it for it in counts)


def test_the_first_page_counts_nothing_for_one_who_may_not_see_it(run: Run) -> None:
    client = Client()
    client.force_login(User.objects.create_user("stan", is_staff=True))
    assert "attention" not in text(client.get("/admin/"))


def test_a_time_has_seconds_and_a_zone(root: Client, run: Run) -> None:
    shown = f"{run.created_at:%Y-%m-%d %H:%M:%S}Z"
    assert shown in text(root.get("/admin/runs/run/"))
    assert shown in text(root.get(f"/admin/runs/run/{run.id}/change/"))


def test_a_server_says_first_whether_it_can_be_read(root: Client) -> None:
    since = datetime(2026, 11, 29, 18, 21, 7, tzinfo=UTC)
    server = ToolServer.objects.create(key="jira", url="http://127.0.0.1:1/mcp")
    state = '<td class="field-state">{}</td>'.format
    address = "/admin/gateway/toolserver/"
    assert state("not read yet") in text(root.get(address))
    ToolServer.objects.update(catalogue_read_at=since)
    page = text(root.get(address))
    assert page.index(state("ok")) < page.index(server.url)
    ToolServer.objects.update(catalogue_error="e" * 61, catalogue_error_since=since)
    told = state(f"unreadable since 2026-11-29 18:21:07Z: {'e' * 60}")
    assert told in text(root.get(address))
    ToolServer.objects.update(is_enabled=False)
    assert state("switched off") in text(root.get(address))


def test_an_agent_says_its_state_in_words(root: Client, agent: Agent) -> None:
    state = '<td class="field-state">{}</td>'.format
    address = "/admin/agents/agent/"
    assert state("ready") in text(root.get(address))
    Agent.objects.update(is_enabled=False)
    assert state("switched off") in text(root.get(address))
    Agent.objects.update(is_contained=True, contained_reason="wrong\nhost")
    assert state("contained: wrong host") in text(root.get(address))


def test_holders_are_shown(root: Client, run: Run) -> None:
    assert "web-&lt;1&gt;" in text(root.get("/admin/leases/holder/"))


def test_nobody_changes_runs_calls_holders_or_audit_rows(root: Client, run: Run) -> None:
    for address in ("runs/run", "runs/call", "leases/holder", "audit/auditrow"):
        assert root.get(f"/admin/{address}/add/").status_code == 403
    for address in (f"runs/run/{run.id}", f"runs/call/{Call.objects.get().pk}"):
        assert root.post(f"/admin/{address}/change/", {}).status_code == 403
        assert root.post(f"/admin/{address}/delete/", {"post": "yes"}).status_code == 403
    assert Run.objects.get().mission == "INC-7"


def test_the_queues_own_models_are_not_in_the_console() -> None:
    labels = {model._meta.app_label for model in site._registry}
    assert "django_q" not in labels
    assert {"runs", "agents", "access", "leases", "audit"} <= labels


def test_saving_an_agent_goes_through_the_verb(root: Client) -> None:
    added = root.post("/admin/agents/agent/add/", {**AGENT_FORM, "key": "triage"})
    assert added.status_code == 302, re.findall(r"errorlist.*", added.content.decode())
    agent = Agent.objects.get()
    assert (agent.version, agent.tool_patterns) == (1, ["jira/*"])
    address = f"/admin/agents/agent/{agent.pk}/change/"
    assert root.post(address, {**AGENT_FORM, "max_steps": "9"}).status_code == 302
    agent.refresh_from_db()
    assert (agent.key, agent.version, agent.max_steps) == ("triage", 2, 9)
    actors = AuditRow.objects.filter(action="agent.saved").values_list("actor", flat=True)
    assert list(actors) == ["root", "root"]
    assert AgentVersion.objects.count() == 2
    page = text(root.get(address))
    assert "&quot;max_steps&quot;: 9" in page


def test_an_agent_that_cannot_be_saved_is_shown_why(root: Client) -> None:
    page = text(
        root.post("/admin/agents/agent/add/", {**AGENT_FORM, "key": "triage", "run_as": "ghost"})
    )
    assert "the name of an active user" in page
    assert not Agent.objects.exists()


def test_agents_are_contained_and_released_but_not_deleted(root: Client, agent: Agent) -> None:
    address = "/admin/agents/agent/"
    chosen = {"_selected_action": [agent.pk]}
    root.post(address, {"action": "contain", **chosen})
    agent.refresh_from_db()
    assert (agent.is_contained, agent.contained_by) == (True, "root")
    root.post(address, {"action": "release", **chosen})
    agent.refresh_from_db()
    assert agent.is_contained is False
    assert root.post(f"{address}{agent.pk}/delete/", {"post": "yes"}).status_code == 403


def test_keys_are_revoked_in_the_console_and_never_shown(root: Client) -> None:
    token = create_key(name="ci", username="root").token
    key = ApiKey.objects.get()
    listed = text(root.get("/admin/access/apikey/"))
    shown = text(root.get(f"/admin/access/apikey/{key.pk}/change/"))
    assert key.prefix in listed
    for page in (listed, shown):
        assert token[17:] not in page
        assert key.secret_hash not in page
    assert root.get("/admin/access/apikey/add/").status_code == 403
    root.post("/admin/access/apikey/", {"action": "revoke", "_selected_action": [key.pk]})
    assert key_of(token) is None
