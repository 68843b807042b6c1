"""Missions in the console: their list, and one page that tells the story of each."""

from __future__ import annotations

import html
import json

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from liyagent.agents.models import Agent
from liyagent.approvals.models import Approval
from liyagent.audit.record import record
from runs.models import Run
from runs.start import start_run
from tests.databases import FreshDatabase
from tests.flows.doubting import doubt
from tests.flows.holding import filed
from tests.flows.test_audit_console import client_of
from tests.unit.events.seals.chains import new_chain

LIST, PAGE = "/admin/missions/mission/", "/admin/mission/INC-1/"
ALL = ("runs.view_run", "runs.view_call", "approvals.view_approval", "audit.view_auditrow", "agents.view_agent", "tickets.view_ticket")  # fmt: skip


@pytest.fixture
def olga(fresh_db: FreshDatabase) -> Client:
    """One who may see everything of a mission."""
    return client_of("olga", *ALL)


@pytest.fixture
def run(agent: Agent) -> Run:
    """A run of mission INC-1, with a request, a write in doubt and a row of hostile facts."""
    started = start_run(
        agent_key="triage", task="the secret disk", entry="api", started_by="ann", mission="INC-1", request_id="req-1"
    )  # fmt: skip
    run = Run.objects.get(id=started.run_id)
    filed(run)
    doubt(run)
    record(
        "test.odd",
        actor="<script>alert(1)</script>\u202e",
        mission="INC-1",
        detail={"<b>": "</dd><script>alert(2)</script>", "long": "x" * 9000},
    )
    return run


def seen(client: Client, address: str, status: int = 200) -> str:
    answer = client.get(address)
    assert answer.status_code == status, answer.content[:500]
    return html.unescape(answer.content.decode())


def test_a_mission_is_listed_and_leads_to_one_page_with_all_of_it(olga: Client, run: Run) -> None:
    assert "/admin/missions/mission/INC-1/change/" in seen(olga, LIST)
    assert olga.get(f"{LIST}INC-1/change/").headers["Location"] == PAGE
    page = seen(olga, PAGE)
    approval = Approval.objects.get()
    for told in (
        "First seen", "agent triage was asked by api; the run is queued", "a person was asked about jira/create_issue",
        f"/admin/approvals/approval/{approval.id}/change/", "nobody knows whether it took effect", "agent.run.started by ann",
        f"/admin/runs/run/{run.id}/change/", "/admin/audit/auditrow/?mission=INC-1", "/admin/runs/run/?q=INC-1",
    ):  # fmt: skip
        assert told in page, told
    assert "secret disk" not in page


def test_an_event_leads_to_its_place_in_its_runs_timeline(olga: Client, run: Run) -> None:
    other = new_chain(2, mission="INC-1")
    page = seen(olga, f"{PAGE}?source=events")
    for number in (1, 2):
        assert f'href="/admin/runs/run/{other}/change/?event={number}#event-{number}"' in page


@pytest.mark.promise("MI-06")
def test_events_are_told_in_the_words_of_a_run_s_page(olga: Client, run: Run) -> None:
    call = {"step": 1, "index": 0, "server": "jira", "tool": "create_issue"}
    events = {
        "run.started": {},
        "step": {"step": 3, "output_tokens": 5},
        "run.resumed": {"losses": 1, "cause": "hint"},
        "tool.call": {**call, "fate": "unknown"},
        "approval.decided": {**call, "decision": "approved", "by": "agent:" + "x" * 30},
        "call.settled": {**call, "fate": "done", "by": "agent:first"},
        "gap": {"missing": 2},
        "run.ended": {"status": "answered"},
        "odd.<b>kind": {},
    }
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT liyagent_append_events(%s, %s, 'INC-1', 'full', %s, %s)",
            [run.correlation_id, run.id, list(events), [json.dumps(it) for it in events.values()]],
        )
    page = seen(olga, f"{PAGE}?source=events")
    for told in (
        ">Started<", ">Step 3<", ">Taken over after a loss, the 1st<", ">jira/create_issue: unknown<", ">Ended: answered<",
        "A person decided about a call: jira/create_issue: approved by agent:", ">Events are missing here: 2 events, never written",
        "A person said what happened to a call: jira/create_issue: done by agent:first<", "a kind of event that this release",
        "<dt>tokens out</dt>", "its life-lock was free and its lease had passed", "<dt>correlation id</dt>",
        # A name stands in one line, unless it is too long for that.
        '<td class="liy-whole" data-label="By">agent:first</td>', '<td class="liy-wrap" data-label="By">agent:xxx',
    ):  # fmt: skip
        assert told in page, told
    # Of many runs' lines, whose each is.
    assert page.count('<span class="liy-line">triage</span>') == len(events)
    assert "tool.call:" not in page
    assert "run.resumed" not in page


