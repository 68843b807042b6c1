"""What is malformed, unknown or not for the caller is refused by the protocol's own codes, and nothing is started."""

from __future__ import annotations

import json
from typing import Any
from uuid import uuid4

import pytest

from liyagent.agents.models import Agent
from liyagent.entry.a2a import receive
from liyagent.entry.models import Arrival
from runs.models import Run
from tests.flows.conftest import Api, api_of, make_user
from tests.unit.entry.a2a.conftest import PATH, Rpc, message
from tests.unit.runs.carrying.conftest import World, says

PARSE, REQUEST, METHOD, PARAMS = -32700, -32600, -32601, -32602
NOT_FOUND, UNSUPPORTED, CONTENT, VERSION = -32001, -32004, -32005, -32009
DEEP = b'{"jsonrpc":"2.0","id":1,"method":"GetTask","params":' + b'{"a":' * 200 + b"1" + b"}" * 201


def raw(rpc: Rpc, body: Any) -> dict[str, Any]:
    """The error that a body meets."""
    answer = rpc.api.post(PATH, body)
    assert answer.status == 200, answer.data
    assert answer.data["jsonrpc"] == "2.0"
    error: dict[str, Any] = answer.data["error"]
    return error


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"", PARSE),
        (b"{", PARSE),
        (b"\xff\xfe", PARSE),
        (b'{"jsonrpc":"2.0","id":1,"id":2,"method":"GetTask"}', PARSE),
        (b'{"jsonrpc":"2.0","id":NaN,"method":"GetTask"}', PARSE),
        (DEEP, PARSE),
        (b"[" * 100_000, PARSE),
        (b'"text"', REQUEST),
        (b"[]", REQUEST),
        ([{"jsonrpc": "2.0", "id": 1, "method": "GetTask"}], REQUEST),
        ({"id": 1, "method": "GetTask"}, REQUEST),
        ({"jsonrpc": "1.0", "id": 1, "method": "GetTask"}, REQUEST),
        ({"jsonrpc": "2.0", "method": "GetTask"}, REQUEST),
        ({"jsonrpc": "2.0", "id": True, "method": "GetTask"}, REQUEST),
        ({"jsonrpc": "2.0", "id": {}, "method": "GetTask"}, REQUEST),
        ({"jsonrpc": "2.0", "id": 1.5, "method": "GetTask"}, REQUEST),
        ({"jsonrpc": "2.0", "id": "x" * 300, "method": "GetTask"}, REQUEST),
        ({"jsonrpc": "2.0", "id": 1}, REQUEST),
        ({"jsonrpc": "2.0", "id": 1, "method": 7}, REQUEST),
        ({"jsonrpc": "2.0", "id": 1, "method": "message/reply"}, METHOD),
        ({"jsonrpc": "2.0", "id": 1, "method": "GetTask", "params": []}, PARAMS),
        ({"jsonrpc": "2.0", "id": 1, "method": "GetTask", "params": None}, PARAMS),
    ],
)
def test_a_malformed_request_has_the_code_of_its_fault(rpc: Rpc, body: Any, code: int) -> None:
    assert raw(rpc, body)["code"] == code
    assert not Arrival.objects.exists()


def test_an_error_bears_the_id_of_its_request_where_it_has_one(rpc: Rpc) -> None:
    answer = rpc.api.post(PATH, {"jsonrpc": "2.0", "id": "q-1", "method": "GetTask"})
    assert answer.data["id"] == "q-1"
    assert rpc.api.post(PATH, b"{").data["id"] is None


