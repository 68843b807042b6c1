"""Callers are told of the moves that they want to know of: each at least once, in order, owed by the commit of the move."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest
from django.conf import settings
from django.db import connection, transaction
from jsonschema import Draft202012Validator

from liyagent.audit.models import AuditRow
from liyagent.entry.a2a.models import PushConfig, Task
from liyagent.entry.deliver import deliver_due
from liyagent.entry.models import Delivery
from runs.models import Run
from runs.stop import stop_run
from tests.fakes.a2a_shapes import OLD_TASK, STREAMED
from tests.fakes.webhook_receiver import Receiver
from tests.flows.conftest import api_of, make_user
from tests.unit.entry.a2a.conftest import RECEIVER, Rpc, message, pushes
from tests.unit.entry.a2a.test_moves import HOLD, WRITE
from tests.unit.runs.carrying.conftest import World, calls, never, says

SET, GET = "CreateTaskPushNotificationConfig", "GetTaskPushNotificationConfig"
LIST, DELETE = "ListTaskPushNotificationConfigs", "DeleteTaskPushNotificationConfig"
WAITS = (
    "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
)
OLD = "tasks/pushNotificationConfig"
FULL = {
    "id": "mine",
    "url": RECEIVER,
    "token": "t-1",
    "authentication": {"scheme": "Bearer", "credentials": "secret"},
}


@pytest.fixture
def receiver(monkeypatch: pytest.MonkeyPatch) -> Iterator[Receiver]:
    """Where a caller is told, on loopback."""
    conf = replace(settings.LIYAGENT, allowed_private_hosts=("127.0.0.1",))
    monkeypatch.setattr(settings, "LIYAGENT", conf)
    with Receiver() as it:
        yield it


def told(receiver: Receiver) -> list[str]:
    """The states that were told, in order."""
    found = []
    for it in receiver.received:
        task = it.told.get("task", it.told)
        found.append(task["status"]["state"].removeprefix("TASK_STATE_"))
    return found


def due(world: World) -> None:
    """Whatever waits for its next try need not wait."""
    world.sql("UPDATE entry_delivery SET next_at = liyagent_now(), claimed_until = NULL")


def test_what_a_caller_wants_to_know_is_told_in_order(
    world: World, rpc: Rpc, receiver: Receiver
) -> None:
    world.sql(HOLD)
    world.model.steps = [calls(WRITE), says("done")]
    task = rpc.send(configuration={"taskPushNotificationConfig": {**FULL, "url": receiver.url}})
    world.process().carry()
    assert pushes(task["id"]) == ["input-required"]
    deliver_due(never, way="a2a")
    stop_run(run_id=Run.objects.get().id, actor="olga", reason="enough")
    world.process().carry()
    deliver_due(never, way="a2a")
    assert told(receiver) == ["INPUT_REQUIRED", "CANCELED"]
    for it in receiver.received:
        Draft202012Validator(STREAMED).validate(it.told)
        assert it.headers["x-a2a-notification-token"] == "t-1"
        assert it.headers["authorization"] == "Bearer secret"
        assert it.headers["a2a-version"] == "1.0"
    assert receiver.received[1].told["task"]["id"] == task["id"]


def test_a_caller_of_0_3_is_told_the_task_itself(
    world: World, rpc: Rpc, receiver: Receiver
) -> None:
    world.model.steps = [says("all is well")]
    old = {"kind": "message", "messageId": "m-1", "role": "user"}
    params = {
        "message": {**old, "parts": [{"kind": "text", "text": "look"}]},
        "configuration": {"blocking": False, "pushNotificationConfig": {"url": receiver.url, "token": "t-2"}},
    }  # fmt: skip
    task = rpc.call("message/send", params)
    world.process().carry()
    deliver_due(never, way="a2a")
    (one,) = receiver.received
    Draft202012Validator(OLD_TASK).validate(one.told)
    assert one.told["id"] == task["id"]
    assert one.told["artifacts"][0]["parts"] == [{"kind": "text", "text": "all is well"}]
    assert one.headers["x-a2a-notification-token"] == "t-2"
    assert "authorization" not in one.headers


def test_what_was_not_taken_is_told_again_and_nothing_overtakes_it(
    world: World, rpc: Rpc, receiver: Receiver
) -> None:
    world.sql(HOLD)
    world.model.steps = [calls(WRITE), says("done")]
    rpc.send(configuration={"taskPushNotificationConfig": {"url": receiver.url}})
    world.process().carry()
    receiver.status = 503
    deliver_due(never, way="a2a")
    stop_run(run_id=Run.objects.get().id, actor="olga", reason="enough")
    world.process().carry()
    deliver_due(never, way="a2a")
    assert told(receiver) == ["INPUT_REQUIRED"]
    receiver.status = 204
    due(world)
    deliver_due(never, way="a2a")
    due(world)
    deliver_due(never, way="a2a")
    assert told(receiver) == ["INPUT_REQUIRED", "INPUT_REQUIRED", "CANCELED"]
    assert set(Delivery.objects.values_list("state", flat=True)) == {"delivered"}


def test_a_process_that_dies_while_it_tells_leaves_it_to_the_next(
    world: World, rpc: Rpc, receiver: Receiver
) -> None:
    world.model.steps = [says("done")]
    rpc.send(configuration={"taskPushNotificationConfig": {"url": receiver.url}})
    world.process().carry()

    def die(_request: Any) -> None:
        due(world)
        raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("liyagent.entry.a2a.deliver._sent", die)
        with pytest.raises(KeyboardInterrupt):
            deliver_due(never, way="a2a")
    deliver_due(never, way="a2a")
    assert told(receiver) == ["COMPLETED", "COMPLETED"]


def test_a_receiver_that_is_gone_for_good_is_told_no_more(
    world: World, rpc: Rpc, receiver: Receiver
) -> None:
    world.model.steps = [says("done")]
    rpc.send(configuration={"taskPushNotificationConfig": {"url": receiver.url}})
    world.process().carry()
    receiver.status = 410
    deliver_due(never, way="a2a")
    assert Delivery.objects.get().state == "dead"


def test_nothing_is_told_inside_our_network(world: World, rpc: Rpc, receiver: Receiver) -> None:
    world.model.steps = [says("done")]
    rpc.send(configuration={"taskPushNotificationConfig": {"url": receiver.url}})
    world.process().carry()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(settings, "LIYAGENT", replace(settings.LIYAGENT, allowed_private_hosts=()))
        deliver_due(never, way="a2a")
    assert not receiver.received
    assert "127.0.0.1" in Delivery.objects.get().last_error


@pytest.mark.parametrize(
    "changed",
    [
        {"url": ""},
        {"url": "ftp://example.com"},
        {"url": "https://user:pw@example.com"},
        {"url": "http://169.254.169.254/latest"},
        {"url": "http://metadata.google.internal/"},
        {"url": "https://example.com/" + "x" * 2000},
        {"token": "a\r\nX-Evil: 1"},
        {"token": 7},
        {"authentication": {"scheme": "Bearer x", "credentials": "a"}},
        {"authentication": {"credentials": "a"}},
        {"authentication": []},
        {"id": "x" * 129},
    ],
)
def test_a_configuration_that_cannot_be_used_is_refused(
    world: World, rpc: Rpc, changed: dict[str, Any]
) -> None:
    world.model.steps = [says("done")]
    task = rpc.send()
    assert rpc.error(SET, {"taskId": task["id"], **FULL, **changed})["code"] == -32602
    assert not PushConfig.objects.exists()
    wanted = {"message": message(), "configuration": {"taskPushNotificationConfig": {**FULL, **changed}}}  # fmt: skip
    assert rpc.error("SendMessage", wanted)["code"] == -32602
    assert Task.objects.count() == 1


def test_configurations_are_set_shown_listed_and_deleted(world: World, rpc: Rpc) -> None:
    world.model.steps = [says("done")]
    task = rpc.send()
    ours = {"taskId": task["id"], **FULL}
    assert rpc.call(SET, ours) == ours
    assert rpc.call(SET, {**ours, "id": "other"})["id"] == "other"
    assert rpc.call(GET, {"taskId": task["id"], "id": "mine"}) == ours
    assert [it["id"] for it in rpc.call(LIST, {"taskId": task["id"]})["configs"]] == [
        "mine",
        "other",
    ]
    changed = {**ours, "url": "https://elsewhere.example.com/"}
    assert rpc.call(SET, changed) == rpc.call(GET, {"taskId": task["id"], "id": "mine"}) == changed
    for _ in range(2):
        assert rpc.call(DELETE, {"taskId": task["id"], "id": "mine"}) is None
    assert rpc.error(GET, {"taskId": task["id"], "id": "mine"})["code"] == -32001
    assert rpc.error(DELETE, {"taskId": task["id"]})["code"] == -32602
    actions = AuditRow.objects.filter(action__startswith="a2a.push").values_list(
        "action", flat=True
    )
    assert sorted(actions) == ["a2a.push.deleted", *["a2a.push.set"] * 3]


def test_configurations_by_the_names_of_0_3(world: World, rpc: Rpc) -> None:
    world.model.steps = [says("done")]
    task = rpc.send()
    authentication = {"schemes": ["Bearer"], "credentials": "secret"}
    config = {"id": "mine", "url": RECEIVER, "token": "t", "authentication": authentication}
    ours = {"taskId": task["id"], "pushNotificationConfig": config}
    assert rpc.call(f"{OLD}/set", ours) == ours
    assert rpc.call(f"{OLD}/get", {"id": task["id"]}) == ours
    assert rpc.call(f"{OLD}/get", {"id": task["id"], "pushNotificationConfigId": "mine"}) == ours
    assert rpc.call(f"{OLD}/list", {"id": task["id"]}) == [ours]
    gone = {"id": task["id"], "pushNotificationConfigId": "mine"}
    assert rpc.call(f"{OLD}/delete", gone) is None
    assert rpc.call(f"{OLD}/list", {"id": task["id"]}) == []
    assert rpc.error(f"{OLD}/set", {"taskId": task["id"]})["code"] == -32602


def test_token_and_credentials_are_sealed(world: World, rpc: Rpc) -> None:
    world.model.steps = [says("done")]
    rpc.send(configuration={"taskPushNotificationConfig": {**FULL, "token": "plumtree"}})
    row = str(world.sql("SELECT to_jsonb(c) FROM a2a_pushconfig c"))
    assert "plumtree" not in row
    assert b"plumtree" not in bytes(PushConfig.objects.get().sealed)


def test_each_caller_has_configurations_of_their_own(world: World, rpc: Rpc) -> None:
    world.model.steps = [says("done")]
    task = rpc.send(configuration={"taskPushNotificationConfig": FULL})
    vera = Rpc(api=api_of(make_user("vera", "agents.operate", "runs.view_run")))
    assert vera.call(LIST, {"taskId": task["id"]}) == {"configs": []}
    vera.call(SET, {"taskId": task["id"], **FULL, "token": "hers"})
    vera.call(DELETE, {"taskId": task["id"], "id": "mine"})
    assert rpc.call(GET, {"taskId": task["id"], "id": "mine"})["token"] == "t-1"


def test_a_task_is_told_to_ten_addresses_at_most(world: World, rpc: Rpc) -> None:
    world.model.steps = [says("done")]
    task = rpc.send()
    for number in range(10):
        rpc.call(SET, {"taskId": task["id"], "id": f"c-{number}", "url": RECEIVER})
    assert rpc.error(SET, {"taskId": task["id"], "id": "c-10", "url": RECEIVER})["code"] == -32602
    rpc.call(SET, {"taskId": task["id"], "id": "c-9", "url": RECEIVER})
    world.process().carry()
    assert pushes(task["id"]) == ["completed"] * 10


def test_who_asks_to_be_told_when_it_has_ended_is_told_at_once(
    world: World, rpc: Rpc, receiver: Receiver
) -> None:
    world.model.steps = [says("done")]
    task = rpc.send()
    world.process().carry()
    rpc.call(SET, {"taskId": task["id"], "url": receiver.url})
    deliver_due(never, way="a2a")
    assert told(receiver) == ["COMPLETED"]


def test_what_is_owed_to_a_configuration_goes_with_it(world: World, rpc: Rpc) -> None:
    world.model.steps = [says("done")]
    task = rpc.send(configuration={"taskPushNotificationConfig": FULL})
    rpc.call(SET, {"taskId": task["id"], **FULL, "id": "other"})
    world.process().carry()
    rpc.call(DELETE, {"taskId": task["id"], "id": "mine"})
    (left,) = Delivery.objects.all()
    assert left.address["config"] == str(PushConfig.objects.get().id)


def test_a_configuration_that_comes_while_a_task_ends_is_not_passed_by(
    world: World, rpc: Rpc
) -> None:
    """The commit that ends the run waits for the one that keeps the configuration, and then finds it."""
    world.model.steps = [says("done")]
    task = rpc.send()
    process = world.process()
    ((run_id, attempt),) = process.take()

    def end() -> None:
        try:
            process.go_on(run_id, attempt)
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            row = Task.objects.select_for_update(no_key=True).get(run_id=UUID(task["id"]))
            known = {"owner": "ann", "url": RECEIVER, "version": "1.0", "key_id": "k1"}
            PushConfig.objects.create(
                task=row, config_id="late", sealed=b"", created_at=row.created_at, **known
            )
            ending = pool.submit(end)
            until = time.monotonic() + 10
            while not world.sql(WAITS) and not ending.done():
                assert time.monotonic() < until
                time.sleep(0.01)
        ending.result()
    assert pushes(task["id"]) == ["completed"]


def test_a_receiver_that_is_down_holds_up_no_other_callers(
    world: World, rpc: Rpc, receiver: Receiver
) -> None:
    world.model.steps = [says("done")] * 4
    with Receiver() as down:
        down.status = 503
        for url in (down.url, down.url, down.url, receiver.url):
            rpc.send(configuration={"taskPushNotificationConfig": {**FULL, "url": url}})
        for run_id, attempt in (process := world.process()).take():
            process.go_on(run_id, attempt)
        assert deliver_due(never, way="a2a") == 4
        assert (len(down.received), told(receiver)) == (3, ["COMPLETED"])
