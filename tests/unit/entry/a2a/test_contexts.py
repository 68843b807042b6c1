"""What belongs together: turns of a context, messages sent again, a caller's list, missions."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from django.db import connection

from liyagent.agents.models import Agent
from liyagent.entry.a2a import history
from liyagent.entry.a2a.forget import forget_old
from liyagent.entry.a2a.models import PushConfig, Task
from liyagent.entry.models import Arrival
from liyagent.providers.types import Role
from runs.models import Run
from tests.flows.conftest import api_of, make_user
from tests.unit.entry.a2a.conftest import RECEIVER, Rpc, message, moved
from tests.unit.entry.a2a.test_push import WAITS
from tests.unit.runs.carrying.conftest import World, never, says

# A run as another process stores it, not committed yet.
SAME_AS = """
INSERT INTO runs_run SELECT (jsonb_populate_record(r, jsonb_build_object('id', %s::text, 'correlation_id', %s::text))).*
    FROM runs_run r WHERE id = %s
"""
TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


def answered(world: World, rpc: Rpc, text: str, answer: str, **facts: Any) -> dict[str, Any]:
    """A task that has been answered."""
    world.model.steps = [says(answer)]
    task = rpc.send(text, **facts)
    world.process().carry()
    return rpc.get(task["id"])


def turns(world: World) -> list[tuple[Role, str]]:
    """What the model was told last, instructions aside."""
    messages = world.model.asked[-1].messages
    return [(it.role, it.text) for it in messages if it.role is not Role.SYSTEM]


@pytest.mark.parametrize("recording", ["full", "metadata"])
def test_a_message_to_an_ended_task_is_the_next_turn_of_its_context(
    world: World, rpc: Rpc, recording: str
) -> None:
    Agent.objects.update(recording=recording)
    first = answered(world, rpc, "how full is it", "80 %")
    second = answered(world, rpc, "and tomorrow", "90 %", taskId=first["id"])
    assert second["id"] != first["id"]
    assert second["contextId"] == first["contextId"]
    assert turns(world) == [
        (Role.USER, "how full is it"),
        (Role.ASSISTANT, "80 %"),
        (Role.USER, "and tomorrow"),
    ]
    assert rpc.get(first["id"]) == first
    third = answered(world, rpc, "after that", "full", contextId=first["contextId"])
    assert len(turns(world)) == 5
    listed = rpc.call("ListTasks", {"contextId": first["contextId"]})["tasks"]
    assert [it["id"] for it in listed] == [third["id"], second["id"], first["id"]]


def test_a_context_is_one_callers_alone(world: World, rpc: Rpc) -> None:
    first = answered(world, rpc, "the secret", "is plumtree", contextId="ours")
    assert first["contextId"] == "ours"
    bert = Rpc(api=api_of(make_user("bert", "agents.operate")))
    answered(world, bert, "what is it", "who knows", contextId="ours")
    assert turns(world) == [(Role.USER, "what is it")]


def test_history_is_bounded_and_the_oldest_are_left_out(
    world: World, rpc: Rpc, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(history, "MOST_CHARACTERS", 25)
    for number in range(3):
        answered(world, rpc, f"question {number}", "12", contextId="c")
    assert turns(world)[0] == (Role.USER, "question 0")
    answered(world, rpc, "last", "x", contextId="c")
    assert [text for _, text in turns(world)] == ["question 1", "12", "question 2", "12", "last"]


def test_a_context_that_is_not_the_tasks_is_refused(world: World, rpc: Rpc) -> None:
    first = answered(world, rpc, "a", "b")
    params = {"message": message(taskId=first["id"], contextId="other")}
    assert rpc.error("SendMessage", params)["code"] == -32602


def test_a_task_at_work_takes_no_message(world: World, rpc: Rpc) -> None:
    world.model.steps = [says("done")]
    task = rpc.send()
    error = rpc.error("SendMessage", {"message": message(taskId=task["id"])})
    assert error["code"] == -32004
    assert Run.objects.count() == 1


def test_a_message_id_is_of_one_message(world: World, rpc: Rpc) -> None:
    first = answered(world, rpc, "a", "b", messageId="m-1")
    other = {"message": message("something else", messageId="m-1")}
    assert rpc.error("SendMessage", other)["code"] == -32602
    old = {"kind": "message", "messageId": "m-1", "role": "user"}
    same = {"message": {**old, "parts": [{"kind": "text", "text": "a"}]}}
    assert rpc.call("message/send", same)["id"] == first["id"]
    bert = Rpc(api=api_of(make_user("bert", "agents.operate")))
    assert bert.send("a", messageId="m-1")["id"] != first["id"]
    assert Run.objects.count() == 2


def test_the_same_message_many_times_at_once_is_one_task(world: World, rpc: Rpc) -> None:
    world.model.steps = [says("done")]
    params = {"message": message(), "configuration": {"returnImmediately": True}}

    def send(_number: int) -> str:
        try:
            return str(rpc.call("SendMessage", params)["task"]["id"])
        finally:
            connection.close()

    with ThreadPoolExecutor(6) as pool:
        found = set(pool.map(send, range(24)))
    assert len(found) == Run.objects.count() == Task.objects.count() == 1


def test_a_message_whose_run_another_starts_at_the_same_moment_is_answered(
    world: World, rpc: Rpc, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.model.steps = [says("done")]
    other = rpc.send("other")
    params = {"message": message(), "configuration": {"returnImmediately": True}}
    with monkeypatch.context() as patch:
        patch.setattr("liyagent.entry.a2a.receive.begin_arrival", lambda _run_id: None)
        task = rpc.call("SendMessage", params)["task"]

    def again() -> str:
        try:
            return str(rpc.call("SendMessage", params)["task"]["id"])
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as pool, psycopg.connect(world.url) as starting:
        starting.execute(SAME_AS, [task["id"], task["id"], other["id"]])
        answer = pool.submit(again)
        until = time.monotonic() + 10
        while not world.sql(WAITS) and not answer.done():
            assert time.monotonic() < until
            time.sleep(0.01)
        starting.commit()
        assert answer.result() == task["id"]
    assert Run.objects.count() == 2


def test_a_part_of_data_is_told_to_the_agent_as_json(world: World, rpc: Rpc) -> None:
    parts = [{"text": "close these"}, {"data": {"b": [1], "a": None}}]
    task = answered(world, rpc, "", "done", parts=parts)
    assert turns(world) == [(Role.USER, 'close these\n\n{"a":null,"b":[1]}')]
    assert task["history"][0]["parts"] == parts


def test_what_guardrails_mask_is_kept_masked(world: World, rpc: Rpc) -> None:
    mask = {"kind": "pattern", "name": "secret", "pattern": "plum[a-z]*", "action": "mask"}
    Agent.objects.update(guardrails={"input": [mask], "output": []})
    world.sql("UPDATE agents_configversion SET version = version + 1")
    task = answered(world, rpc, "it is plumtree", "done")
    assert "plumtree" not in str(task)
    assert "plumtree" not in str(turns(world))


@pytest.mark.parametrize(("asked", "told"), [(None, 1), (0, 0), (1, 1), (5, 1)])
def test_no_more_history_is_told_than_is_asked_for(
    world: World, rpc: Rpc, asked: int | None, told: int
) -> None:
    task = answered(world, rpc, "a", "b")
    facts = {} if asked is None else {"historyLength": asked}
    assert len(rpc.get(task["id"], **facts).get("history", [])) == told
    assert ("history" in rpc.call("tasks/get", {"id": task["id"], **facts})) is bool(told)


def test_a_callers_tasks_are_listed_a_page_at_a_time_what_moved_last_first(
    world: World, rpc: Rpc
) -> None:
    world.model.steps = [says("done")]
    ids = [rpc.send(str(number))["id"] for number in range(5)]
    page = rpc.call("ListTasks", {"pageSize": 2})
    assert [it["id"] for it in page["tasks"]] == [ids[4], ids[3]]
    assert (page["pageSize"], page["totalSize"]) == (2, 5)
    assert "artifacts" not in page["tasks"][0]
    assert "history" not in page["tasks"][0]
    found = list(page["tasks"])
    while page["nextPageToken"]:
        page = rpc.call("ListTasks", {"pageSize": 2, "pageToken": page["nextPageToken"]})
        found += page["tasks"]
    assert [it["id"] for it in found] == ids[::-1]
    process = world.process()
    ((run_id, attempt), *_) = process.take()
    process.go_on(run_id, attempt)
    whole = {"includeArtifacts": True, "historyLength": 1}
    first = rpc.call("ListTasks", whole)["tasks"][0]
    assert first["id"] == str(run_id)
    assert first["artifacts"][0]["parts"] == [{"text": "done"}]
    assert len(first["history"]) == 1
    done = rpc.call("ListTasks", {"status": "TASK_STATE_COMPLETED"})
    assert [it["id"] for it in done["tasks"]] == [str(run_id)]
    since = {"statusTimestampAfter": first["status"]["timestamp"]}
    assert rpc.call("ListTasks", since)["tasks"][0]["id"] == str(run_id)
    assert rpc.call("ListTasks", {"statusTimestampAfter": "2999-01-01T00:00:00Z"})["tasks"] == []


@pytest.mark.parametrize(
    "params",
    [
        {"pageSize": 0},
        {"pageSize": 101},
        {"pageSize": "1"},
        {"pageToken": "nonsense"},
        {"pageToken": "x" * 2000},
        {"status": "completed"},
        {"status": 3},
        {"statusTimestampAfter": "yesterday"},
        {"statusTimestampAfter": "2026-01-01T00:00:00"},
        {"statusTimestampAfter": 7},
        {"includeArtifacts": "yes"},
        {"historyLength": -1},
    ],
)
def test_a_list_that_cannot_be_is_refused(rpc: Rpc, params: dict[str, Any]) -> None:
    assert rpc.error("ListTasks", params)["code"] == -32602


@pytest.mark.field("FL-98")
@pytest.mark.parametrize("where", ["_meta", "metadata", "message.metadata"])
@pytest.mark.parametrize(
    ("value", "is_taken"),
    [
        ("INC-1", True),
        ("x" * 128, True),
        ("x" * 129, False),
        ("INC-1\n", False),
        (" INC-1", False),
        ("INC-\uff11", False),
        ("-INC", False),
        ("", False),
        (7, False),
        (["INC-1"], False),
        (None, False),
    ],
)
def test_a_mission_is_taken_from_the_body_as_it_came(
    world: World, rpc: Rpc, where: str, value: Any, is_taken: bool
) -> None:
    said = {"io.liyagent/mission": value, "traceparent": TRACE}
    params: dict[str, Any] = {"configuration": {"returnImmediately": True}}
    if where == "message.metadata":
        params["message"] = message(metadata=said)
    else:
        params |= {"message": message(), where: said}
    task = rpc.call("SendMessage", params)["task"]
    mission = value if is_taken else task["id"]
    assert Run.objects.get(id=task["id"]).mission == mission
    assert task["metadata"] == {"io.liyagent/mission": mission, "traceparent": TRACE}


def test_the_header_goes_first_then_meta_then_metadata(world: World, rpc: Rpc) -> None:
    def mission(headers: dict[str, str], **params: Any) -> str:
        sent = {"message": message(), "configuration": {"returnImmediately": True}, **params}
        task = rpc.call("SendMessage", sent, **headers)["task"]
        return Run.objects.get(id=task["id"]).mission

    meta, metadata = {"io.liyagent/mission": "M-1"}, {"io.liyagent/mission": "M-2"}
    header = {"X-Liyagent-Mission": "H-1"}
    assert mission(header, _meta=meta, metadata=metadata) == "H-1"
    assert mission({}, _meta=meta, metadata=metadata) == "M-1"
    assert mission({}, _meta={"io.liyagent/mission": " bad"}, metadata=metadata) == "M-2"
    assert mission({}, _meta=["M-1"], metadata=metadata) == "M-2"


@pytest.mark.parametrize(
    "trace", ["", "nonsense", TRACE.upper(), TRACE + "\n", 7, "01" + TRACE[2:]]
)
def test_a_trace_that_is_none_is_dropped(world: World, rpc: Rpc, trace: Any) -> None:
    params = {"message": message(), "_meta": {"traceparent": trace}}
    task = rpc.call("SendMessage", {**params, "configuration": {"returnImmediately": True}})["task"]
    assert "traceparent" not in task["metadata"]


def test_the_words_of_a_message_are_sealed(world: World, rpc: Rpc) -> None:
    task = rpc.send("the secret is plumtree")
    assert b"plumtree" not in bytes(moved(task["id"]).sealed)
    assert "plumtree" not in str(world.sql("SELECT to_jsonb(t) FROM a2a_task t"))


def test_tasks_that_ended_long_ago_are_forgotten_their_runs_are_not(world: World, rpc: Rpc) -> None:
    task = answered(
        world, rpc, "a", "b", configuration={"taskPushNotificationConfig": {"url": RECEIVER}}
    )
    open_task = rpc.send("still open")
    assert forget_old(never) == 0
    world.sql("UPDATE a2a_task SET ended_at = ended_at - interval '8 days'")
    assert forget_old(never) == 1
    assert rpc.error("GetTask", {"id": task["id"]})["code"] == -32001
    assert not PushConfig.objects.exists()
    assert Run.objects.count() == Arrival.objects.count() == 2
    assert rpc.state(open_task["id"]) == "SUBMITTED"
    assert rpc.error("GetTask", {"id": str(uuid4())})["code"] == -32001