@pytest.mark.parametrize(
    ("changed", "code"),
    [
        ({"messageId": ""}, PARAMS),
        ({"messageId": None}, PARAMS),
        ({"messageId": 7}, PARAMS),
        ({"messageId": "x" * 256}, PARAMS),
        ({"messageId": "a\nb"}, PARAMS),
        ({"role": "ROLE_AGENT"}, PARAMS),
        ({"role": None}, PARAMS),
        ({"role": ["user"]}, PARAMS),
        ({"parts": []}, PARAMS),
        ({"parts": "text"}, PARAMS),
        ({"parts": ["text"]}, PARAMS),
        ({"parts": [{}]}, PARAMS),
        ({"parts": [{"text": 7}]}, PARAMS),
        ({"parts": [{"text": "a", "data": {}}]}, PARAMS),
        ({"parts": [{"text": " \n"}]}, PARAMS),
        ({"parts": [{"text": "x"}] * 1001}, PARAMS),
        ({"parts": [{"text": "x" * 200_001}]}, PARAMS),
        ({"parts": [{"url": "https://example.com/a.pdf"}]}, CONTENT),
        ({"parts": [{"raw": "aGk="}]}, CONTENT),
        ({"parts": [{"kind": "file", "file": {"uri": "https://example.com"}}]}, CONTENT),
        ({"contextId": "x" * 129}, PARAMS),
        ({"contextId": {}}, PARAMS),
        ({"metadata": []}, PARAMS),
        ({"taskId": "nonsense"}, NOT_FOUND),
        ({"taskId": str(uuid4())}, NOT_FOUND),
    ],
)
def test_a_message_that_cannot_be_used_begins_nothing(
    rpc: Rpc, changed: dict[str, Any], code: int
) -> None:
    assert rpc.error("SendMessage", {"message": {**message(), **changed}})["code"] == code
    assert not Arrival.objects.exists()


@pytest.mark.parametrize(
    ("params", "code"),
    [
        ({}, PARAMS),
        ({"message": "hello"}, PARAMS),
        ({"message": message(), "configuration": []}, PARAMS),
        ({"message": message(), "configuration": {"historyLength": -1}}, PARAMS),
        ({"message": message(), "configuration": {"historyLength": "2"}}, PARAMS),
        ({"message": message(), "configuration": {"returnImmediately": "no"}}, PARAMS),
        ({"message": message(), "configuration": {"acceptedOutputModes": "text"}}, PARAMS),
        ({"message": message(), "configuration": {"acceptedOutputModes": ["image/png"]}}, CONTENT),
        ({"message": message(), "metadata": 7}, PARAMS),
    ],
)
def test_a_request_that_cannot_be_used_begins_nothing(
    rpc: Rpc, params: dict[str, Any], code: int
) -> None:
    assert rpc.error("SendMessage", params)["code"] == code
    assert not Run.objects.exists()


def test_a_caller_may_take_text_among_others(world: World, rpc: Rpc) -> None:
    world.model.steps = [says("done")]
    rpc.send(configuration={"acceptedOutputModes": ["image/png", "text/plain; charset=utf-8"]})
    assert Run.objects.count() == 1


@pytest.mark.parametrize(
    ("named", "method", "code"),
    [
        ("1.0", "GetTask", NOT_FOUND),
        ("1.0.3", "GetTask", NOT_FOUND),
        ("", "GetTask", NOT_FOUND),
        ("0.3", "tasks/get", NOT_FOUND),
        ("0.3.0", "tasks/get", NOT_FOUND),
        ("", "tasks/get", NOT_FOUND),
        ("0.3", "GetTask", VERSION),
        ("1.0", "tasks/get", VERSION),
        ("2.0", "GetTask", VERSION),
        ("1", "GetTask", VERSION),
        ("nonsense", "tasks/get", VERSION),
        ("2.0", "nonsense", VERSION),
    ],
)
def test_a_version_that_is_named_has_to_be_the_one_of_the_method(
    rpc: Rpc, named: str, method: str, code: int
) -> None:
    error = rpc.error(method, {"id": str(uuid4())}, **({"A2A-Version": named} if named else {}))
    assert error["code"] == code


def test_an_error_of_1_0_says_its_reason_as_the_protocol_wants_it(rpc: Rpc) -> None:
    task_id = str(uuid4())
    error = rpc.error("GetTask", {"id": task_id})
    (info,) = error["data"]
    assert info == {
        "@type": "type.googleapis.com/google.rpc.ErrorInfo",
        "reason": "TASK_NOT_FOUND",
        "domain": "a2a-protocol.org",
        "metadata": {"task": task_id},
    }


def test_a_body_too_large_is_refused(rpc: Rpc) -> None:
    assert rpc.api.post(PATH, b"x" * (11 << 20)).status == 413


def test_who_lacks_a_key_or_the_permission_is_refused_before_the_protocol(rpc: Rpc) -> None:
    assert Rpc(api=Api()).ask("GetTask").status == 401
    seer = Rpc(api=api_of(make_user("vera", "runs.view_run")))
    refused = seer.ask("GetTask")
    assert (refused.status, refused.data["code"]) == (403, "permission.denied")
    assert rpc.api.get(PATH).status == 405