def test_the_pages_of_what_is_of_it_lead_to_it(olga: Client, run: Run) -> None:
    assert PAGE in seen(olga, "/admin/runs/run/")
    approval = Approval.objects.get()
    assert PAGE in seen(olga, f"/admin/approvals/approval/{approval.id}/change/")
    for odd in ("a/b", "\u202eodd", " "):
        Run.objects.update(mission=odd)
        Approval.objects.update(mission=odd)
        seen(olga, "/admin/runs/run/")
        seen(olga, f"/admin/runs/run/{run.id}/change/")
        seen(olga, f"/admin/approvals/approval/{approval.id}/change/")


def test_what_rows_hold_is_shown_and_never_run(olga: Client, run: Run) -> None:
    page = olga.get(PAGE).content.decode()
    assert "<script>alert" not in page
    assert "\u202e" not in page
    assert "x" * 500 not in page


def test_the_lines_of_one_room_are_chosen(olga: Client, run: Run) -> None:
    page = seen(olga, f"{PAGE}?source=approvals")
    assert "a person was asked" in page
    assert "agent.run.started" not in page


def test_what_one_may_not_see_is_named_and_not_shown(run: Run) -> None:
    page = seen(client_of("vera", "runs.view_run"), PAGE)
    told = page.partition("Not shown to you: ")[2].partition(".")[0]
    assert set(told.split(", ")) == {
        "In doubt",
        "Audit",
        "Approvals",
        "Jobs",
        "Tickets",
        "Cohort replays",
    }
    assert "was asked by api" in page
    for hidden in ("agent.run.started", "a person was asked", "nobody knows whether"):
        assert hidden not in page
    client = client_of("stan", "agents.view_agent")
    assert client.get(PAGE).status_code == client.get(LIST).status_code == 403
    assert Client().get(PAGE).status_code == 302


def test_a_long_mission_is_paged_in_as_many_statements_as_a_short_one(
    olga: Client, run: Run
) -> None:
    def statements() -> int:
        with CaptureQueriesContext(connection) as queries:
            seen(olga, PAGE)
        return len(queries)

    statements()  # what the console keeps for some seconds is asked once
    few = statements()
    for number in range(150):
        record("test.row", actor="ann", mission="INC-1", detail={"number": number})
    assert statements() <= few
    first = olga.get(PAGE)
    assert len(first.context["lines"]) == 100
    second = olga.get(PAGE + first.context["older"])
    assert len(second.context["lines"]) == 150 + 5 - 100
    assert second.context["older"] == ""
    assert "the newest" in second.content.decode()


def test_an_unnamed_one_is_found_by_its_runs_id_and_an_unknown_one_is_told_so(
    olga: Client, agent: Agent
) -> None:
    run = start_run(
        agent_key="triage", task="look", entry="api", started_by="ann", mission="", request_id=""
    ).run_id
    assert "Nobody named it" in seen(olga, f"/admin/mission/{run}/")
    assert "Nobody named a mission yet" in seen(olga, LIST)
    assert "nothing bears the mission INC-9" in seen(olga, "/admin/mission/INC-9/", 404)
    assert "it wants 1 to 128 letters" in seen(olga, "/admin/mission/-INC/", 404)
    assert "cursor wants" in seen(olga, f"/admin/mission/{run}/?cursor=x", 404)
