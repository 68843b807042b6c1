"""A named mission goes with its run into everything that comes of it, whoever goes on with it (MI-05, MI-06)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from events.models import RunEvent
from liyagent.agents.models import Agent
from liyagent.approvals.decide import decide
from liyagent.approvals.models import Approval, ApprovalStatus
from liyagent.audit.models import AuditRow
from liyagent.audit.record import record
from liyagent.gateway import mcp
from liyagent.gateway.local import LOCAL_TOOLS
from liyagent.gateway.models import Tool
from liyagent.gateway.outcome import Payload
from missions.carry import META_KEY
from missions.context import Stamp, current_stamp, stamped
from missions.models import Mission
from runs.late_look import look_late
from runs.models import Run
from runs.runner import Carried, Runner
from tests.fakes.tool_server import ToolServer as HttpServer
from tests.flows.conftest import make_user
from tests.unit.runs.carrying.conftest import World, calls, says
from tests.unit.runs.carrying.test_tool_servers import LOOK, READER, add_server, issue
from tests.unit.runs.delegating import conftest as delegating
from tests.unit.runs.delegating.conftest import Cast, carry_all, hands

world, cast, cut, server = (
    delegating.world,
    delegating.cast,
    delegating.cut,
    delegating.server,
)
ANOTHER = Stamp(request_id="req-of-kim", mission="INC-OTHER")


@pytest.fixture
def far(world: World, cast: Cast) -> Iterator[HttpServer]:
    """A real tool server, let to every agent, whose issues are found again by our key."""
    Agent.objects.update(tool_patterns=["far/*", "agents/*", "v/*"])
    with HttpServer(has_search=True) as fake:
        add_server(transport="http", url=fake.url)
        yield fake
        mcp.close_all()


def named(fake: HttpServer) -> set[Any]:
    """The missions of all calls that arrived."""
    messages = [it["params"] for it in fake.received if it["method"] == "tools/call"]
    return {it.get("_meta", {}).get(META_KEY) for it in messages}


def start(world: World) -> Run:
    return world.start(mission="INC-1", request_id="req-1", started_by="ann")


@pytest.mark.promise("MI-05", "MI-06")
def test_every_call_event_row_and_child_of_a_killed_held_and_resumed_run_bears_its_mission(
    world: World, cast: Cast, far: HttpServer
) -> None:
    make_user("kim", "approvals.decide")
    make_user("ann", "agents.operate")
    Tool.objects.filter(name="create_issue").update(
        key_place="argument", key_field="step_key", reader=READER
    )
    cast.lists = {
        "triage": [calls(LOOK), calls(issue(1)), hands("fixer"), calls(issue(2)), says("done")],
        "fixer": [calls(issue(3)), says("fixed")],
    }
    run = start(world)
    # Sent, and its answer lost: found again by the reader, with the same mission.
    far.next("create_issue", reset=True)
    world.sql("UPDATE agents_agent SET may_wait = true")
    world.sql("UPDATE agents_agent SET write_posture = 'hold' WHERE key = 'fixer'")
    carry_all(world)
    approval = Approval.objects.get()
    assert (approval.mission, approval.agent_key) == ("INC-1", "fixer")
    with stamped(ANOTHER):
        decide(
            approval_id=approval.id, status=ApprovalStatus.APPROVED, actor="kim", reason="it may", digest=approval.digest
        )  # fmt: skip
    dying = world.process("dying")
    dying.take()
    world.prove_dead(dying)
    runs = carry_all(world, name="b")
    assert {(it.agent_key, it.status) for it in runs} == {
        ("triage", "answered"),
        ("fixer", "answered"),
    }
    assert {it.mission for it in runs} == {"INC-1"}
    tools = {it["params"]["name"] for it in far.received if it["method"] == "tools/call"}
    assert tools == {"get_issue", "create_issue", "find_issue"}
    assert len(far.effects("create_issue")) == 3
    assert named(far) == {"INC-1"}
    events = RunEvent.objects.filter(correlation_id=run.correlation_id)
    assert {"run.resumed", "approval.decided", "run.ended"} <= {it.kind for it in events}
    assert {it.mission for it in events} == {"INC-1"}
    rows = AuditRow.objects.filter(correlation_id=run.correlation_id)
    assert {"agent.approval.approved", "agent.run.crash_resumed"} <= {it.action for it in rows}
    assert {it.mission for it in rows} == {"INC-1"}
    assert Mission.objects.get().id == "INC-1"


@pytest.mark.promise("MI-06")
def test_a_call_approved_after_its_run_went_on_is_made_for_the_same_mission(
    world: World, cast: Cast, far: HttpServer
) -> None:
    make_user("kim", "approvals.decide")
    make_user("ann", "agents.operate")
    cast.lists = {"triage": [calls(issue(1)), says("asked for it")]}
    world.sql("UPDATE agents_agent SET may_wait = false, write_posture = 'hold'")
    start(world)
    carry_all(world)
    approval = Approval.objects.get()
    with stamped(ANOTHER):
        decide(
            approval_id=approval.id, status=ApprovalStatus.APPROVED, actor="kim", reason="it may", digest=approval.digest
        )  # fmt: skip
    world.sql("UPDATE agents_agent SET write_posture = 'allow'")
    runs = carry_all(world, name="b")
    assert [it.mission for it in runs] == ["INC-1", "INC-1"]
    assert len(far.effects("create_issue")) == 1
    assert named(far) == {"INC-1"}


@pytest.mark.promise("MI-05")
def test_a_write_that_is_looked_for_late_is_asked_after_with_its_mission(
    world: World, cast: Cast, far: HttpServer
) -> None:
    make_user("ann", "agents.operate")
    Tool.objects.filter(name="create_issue").update(key_place="argument", key_field="step_key")
    cast.lists = {"triage": [calls(issue(1)), says("done")]}
    far.next("create_issue", reset=True)
    start(world)
    carry_all(world)
    Tool.objects.filter(name="create_issue").update(reader=READER)
    world.sql("UPDATE runs_call SET late_look_at = liyagent_now()")
    assert look_late() == 1
    assert [it["params"]["name"] for it in far.received if it["method"] == "tools/call"][
        -1
    ] == "find_issue"
    assert named(far) == {"INC-1"}


@pytest.mark.promise("MI-02")
def test_without_a_name_the_correlation_id_is_what_goes_along(
    world: World, cast: Cast, far: HttpServer
) -> None:
    cast.lists = {"triage": [calls(LOOK), says("done")]}
    run = world.start()
    carry_all(world)
    assert named(far) == {str(run.correlation_id)}
    assert {it.mission for it in RunEvent.objects.all()} == {str(run.correlation_id)}
    assert not Mission.objects.exists()


@pytest.mark.promise("MI-06", "MI-07")
def test_what_runs_in_the_thread_of_a_run_works_under_its_stamp(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Stamp] = []
    tool = LOCAL_TOOLS["v/look"]

    def look(payload: Payload) -> dict[str, Any]:
        seen.append(current_stamp())
        record("test.row", actor="hook", detail={"mission": "EVIL", "request_id": "EVIL"})
        return {}

    monkeypatch.setitem(LOCAL_TOOLS, "v/look", replace(tool, run=look))
    run = world.start(calls(("v/look", {})), says("done"), mission="INC-1", request_id="req-1")
    process = world.process()
    ((run_id, attempt),) = process.take()
    runner = Runner(process.holder, name="a")
    with stamped(ANOTHER):
        runner._carry(Carried(run_id=run_id, attempt=attempt))
        assert current_stamp() == ANOTHER
    assert seen == [
        Stamp(
            request_id="req-1", mission="INC-1", agent="triage", correlation_id=run.correlation_id
        )
    ]
    row = AuditRow.objects.get(action="test.row")
    assert (row.mission, row.request_id, row.agent) == ("INC-1", "req-1", "triage")
    assert "EVIL" not in str(row.detail)
