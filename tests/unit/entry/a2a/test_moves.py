"""A task moves in the commit that moves its run, and an ended one never moves."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import replace
from typing import Any

import psycopg
import pytest

from liyagent.agents.models import Agent
from liyagent.entry.a2a.models import ENDED, State
from liyagent.entry.begin import begin_arrival
from runs.models import Run
from runs.stop import stop_run
from tests.flows.conftest import api_of, make_user
from tests.unit.entry.a2a.conftest import Rpc, message, moved
from tests.unit.runs.carrying.conftest import World, calls, says

HOLD = "UPDATE agents_agent SET write_posture = 'hold', may_wait = true"
WRITE = ("v/keyed", {"name": "x"})
DECIDER = ("agents.operate", "runs.view_run", "approvals.decide")


def test_a_task_is_submitted_working_and_completed_as_its_run_is(world: World, rpc: Rpc) -> None:
    world.model.steps = [says("done")]
    task = rpc.send()
    assert moved(task["id"]).state == State.SUBMITTED
    process = world.process()
    ((run_id, attempt),) = process.take()
    assert moved(task["id"]).state == State.WORKING
    ended = process.go_on(run_id, attempt)
    now = moved(task["id"])
    assert now.state == State.COMPLETED
    assert now.ended_at is not None
    assert ended.ended_at is not None
    assert now.ended_at >= ended.ended_at


def test_a_task_that_waits_for_a_person_says_for_what(world: World, rpc: Rpc) -> None:
    world.sql(HOLD)
    world.model.steps = [calls(WRITE), says("done")]
    task = rpc.send()
    world.process().carry()
    told = rpc.get(task["id"])["status"]
    assert told["state"] == "TASK_STATE_INPUT_REQUIRED"
    text, data = told["message"]["parts"]
    assert "v/keyed" in text["text"]
    (shown,) = data["data"]["approvals"]
    assert shown["call"] == "v/keyed"
    assert set(shown) == {"approval", "call", "digest", "why", "expiresAt"}
    (approval,) = world.sql("SELECT id::text, digest FROM approvals_approval")
    assert (shown["approval"], shown["digest"]) == approval


@pytest.mark.parametrize(
    "said", [{"decision": ["approve"]}, {"decision": {}}, {"decision": "approve", "digest": [1]}]
)
def test_a_decision_that_is_none_is_refused_by_the_protocol(
    world: World, rpc: Rpc, said: dict[str, Any]
) -> None:
    world.sql(HOLD)
    world.model.steps = [calls(WRITE), says("done")]
    task = rpc.send()
    world.process().carry()
    dora = replace(rpc, api=api_of(make_user("dora", *DECIDER)))
    data = {"approval": str(task["id"]), "digest": "x", "reason": "ours", **said}
    asked = {"message": message(taskId=task["id"], parts=[{"data": data}])}
    assert dora.error("SendMessage", asked)["code"] == -32602
    assert rpc.state(task["id"]) == "INPUT_REQUIRED"


@pytest.mark.parametrize(
    ("status", "state"),
    [("declined", "REJECTED"), ("failed", "FAILED"), ("interrupted", "FAILED")],
)
def test_a_run_that_ends_otherwise_fails_its_task_and_says_why(
    world: World, rpc: Rpc, status: str, state: str
) -> None:
    task = rpc.send()
    world.sql(
        "UPDATE runs_run SET status = %s, reason = 'such is life', ended_at = liyagent_now()",
        status,
    )
    told = rpc.get(task["id"])
    assert told["status"]["state"] == f"TASK_STATE_{state}"
    assert told["status"]["message"]["parts"] == [{"text": "such is life"}]
    assert told["artifacts"] == []


def test_a_run_whose_agent_was_contained_since_is_a_rejected_task(world: World, rpc: Rpc) -> None:
    Agent.objects.update(is_contained=True)
    world.sql("UPDATE agents_configversion SET version = version + 1")
    task = rpc.send()
    assert task["status"]["state"] == "TASK_STATE_REJECTED"
    assert "contained" in task["status"]["message"]["parts"][0]["text"]
    assert not Run.objects.exists()
    assert rpc.error("CancelTask", {"id": task["id"]})["code"] == -32002


@pytest.mark.promise("CR-18")
def test_a_run_lost_more_than_twice_fails_and_its_task_is_told_the_reason(
    world: World, rpc: Rpc
) -> None:
    world.model.steps = [says("done")]
    task = rpc.send()
    for name in "abc":
        process = world.process(name)
        process.take()
        world.prove_dead(process)
        assert moved(task["id"]).state == State.WORKING
    world.process("d").carry()
    told = rpc.get(task["id"])["status"]
    assert told["state"] == "TASK_STATE_FAILED"
    assert told["message"]["parts"][0]["text"] == Run.objects.get(id=task["id"]).reason != ""


@pytest.mark.promise("CR-02")
def test_a_task_whose_process_died_is_answered_by_the_next(world: World, rpc: Rpc) -> None:
    world.sql("UPDATE agents_agent SET may_wait = true")
    world.model.steps = [calls(("v/read", {"name": "x"})), calls(WRITE), says("done")]
    task = rpc.send()

    def die(_tool: str) -> None:
        raise KeyboardInterrupt

    world.vendor.after_effect = die
    first = world.process("a")
    ((run_id, attempt),) = first.take()
    with pytest.raises(KeyboardInterrupt):
        first.go_on(run_id, attempt)
    world.vendor.after_effect = lambda _tool: None
    asked = len(world.model.asked)
    assert moved(task["id"]).state == State.WORKING
    world.prove_dead(first)
    world.process("b").carry()
    told = rpc.get(task["id"])
    assert told["status"]["state"] == "TASK_STATE_COMPLETED"
    assert told["artifacts"][0]["parts"] == [{"text": "done"}]
    assert len(world.vendor.of("keyed")) == 1
    assert len(world.model.asked) == asked + 1


def test_a_stopped_run_is_a_canceled_task(world: World, rpc: Rpc) -> None:
    task = rpc.send()
    stop_run(run_id=Run.objects.get().id, actor="olga", reason="enough")
    world.process().carry()
    assert rpc.state(task["id"]) == "CANCELED"


@pytest.mark.field("FL-80")
@pytest.mark.parametrize("status", ["answered", "declined", "failed", "stopped", "interrupted"])
def test_an_ended_task_never_moves_whatever_becomes_of_its_run(
    world: World, rpc: Rpc, status: str
) -> None:
    task = rpc.send()
    end = "UPDATE runs_run SET status = %s, ended_at = liyagent_now()"
    world.sql(end, status)
    before = moved(task["id"])
    assert before.state in ENDED
    for other in ("queued", "answered", "failed", "stopped"):
        world.sql(end, other)
        world.sql("UPDATE entry_arrival SET state = 'refused'")
    now = moved(task["id"])
    assert (now.state, now.changed_at, now.ended_at) == (
        before.state,
        before.changed_at,
        before.ended_at,
    )


def test_a_task_waits_for_what_a_run_below_it_asks(world: World, rpc: Rpc) -> None:
    world.sql(HOLD)
    Agent.objects.create(
        key="lead",
        name="Lead",
        provider="listed",
        model="list",
        may_wait=True,
        tool_patterns=["agents/triage"],
        write_posture="allow",
    )
    lead = Rpc(api=rpc.api, path="/a2a/lead")
    world.model.steps = [calls(("agents/triage", {"task": "write"}))]
    task = lead.send()
    process = world.process()
    process.carry()
    world.model.steps = [calls(WRITE), says("done")]
    process.carry()
    assert Run.objects.get(id=task["id"]).status == "waiting"
    told: dict[str, Any] = lead.get(task["id"])["status"]
    assert told["state"] == "TASK_STATE_INPUT_REQUIRED"
    assert told["message"]["parts"][1]["data"]["approvals"][0]["call"] == "v/keyed"


def test_what_is_received_and_not_started_yet_is_submitted(
    world: World, rpc: Rpc, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where the process dies in between, or the database goes away."""
    world.model.steps = [says("done")]
    with monkeypatch.context() as patch:
        patch.setattr("liyagent.entry.a2a.receive.begin_arrival", lambda _run_id: None)
        task = rpc.send()
    assert not Run.objects.exists()
    assert rpc.state(task["id"]) == "SUBMITTED"
    begin_arrival(moved(task["id"]).run_id)
    world.process().carry()
    assert rpc.state(task["id"]) == "COMPLETED"


