"""A cancel is the stop of a run: one end, never left, whoever decides at the same time (FL-80)."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.db import connection

from liyagent.approvals.models import Approval
from liyagent.entry.a2a.cancel import cancel
from liyagent.entry.a2a.errors import NotCancelable, Unsupported
from liyagent.entry.a2a.models import Task
from liyagent.entry.a2a.receive import receive
from liyagent.entry.a2a.tell import open_approvals
from tests.flows.conftest import make_user
from tests.unit.entry.a2a.asking import asked
from tests.unit.entry.a2a.conftest import Rpc, message, moved
from tests.unit.entry.a2a.test_moves import HOLD, WRITE
from tests.unit.runs.carrying.conftest import Process, World, calls, says

NOT_CANCELABLE = -32002
# The case says 200: `LIYAGENT_RACE_ROUNDS=200` makes as many.
ROUNDS = int(os.environ.get("LIYAGENT_RACE_ROUNDS", "40"))


def test_a_task_that_nobody_carries_yet_is_canceled_before_its_first_step(
    world: World, rpc: Rpc
) -> None:
    world.model.steps = [says("done")]
    task = rpc.send()
    rpc.call("CancelTask", {"id": task["id"]})
    world.process().carry()
    canceled = rpc.call("CancelTask", {"id": task["id"]})
    assert canceled["status"]["state"] == "TASK_STATE_CANCELED"
    assert rpc.call("tasks/cancel", {"id": task["id"]})["status"]["state"] == "canceled"
    assert not world.model.asked
    assert len(world.audit("agent.run.stop_requested")) == 1


def test_what_has_completed_cannot_be_canceled(world: World, rpc: Rpc) -> None:
    world.model.steps = [says("done")]
    task = rpc.send()
    world.process().carry()
    assert rpc.error("CancelTask", {"id": task["id"]})["code"] == NOT_CANCELABLE
    assert rpc.state(task["id"]) == "COMPLETED"


def test_what_was_received_and_not_started_yet_can_be_canceled(
    world: World, rpc: Rpc, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr("liyagent.entry.a2a.receive.begin_arrival", lambda _run_id: None)
        task = rpc.send()
    rpc.call("CancelTask", {"id": task["id"]})
    world.process().carry()
    assert rpc.state(task["id"]) == "CANCELED"


def test_a_task_whose_process_was_just_killed_is_canceled_and_not_revived(
    world: World, rpc: Rpc
) -> None:
    world.model.steps = [calls(WRITE), calls(WRITE), says("done")]
    task = rpc.send()

    def die(_tool: str) -> None:
        raise KeyboardInterrupt

    world.vendor.after_effect = die
    dead = world.process("a")
    ((run_id, attempt),) = dead.take()
    with pytest.raises(KeyboardInterrupt):
        dead.go_on(run_id, attempt)
    world.vendor.after_effect = lambda _tool: None
    rpc.call("CancelTask", {"id": task["id"]})
    asked, received = len(world.model.asked), list(world.vendor.received)
    world.prove_dead(dead)
    world.process("b").carry()
    assert rpc.state(task["id"]) == "CANCELED"
    assert rpc.call("CancelTask", {"id": task["id"]})["status"]["state"] == "TASK_STATE_CANCELED"
    assert len(world.model.asked) == asked
    assert world.vendor.of("keyed") == [it for it in world.vendor.rows if it["tool"] == "keyed"]
    assert world.vendor.received == received
    assert world.process("c").take() == []


@pytest.mark.field("FL-80")
@pytest.mark.timeout(600)
def test_a_decision_and_a_cancel_at_once_leave_one_end(world: World, rpc: Rpc) -> None:
    world.sql(HOLD)
    world.model.steps = [calls(WRITE), says("done")]
    make_user("dora", "agents.operate", "approvals.decide")
    ends: list[str] = []
    with ThreadPoolExecutor(2) as pool:
        for number in range(ROUNDS):
            process = world.process(f"a-{number}")
            task = receive(asked(message=message(f"round {number}")), None)
            process.carry()
            (approval,) = open_approvals(task)
            for work in [
                pool.submit(at_once, approve, task, approval),
                pool.submit(at_once, stop, task),
            ]:
                work.result()
            ends.append(judged(world, process, task))
    assert set(ends) <= {"completed", "canceled"}
    assert ends.count("canceled") > ROUNDS / 10
    # Each write was made once; of a canceled task's none, or the one that was approved before.
    assert ends.count("completed") <= len(world.vendor.of("keyed")) <= ROUNDS


def judged(world: World, process: Process, task: Task) -> str:
    """Let the run go on until it has ended, and return how; from there nothing moves and nothing is made."""
    while taken := process.take():
        for run_id, attempt in taken:
            process.go_on(run_id, attempt)
    ended = moved(task.run_id)
    received = len(world.vendor.received)
    if ended.state == "canceled":
        assert stop(task) == "canceled"
    else:
        with pytest.raises(NotCancelable):
            cancel(asked(id=str(task.run_id)))
    assert process.take() == []
    assert moved(task.run_id).changed_at == ended.changed_at
    assert len(world.vendor.received) == received
    return str(ended.state)


def at_once(verb: Callable[..., object], *about: Any) -> None:
    """Do it on a connection of its own; who comes second may be told so."""
    try:
        verb(*about)
    except (NotCancelable, Unsupported):
        pass
    finally:
        connection.close()


def approve(task: Task, approval: Approval) -> None:
    data = {
        "approval": str(approval.id),
        "digest": approval.digest,
        "decision": "approve",
        "reason": "it is ours",
    }
    said = message(taskId=str(task.run_id), parts=[{"data": data}])
    receive(asked("dora", message=said), None)


def stop(task: Task) -> str:
    return str(cancel(asked(id=str(task.run_id))).state)
