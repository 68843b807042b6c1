"""The console: what an operator sees, and what nobody can change there."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from html import unescape
from typing import Any
from uuid import UUID

import pytest
from django.contrib.admin import site
from django.contrib.auth.models import User
from django.core.cache import cache
from django.db import connection
from django.db.models.functions import Now
from django.test import Client
from django.test.utils import CaptureQueriesContext

from liyagent.access.keys import create_key, key_of
from liyagent.access.models import ApiKey
from liyagent.agents.models import Agent, AgentVersion
from liyagent.audit.models import AuditRow
from liyagent.audit.record import record
from liyagent.gateway.models import ToolServer
from liyagent.leases.models import Holder
from runs.models import Call, Run
from runs.start import start_run
from tests.databases import FreshDatabase

SINCE = datetime(2026, 11, 29, 18, 21, 7, tzinfo=UTC)
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
        "cause": "lapse",
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
    address, shown = "/admin/runs/run/", f"/admin/runs/run/{run.id}/change/"
    found = (f"q={run.id}", f"q={run.correlation_id}", "q=INC-7", "agent_key=triage", "status=running", "entry=api", "started=1h")  # fmt: skip
    for asked in found:
        assert shown in text(root.get(f"{address}?{asked}")), asked
    others = (
        "q=INC-8",
        f"q={UUID(int=1)}",
        "agent_key=other",
        "status=queued",
        "entry=cron",
        "error=lost",
    )
    for asked in others:
        assert shown not in text(root.get(f"{address}?{asked}")), asked


@pytest.mark.promise("CR-11")
def test_a_run_shows_its_lease_calls_and_takeovers(root: Client, run: Run) -> None:
    Run.objects.update(model_steps=1)
    page = text(root.get(f"/admin/runs/run/{run.id}/change/"))
    assert f"checkpoint:{run.id}" in page
    assert "web-&lt;1&gt;" in page
    assert "jira/create_issue: not sent again; the model was told it is unknown" in page
    assert "its lease lapsed" in page
    assert "the-step-key" in page
    assert 'name="_save"' not in page


def test_a_marked_call_leads_to_its_run_and_shows_no_bytes(root: Client, run: Run) -> None:
    page = text(root.get("/admin/runs/call/?q=the-step-key"))
    assert f'href="/admin/runs/run/{run.id}/change/?steps=1#call-1-0"' in page
    call = Call.objects.get()
    assert "sealed-bytes" not in text(root.get(f"/admin/runs/call/{call.pk}/change/"))


def test_the_list_of_calls_shows_those_in_doubt_until_others_are_chosen(
    root: Client, run: Run
) -> None:
    address = "/admin/runs/call/"

    def is_listed(asked: str) -> bool:
        return "the-step-key" in text(root.get(address + asked))

    assert [is_listed(it) for it in ("", "?doubt=unknown", "?doubt=unsettled", "?doubt=found")] == [True, True, False, False]  # fmt: skip
    Call.objects.update(fate="", settlement="")
    assert [is_listed(it) for it in ("", "?doubt=unknown", "?doubt=unsettled", "?doubt=found")] == [True, False, True, False]  # fmt: skip
    Call.objects.update(fate="unknown", late_finding="found")
    assert [is_listed(it) for it in ("", "?doubt=unknown", "?doubt=unsettled", "?doubt=found")] == [False, False, False, True]  # fmt: skip
    Call.objects.update(fate="done", late_finding="")
    assert [is_listed(it) for it in ("", "?doubt=done", "?doubt=failed", "?doubt=all")] == [False, True, False, True]  # fmt: skip
    assert is_listed("?doubt=all&q=the-step-key")
    assert is_listed(f"?doubt=all&q={run.id}")
    assert not is_listed("?doubt=all&q=another-key")


def test_a_run_with_writes_of_unknown_outcome_shows_how_many_and_is_found_by_it(
    root: Client, run: Run
) -> None:
    address = "/admin/runs/run/"
    shown = re.compile(r'field-unknown[^>]*>\s*<span class="liy-pill liy-bad">1</span>')
    with CaptureQueriesContext(connection) as alone:
        assert shown.search(text(root.get(f"{address}?writes=unknown")))
    other = start_run(
        agent_key="triage", task="Look.", entry="api", started_by="root", mission="", request_id="",
    ).run_id  # fmt: skip
    cache.clear()
    with CaptureQueriesContext(connection) as both:
        page = text(root.get(address))
    assert len(both) <= len(alone)
    assert len(shown.findall(page)) == 1
    assert f"/{other}/change/" in page
    assert f"/{other}/change/" not in text(root.get(f"{address}?writes=unknown"))
    Call.objects.update(late_finding="found")
    assert not shown.search(text(root.get(address)))
    assert f"/{run.id}/change/" not in text(root.get(f"{address}?writes=unknown"))


def test_a_time_has_seconds_and_a_zone(root: Client, run: Run) -> None:
    shown = f"{run.created_at:%Y-%m-%d %H:%M:%S}Z"
    assert shown in text(root.get("/admin/runs/run/"))
    assert shown in text(root.get(f"/admin/runs/run/{run.id}/change/"))


def state_shown(page: str) -> str:
    """The words of the first row's state."""
    found = re.search(r"field-state[^>]*>(.*?)</td>", page, re.DOTALL)
    assert found
    return " ".join(unescape(re.sub("<[^>]*>", " ", found[1])).split())


