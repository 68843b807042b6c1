"""A decision's event stands in the chain of its run between the run's own, without a gap (EV-05, EV-07, ruling 25)."""

from __future__ import annotations

import dataclasses
import json

import psycopg
import pytest
from pytest_django import Settings

from events.chain import first_break
from events.models import EventHead, RunEvent
from liyagent.approvals.models import Approval
from liyagent.core.canonical import canonical
from runs.models import Run
from runs.stop import stop_run
from tests.unit.approvals.crowd import add_requests, race
from tests.unit.approvals.deciding import HOLD_AND_GO_ON, approve, reject, the_request
from tests.unit.runs.carrying.conftest import World, calls, says
from tests.unit.runs.sql import Fence, Server, add_holder, flush


def chain_of(run: Run) -> list[RunEvent]:
    """The events of a run's correlation id, which verify and have no gap."""
    rows = list(RunEvent.objects.filter(correlation_id=run.correlation_id).order_by("number"))
    head = EventHead.objects.get(correlation_id=run.correlation_id)
    assert first_break(rows, correlation_id=run.correlation_id, head=head) is None
    assert [it.number for it in rows] == list(range(1, len(rows) + 1))
    return rows


@pytest.mark.promise("EV-05")
def test_the_decision_stands_between_the_filing_and_the_call(held: World) -> None:
    run = held.start(calls(("v/keyed", {"n": 1})), says("done"))
    held.process("first").carry()
    approval = approve(the_request())
    held.process("second").carry()
    told = chain_of(run)
    assert [it.kind for it in told] == [
        "run.started",
        "step",
        "approval.requested",
        "approval.decided",
        "tool.call",
        "step",
        "run.ended",
    ]
    requested, decided, made = (json.loads(it.content) for it in told[2:5])
    shared = (
        "approval",
        "server",
        "tool",
        "step",
        "index",
        "digest",
        "policy",
        "ceiling",
        "run_as",
    )
    assert {name: requested[name] for name in shared} == {name: decided[name] for name in shared}
    assert (decided["by"], decided["decision"]) == ("olga", "approved")
    assert (made["approval"], made["posture"], made["fate"]) == (str(approval.id), "held", "done")
    assert told[3].content == canonical(decided).decode()


def test_names_of_people_and_tools_are_told_in_canonical_form(held: World) -> None:
    held.sql("UPDATE auth_user SET username = %s WHERE username = 'olga'", 'o"l\\gä \u2028')
    run = held.start(calls(("v/keyed", {"n": 1})), says("done"))
    held.process("first").carry()
    approve(the_request(), by='o"l\\gä \u2028')
    (told,) = [it for it in chain_of(run) if it.kind == "approval.decided"]
    assert told.content == canonical(json.loads(told.content)).decode()


@pytest.mark.promise("EV-05")
def test_a_decision_after_the_run_s_end_goes_on_with_its_chain_and_so_does_the_call(
    held: World,
) -> None:
    held.sql(HOLD_AND_GO_ON)
    run = held.start(calls(("v/keyed", {"n": 1})), says("done"))
    held.process("first").carry()
    approve(the_request())
    made = held.process("second").carry()
    told = [(it.run_id == made.id, it.kind) for it in chain_of(run)]
    assert told[-5:] == [
        (False, "run.ended"),
        (False, "approval.decided"),
        (True, "run.started"),
        (True, "tool.call"),
        (True, "run.ended"),
    ]


def test_where_no_events_are_kept_a_decision_and_an_end_keep_none_either(
    held: World, settings: Settings
) -> None:
    settings.LIYAGENT = dataclasses.replace(settings.LIYAGENT, run_events_enabled=False)
    held.start(calls(("v/keyed", {"n": 1}), ("v/keyed", {"n": 2})), says("done"))
    held.process("first").carry()
    reject(the_request())
    held.process("second").carry()
    stop_run(run_id=Run.objects.get().id, actor="op", reason="enough")
    assert held.process("third").carry().status == "stopped"
    assert the_request(index=1).status == "withdrawn"
    assert RunEvent.objects.count() == 0


@pytest.mark.promise("EV-07")
def test_a_decision_whose_chain_is_held_up_is_made_all_the_same_and_its_event_is_told_missing(
    held: World,
) -> None:
    run = held.start(calls(("v/keyed", {"n": 1})), says("done"))
    held.process("first").carry()
    lock = "SELECT 1 FROM events_eventhead WHERE correlation_id = %s FOR UPDATE"
    with psycopg.connect(held.url) as other:
        other.execute(lock, [run.correlation_id])
        assert approve(the_request()).status == "approved"
    held.process("second").carry()
    kinds = [it.kind for it in chain_of(run)]
    assert "approval.decided" not in kinds
    assert kinds.index("gap") == kinds.index("tool.call") - 1


@pytest.mark.promise("EV-05")
def test_decisions_and_flushes_of_running_runs_at_the_same_moment_keep_each_chain_whole(
    server: Server, world: World
) -> None:
    """Requests of runs that go on: the decision's event and the step's are written side by side."""
    holder, here = add_holder(server.watcher), server.connect()
    requests = add_requests(100, status="running", holder=holder)

    def flush_step(request: Approval) -> None:
        fence = Fence(
            run=request.run_id, attempt=1, holder=holder, correlation=request.correlation_id
        )
        assert flush(here, fence, 1)

    race(server, requests, approve, flush_step)
    for request in requests:
        told = chain_of(Run.objects.get(id=request.run_id))
        assert sorted(it.kind for it in told) == ["approval.decided", "step"]


def test_two_requests_of_one_ended_run_decided_at_once_tell_of_its_missing_events_once(
    held: World, server: Server
) -> None:
    held.sql(HOLD_AND_GO_ON)
    run = held.start(calls(("v/keyed", {"n": 1}), ("v/keyed", {"n": 2})), says("done"))
    held.process("first").carry()
    held.sql("UPDATE runs_run SET events_missing = 3")
    pair = list(Approval.objects.order_by("index"))
    race(server, pair[:1], reject, lambda _request: reject(pair[1]))
    kinds = [it.kind for it in chain_of(run)]
    assert (kinds.count("gap"), kinds.count("approval.decided")) == (1, 2)
