"""A message is a task, kept before it is answered; a task is a run."""

from __future__ import annotations

import pytest

from liyagent.entry.models import Arrival
from runs.models import Run
from tests.unit.entry.a2a.conftest import Rpc, message
from tests.unit.runs.carrying.conftest import World, says


@pytest.mark.promise("CR-02")
def test_a_message_begins_a_run_whose_answer_is_the_artifact_of_the_task(
    world: World, rpc: Rpc
) -> None:
    world.model.steps = [says("all is well")]
    task = rpc.send("look after it")
    assert task["status"]["state"] == "TASK_STATE_SUBMITTED"
    run = Run.objects.get(id=task["id"])
    assert (run.entry, run.started_by, run.agent_key) == ("a2a", "ann", "triage")
    world.process().carry()
    done = rpc.get(task["id"])
    assert done["status"]["state"] == "TASK_STATE_COMPLETED"
    assert done["contextId"] == task["contextId"]
    (artifact,) = done["artifacts"]
    assert artifact["parts"] == [{"text": "all is well"}]
    assert [it["parts"] for it in done["history"]] == [[{"text": "look after it"}]]


def test_the_same_message_again_is_the_same_task(world: World, rpc: Rpc) -> None:
    world.model.steps = [says("done")]
    params = {"message": message(), "configuration": {"returnImmediately": True}}
    first = rpc.call("SendMessage", params)["task"]
    assert rpc.call("SendMessage", params)["task"]["id"] == first["id"]
    world.process().carry()
    again = rpc.call("SendMessage", params)["task"]
    assert (again["id"], again["status"]["state"]) == (first["id"], "TASK_STATE_COMPLETED")
    assert Run.objects.count() == Arrival.objects.count() == 1
