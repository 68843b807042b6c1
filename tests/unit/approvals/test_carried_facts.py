"""Mission, the client's request id and the recording go along: filing, decision, approved call (MI-06)."""

from __future__ import annotations

import pytest

from liyagent.audit.models import AuditRow
from runs.models import Run
from tests.unit.approvals.deciding import HOLD_AND_GO_ON, approve, the_request
from tests.unit.runs.carrying.conftest import World, calls, says

FACTS = {"mission": "CHG-4711", "request_id": "req-1", "entry": "cli", "started_by": ""}


@pytest.mark.promise("MI-06")
@pytest.mark.parametrize("may_wait", [True, False])
@pytest.mark.parametrize("recording", ["full", "metadata"])
def test_the_mission_is_that_of_the_run_from_the_filing_to_the_call(
    held: World, may_wait: bool, recording: str
) -> None:
    if not may_wait:
        held.sql(HOLD_AND_GO_ON)
    held.sql("UPDATE agents_agent SET recording = %s", recording)
    run = held.start(calls(("v/keyed", {"n": "a word"})), says("done"), **FACTS)
    held.process("first").carry()
    # What the agent records by now is for runs that start now.
    held.sql(
        "UPDATE agents_agent SET recording = CASE recording WHEN 'full' THEN 'metadata' ELSE 'full' END"
    )
    approval = approve(the_request())
    made = held.process("second").carry()
    assert (approval.mission, approval.entry) == ("CHG-4711", "cli")
    for it in Run.objects.all():
        assert (it.mission, it.request_id, it.entry) == ("CHG-4711", "req-1", "cli")
        assert it.recording == recording
    assert (made.id == run.id) is may_wait
    told = [it for it in held.events(run) + held.events(made) if it.kind != "gap"]
    assert {(it.mission, it.recording) for it in told} == {("CHG-4711", recording)}
    assert any("a word" in it.content for it in told) is (recording == "full")
    assert {it.mission for it in AuditRow.objects.filter(correlation_id=run.correlation_id)} == {
        "CHG-4711"
    }
    asked = AuditRow.objects.get(action="agent.approval.requested")
    assert (asked.request_id, asked.detail["approval"]) == ("req-1", str(approval.id))
    (row,) = held.vendor.rows
    assert row["n"] == "a word"


@pytest.mark.promise("MI-06")
def test_what_leaves_bears_the_mission(held: World) -> None:
    held.sql(HOLD_AND_GO_ON)
    held.start(calls(("v/keyed", {"n": 1})), says("done"), **FACTS)
    held.process("first").carry()
    approve(the_request())
    missions: list[str] = []
    held.vendor.before_effect = lambda _tool: missions.extend(
        row[0] for row in held.sql("SELECT mission FROM runs_run WHERE status = 'running'")
    )
    held.process("second").carry()
    assert missions == ["CHG-4711"]
