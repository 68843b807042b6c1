"""The seeded incident: issue, change, a page that reaches nobody. Both are undone, newest first, and a person is told once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.core.management import call_command

from liyagent.approvals.models import Approval
from liyagent.audit.models import AuditRow
from liyagent.demo.vendors.process import VENDORS, VendorProcess
from liyagent.gateway import mcp
from liyagent.workflows.start import start_workflow
from runs.await_end import wait_for_end
from runs.models import Run
from runs.start import start_run
from sagas.models import Saga
from tests.databases import FreshDatabase
from tests.flows.carrying import carrying

Row = dict[str, Any]
KNOWN: Row = {"entry": "api", "started_by": "", "mission": "", "request_id": ""}
NEWEST_FIRST = ["jira/create_issue", "servicenow/create_change", "servicenow/cancel_change", "jira/delete_issue"]  # fmt: skip


@pytest.fixture(scope="module")
def vendors(tmp_path_factory: pytest.TempPathFactory) -> Iterator[VendorProcess]:
    with VendorProcess(tmp_path_factory.mktemp("ledgers"), before_ms=1, after_ms=1) as running:
        yield running
        # A loop whose sessions are open keeps this process from ending.
        mcp.close_all()


@pytest.fixture
def seeded(fresh_db: FreshDatabase, vendors: VendorProcess) -> VendorProcess:
    """The seed without its runs."""
    call_command("seed", f"--vendors={vendors.url}", "--no-runs")
    return vendors


def workflow(team: str = "payments") -> Run:
    given = {"title": "Checkout is down", "team": team}
    started = start_workflow(key="incident", given=given, **KNOWN)
    return carried(started.run_id)


def agent() -> Run:
    started = start_run(agent_key="triage-undo", task="Checkout is down.", **KNOWN)
    return carried(started.run_id)


def carried(run_id: Any) -> Run:
    with carrying():
        assert wait_for_end(run_id, seconds=20)
        for child in Run.objects.filter(parent_id=run_id):
            assert wait_for_end(child.id, seconds=20)
    return Run.objects.get(id=run_id)


def effects(vendors: VendorProcess, since: float) -> list[Row]:
    """What took effect since, over all ledgers, in the order of the vendors' own clock."""
    rows = [
        {**row, "name": f"{vendor}/{row['tool']}"}
        for vendor in VENDORS
        for row in vendors.ledger(vendor)["effects"]
        if row["committed_at"] > since
    ]
    return sorted(rows, key=lambda row: row["committed_at"])


def last_effect(vendors: VendorProcess) -> float:
    return max((row["committed_at"] for row in effects(vendors, 0.0)), default=0.0)


@pytest.mark.promise("SG-05")
@pytest.mark.promise("SG-08")
@pytest.mark.promise("SG-09")
@pytest.mark.parametrize(
    ("start", "ended"), [(workflow, ("failed", "workflow.step")), (agent, ("failed", "cap.steps"))]
)
def test_issue_and_change_are_undone_newest_first_and_a_person_is_told_once(
    seeded: VendorProcess, start: Any, ended: tuple[str, str]
) -> None:
    since = last_effect(seeded)
    run = start()
    assert (run.status, run.error) == ended
    made = effects(seeded, since)
    assert [row["name"] for row in made] == NEWEST_FIRST
    issue, change, cancelled, deleted = made
    assert cancelled["body"]["change_id"] == change["record_id"]
    assert deleted["body"]["issue_key"] == issue["record_id"]
    saga = Saga.objects.get(id=run.id)
    (asked,) = Approval.objects.filter(correlation_id=run.id)
    assert (saga.status, saga.handoff, saga.handoff_id) == (
        "compensated",
        "approval",
        str(asked.id),
    )
    assert (asked.kind, asked.status) == ("saga", "pending")
    told = AuditRow.objects.filter(correlation_id=run.id, action__startswith="saga.")
    assert [row.action.removeprefix("saga.") for row in told.order_by("id")] == [
        "registered", "registered", "compensating", "compensation", "compensation", "compensated", "handoff",
    ]  # fmt: skip


def test_where_somebody_is_on_call_all_of_it_stands(seeded: VendorProcess) -> None:
    since = last_effect(seeded)
    run = workflow(team="database")
    assert (run.status, Saga.objects.get(id=run.id).status) == ("answered", "closed")
    names = [row["name"] for row in effects(seeded, since)]
    assert names == [*NEWEST_FIRST[:2], "incident/page_on_call"]
    assert not Approval.objects.exists()