def test_a_run_that_goes_to_sleep_while_one_below_it_asks_is_seen_to_wait(
    world: World, rpc: Rpc
) -> None:
    """Two commits, each of which sees the task's run or the request alone: the second waits for the first."""
    world.sql(HOLD)
    world.model.steps = [calls(WRITE), says("done")]
    task = rpc.send()
    world.process().carry()
    # As if it asked in a run below: the request is filed by one, and its run goes to sleep by another.
    world.sql("UPDATE approvals_approval SET status = 'withdrawn'")
    holder = world.process("b").holder
    world.sql("UPDATE runs_run SET status = 'running', holder = %s", holder)
    assert moved(task["id"]).state == State.WORKING
    now = "SET CONSTRAINTS ALL IMMEDIATE"
    with psycopg.connect(world.url) as sleeping, psycopg.connect(world.url) as asking:
        sleeping.execute("UPDATE runs_run SET status = 'waiting', holder = NULL")
        sleeping.execute(now)
        asking.execute("UPDATE approvals_approval SET status = 'pending'")
        with ThreadPoolExecutor(1) as pool:
            looking = pool.submit(asking.execute, now)
            wait([looking], timeout=0.1)
            sleeping.commit()
            looking.result(timeout=20)
        asking.commit()
    assert moved(task["id"]).state == State.INPUT_REQUIRED
