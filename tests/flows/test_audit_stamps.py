"""Whose request wrote an audit row: its stamps come from the work's context (MI-03, MI-07)."""

from __future__ import annotations

from uuid import UUID

import pytest

from liyagent.agents.models import Agent
from liyagent.audit.concerns import close_concern, open_concern
from liyagent.audit.models import AuditRow
from runs.stop import stop_run
from tests.flows.conftest import Api

RUNS = "/api/agents/triage/runs"


def started(row_of: str) -> AuditRow:
    return AuditRow.objects.get(action="agent.run.started", run_id=UUID(row_of))


@pytest.mark.promise("MI-03")
@pytest.mark.promise("MI-07")
def test_a_start_bears_the_stamps_of_the_request_that_asked_for_it(
    operator: Api, agent: Agent
) -> None:
    asked = {"X-Liyagent-Mission": "INC-7", "X-Request-ID": "r-1", "X-Forwarded-For": "10.0.0.9"}
    run = operator.post(RUNS, {"task": "look"}, **asked).data["id"]
    row = started(run)
    assert (row.actor, row.agent, row.mission) == ("olga", "triage", "INC-7")
    assert (row.request_id, row.address) == ("r-1", "127.0.0.1")
    other = {"X-Liyagent-Mission": "INC-8", "X-Request-ID": "r-2"}
    assert operator.post(f"/api/runs/{run}/stop", {"reason": "enough"}, **other).status < 300
    stop = AuditRow.objects.get(action__startswith="agent.run.stop", run_id=run)
    # The mission is that of the run it is done to, the request that of who does it.
    assert (stop.actor, stop.agent, stop.mission) == ("olga", "triage", "INC-7")
    assert (stop.request_id, stop.address) == ("r-2", "127.0.0.1")


@pytest.mark.promise("MI-03")
def test_rows_written_while_a_concern_is_open_bear_no_stamps(operator: Api, agent: Agent) -> None:
    asked = {"X-Liyagent-Mission": "INC-7", "X-Request-ID": "r-1"}
    before = operator.post(RUNS, {"task": "look"}, **asked).data["id"]
    concern = open_concern(opened_by="olga")
    within = operator.post(RUNS, {"task": "look"}, **asked).data["id"]
    close_concern(concern.pk, closed_by="kim")
    after = operator.post(RUNS, {"task": "look"}, **asked).data["id"]
    for run in (before, after):
        row = started(run)
        assert (row.mission, row.request_id, row.address) == ("INC-7", "r-1", "127.0.0.1")
        assert not row.is_confidential
    row = started(within)
    assert (row.mission, row.request_id, row.address, row.is_confidential) == ("", "", "", True)
    assert (row.actor, row.agent, row.run_id) == ("olga", "triage", UUID(within))
    # What is written of it later would name the mission all the same.
    stop_run(run_id=UUID(within), actor="kim", reason="enough")
    stop = AuditRow.objects.get(actor="kim", run_id=within)
    assert (stop.mission, stop.request_id, stop.is_confidential) == ("", "", True)