def test_a_server_says_whether_it_can_be_read(root: Client) -> None:
    ToolServer.objects.create(key="jira", url="http://127.0.0.1:1/mcp")
    address = "/admin/gateway/toolserver/"
    unread = "enabled catalogue never read: `manage.py servers sync jira` reads it"
    assert state_shown(text(root.get(address))) == unread
    ToolServer.objects.update(catalogue_read_at=SINCE)
    assert state_shown(text(root.get(address))) == "enabled catalogue read 2026-11-29 18:21:07Z"
    ToolServer.objects.update(catalogue_error="e" * 241, catalogue_error_since=SINCE)
    told = state_shown(text(root.get(address)))
    assert told.startswith("enabled catalogue unreadable since 2026-11-29 18:21:07Z: eee")
    assert told.endswith("ee…")
    ToolServer.objects.update(is_enabled=False)
    assert state_shown(text(root.get(address))).startswith("disabled catalogue unreadable")


def test_an_agent_says_its_state_in_words(root: Client, agent: Agent) -> None:
    address = "/admin/agents/agent/"
    assert state_shown(text(root.get(address))) == "ready"
    Agent.objects.update(is_enabled=False)
    assert state_shown(text(root.get(address))) == "switched off"
    Agent.objects.update(is_contained=True, contained_by="olga", contained_reason="wrong\nhost")
    assert state_shown(text(root.get(address))) == "contained by olga: wrong host"


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
    assert "max_steps: 50 → 9" in page


def test_an_agent_that_cannot_be_saved_is_shown_why(root: Client) -> None:
    page = text(
        root.post("/admin/agents/agent/add/", {**AGENT_FORM, "key": "triage", "run_as": "ghost"})
    )
    assert "the name of an active user" in page
    assert not Agent.objects.exists()


def test_agents_are_contained_and_released_after_a_question_but_not_deleted(
    root: Client, agent: Agent
) -> None:
    address = "/admin/agents/agent/"
    chosen = {"_selected_action": [agent.pk]}
    confirmed = {**chosen, "confirmed": "yes"}
    assert "Contain 1 agent" in text(root.post(address, {"action": "contain", **chosen}))
    assert "This field is required" in text(root.post(address, {"action": "contain", **confirmed}))
    agent.refresh_from_db()
    assert agent.is_contained is False
    root.post(address, {"action": "contain", "reason": "files twice", **confirmed})
    agent.refresh_from_db()
    assert (agent.contained_by, agent.contained_reason) == ("root", "files twice")
    assert "Release 1 agent" in text(root.post(address, {"action": "release", **chosen}))
    root.post(address, {"action": "release", **confirmed})
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
    chosen = {"action": "revoke", "_selected_action": [key.pk]}
    assert "Revoke 1 key" in text(root.post("/admin/access/apikey/", chosen))
    assert key_of(token) == key
    root.post("/admin/access/apikey/", {**chosen, "confirmed": "yes"})
    assert key_of(token) is None