@pytest.mark.parametrize("changes", [{"channels": ["api"]}, {"is_enabled": False}, {"key": "x"}])
def test_an_agent_that_is_not_open_is_not_there(rpc: Rpc, changes: dict[str, Any]) -> None:
    Agent.objects.update(**changes)
    assert rpc.ask("SendMessage", {"message": message()}).status == 404
    assert Api().get(f"{PATH}/.well-known/agent-card.json").status == 404
    assert not Arrival.objects.exists()


def test_a_task_of_somebody_else_is_not_found_by_any_method(world: World, rpc: Rpc) -> None:
    world.model.steps = [says("done")]
    task = rpc.send()
    bert = Rpc(api=api_of(make_user("bert", "agents.operate")))
    asks: list[tuple[str, dict[str, Any]]] = [
        ("GetTask", {"id": task["id"]}),
        ("CancelTask", {"id": task["id"]}),
        ("SubscribeToTask", {"id": task["id"]}),
        ("SendMessage", {"message": message(taskId=task["id"])}),
        ("CreateTaskPushNotificationConfig", {"taskId": task["id"], "url": "https://e.com"}),
        ("GetTaskPushNotificationConfig", {"taskId": task["id"], "id": "a"}),
        ("ListTaskPushNotificationConfigs", {"taskId": task["id"]}),
        ("DeleteTaskPushNotificationConfig", {"taskId": task["id"], "id": "a"}),
    ]
    for method, params in asks:
        assert bert.error(method, params)["code"] == NOT_FOUND, method
    unknown = bert.error("GetTask", {"id": str(uuid4())})
    assert bert.error("GetTask", {"id": task["id"]})["message"] == unknown["message"]
    assert bert.call("ListTasks")["tasks"] == []
    assert rpc.state(task["id"]) == "SUBMITTED"


def test_who_sees_runs_sees_tasks_without_their_words(world: World, rpc: Rpc) -> None:
    world.model.steps = [says("the secret")]
    task = rpc.send("the question")
    world.process().carry()
    vera = Rpc(api=api_of(make_user("vera", "agents.operate", "runs.view_run")))
    shown = vera.get(task["id"])
    assert shown["status"]["state"] == "TASK_STATE_COMPLETED"
    assert shown["artifacts"] == []
    assert "history" not in shown
    rita = Rpc(
        api=api_of(make_user("rita", "agents.operate", "runs.view_run", "transcripts.content.read"))
    )
    assert rita.get(task["id"])["artifacts"][0]["parts"] == [{"text": "the secret"}]


def test_a_task_of_another_agent_is_not_found_here(world: World, rpc: Rpc) -> None:
    world.model.steps = [says("done")]
    task = rpc.send()
    Agent.objects.create(key="other", name="Other", provider="listed", model="list")
    other = Rpc(api=rpc.api, path="/a2a/other")
    assert other.error("GetTask", {"id": task["id"]})["code"] == NOT_FOUND


def test_a_burst_is_met_with_429_before_anything_is_kept(
    world: World, rpc: Rpc, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.model.steps = [says("done")]
    monkeypatch.setattr(receive, "MOST_OPEN", 2)
    first = message("one")
    params = {"message": first, "configuration": {"returnImmediately": True}}
    task = rpc.call("SendMessage", params)["task"]
    rpc.send("two")
    refused = rpc.ask("SendMessage", {"message": message("three")})
    assert (refused.status, refused.headers["Retry-After"]) == (429, "5")
    assert Arrival.objects.count() == 2
    # What was accepted is answered all the same, and so is everybody else.
    assert rpc.call("SendMessage", params)["task"]["id"] == task["id"]
    Rpc(api=api_of(make_user("bert", "agents.operate"))).send("four")


def test_text_that_cannot_be_stored_is_made_storable_where_it_enters(
    world: World, rpc: Rpc
) -> None:
    world.model.steps = [says("done")]
    body = json.dumps(
        {"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": {"message": message("a\x00b\ud800"), "configuration": {"returnImmediately": True}}}
    )  # fmt: skip
    answer = rpc.api.post(PATH, body.encode())
    assert answer.data["result"]["task"]["history"][0]["parts"] == [{"text": "a�b�"}]
