"""The SDK's own client against our endpoint, in both versions: what it cannot read is our fault."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import httpx
import pytest
from a2a.client import Client
from a2a.types import (
    CancelTaskRequest,
    DeleteTaskPushNotificationConfigRequest,
    GetExtendedAgentCardRequest,
    GetTaskPushNotificationConfigRequest,
    GetTaskRequest,
    ListTaskPushNotificationConfigsRequest,
    ListTasksRequest,
    Message,
    Part,
    Role,
    SendMessageRequest,
    SubscribeToTaskRequest,
    Task,
    TaskPushNotificationConfig,
    TaskState,
)
from a2a.utils.errors import (
    A2AError,
    ContentTypeNotSupportedError,
    InvalidParamsError,
    TaskNotCancelableError,
    TaskNotFoundError,
    UnsupportedOperationError,
)

from runs.models import Run
from tests.fakes.a2a_sdk import Sdk, message, sent
from tests.flows.carrying import carrying
from tests.flows.conftest import api_of, make_user
from tests.flows.serving import serving
from tests.unit.runs.carrying import conftest as world_of
from tests.unit.runs.carrying.conftest import World, calls, says

world = world_of.world
HOLD = "UPDATE agents_agent SET write_posture = 'hold', may_wait = true"


@pytest.fixture
def port(world: World) -> Iterator[int]:
    """Where the application is served."""
    with serving() as number:
        yield number


@pytest.fixture(params=["1.0", "0.3"])
def sdk(request: pytest.FixtureRequest, port: int) -> Sdk:
    """ann's client, in either version."""
    token = api_of(make_user("ann", "agents.operate")).token
    return Sdk(port=port, token=token, version=request.param)


async def until(client: Client, task_id: str, state: int) -> Task:
    """The task once it is in that state."""
    for _ in range(400):
        task = await client.get_task(GetTaskRequest(id=task_id))
        if task.status.state == state:
            return task
        await asyncio.sleep(0.05)
    raise AssertionError(TaskState.Name(task.status.state))


def with_client(sdk: Sdk, act: Callable[[Client], Awaitable[Any]], **config: bool) -> Any:
    """Do it with a client, beside a process that carries."""

    async def acting() -> Any:
        async with sdk.client(**config) as client:
            return await act(client)

    with carrying():
        return asyncio.run(acting())


def test_whoever_waits_is_answered_with_the_completed_task(world: World, sdk: Sdk) -> None:
    world.model.steps = [says("all is well")]

    async def act(client: Client) -> None:
        task = await sent(client, message())
        assert task.status.state == TaskState.TASK_STATE_COMPLETED
        assert task.artifacts[0].parts[0].text == "all is well"
        assert task.history[0].message_id == "m-1"
        assert await client.get_task(GetTaskRequest(id=task.id)) == task

    with_client(sdk, act)


def test_a_stream_ends_with_the_completed_task(world: World, sdk: Sdk) -> None:
    world.model.steps = [calls(("v/look", {"name": "x"})), says("found")]

    async def act(client: Client) -> None:
        seen = [it async for it in client.send_message(message())]
        kinds = [it.WhichOneof("payload") for it in seen]
        assert kinds[0] == "task"
        assert kinds[-2:] == ["artifact_update", "status_update"]
        assert seen[-2].artifact_update.artifact.parts[0].text == "found"
        assert seen[-1].status_update.status.state == TaskState.TASK_STATE_COMPLETED

    with_client(sdk, act, streaming=True)


def test_who_does_not_wait_gets_the_task_and_asks_for_it(world: World, sdk: Sdk) -> None:
    world.model.steps = [says("all is well")]

    async def act(client: Client) -> None:
        task = await sent(client, message())
        assert task.status.state in {
            TaskState.TASK_STATE_SUBMITTED,
            TaskState.TASK_STATE_WORKING,
            TaskState.TASK_STATE_COMPLETED,
        }
        done = await until(client, task.id, TaskState.TASK_STATE_COMPLETED)
        assert done.artifacts[0].parts[0].text == "all is well"
        short = await client.get_task(GetTaskRequest(id=task.id, history_length=0))
        assert not short.history

    with_client(sdk, act, polling=True)


def test_a_message_sent_again_is_the_same_task(world: World, sdk: Sdk) -> None:
    world.model.steps = [says("all is well")]

    async def act(client: Client) -> None:
        first = await sent(client, message())
        assert await sent(client, message()) == first
        with pytest.raises(InvalidParamsError, match="messageId"):
            await sent(client, message("something else"))

    with_client(sdk, act)
    assert Run.objects.count() == 1


def test_tasks_are_listed_a_page_at_a_time(world: World, sdk: Sdk) -> None:
    world.model.steps = [says("all is well")]

    async def act(client: Client) -> None:
        tasks = [await sent(client, message(id=f"m-{number}")) for number in range(3)]
        if sdk.version == "0.3":
            with pytest.raises(NotImplementedError):
                await client.list_tasks(ListTasksRequest())
            return
        page = await client.list_tasks(ListTasksRequest(page_size=2, include_artifacts=True))
        assert [it.id for it in page.tasks] == [tasks[2].id, tasks[1].id]
        assert page.tasks[0].artifacts[0].parts[0].text == "all is well"
        assert (page.page_size, page.total_size) == (2, 3)
        rest = await client.list_tasks(
            ListTasksRequest(page_size=2, page_token=page.next_page_token)
        )
        assert [it.id for it in rest.tasks] == [tasks[0].id]
        assert not rest.next_page_token
        assert not rest.tasks[0].artifacts
        by_context = ListTasksRequest(
            context_id=tasks[0].context_id, status=TaskState.TASK_STATE_COMPLETED
        )
        assert [it.id for it in (await client.list_tasks(by_context)).tasks] == [tasks[0].id]
        later = ListTasksRequest(status_timestamp_after=tasks[2].status.timestamp)
        assert [it.id for it in (await client.list_tasks(later)).tasks] == [tasks[2].id]

    with_client(sdk, act)


def test_a_task_that_waits_is_canceled_once_and_told_so_again(world: World, sdk: Sdk) -> None:
    world.sql(HOLD)
    world.model.steps = [calls(("v/keyed", {"name": "x"})), says("done")]

    async def act(client: Client) -> None:
        task = await sent(client, message())
        assert task.status.state == TaskState.TASK_STATE_INPUT_REQUIRED
        assert task.status.message.parts[1].data.struct_value["approvals"][0]["call"] == "v/keyed"
        canceled = await client.cancel_task(CancelTaskRequest(id=task.id))
        assert canceled.status.state == TaskState.TASK_STATE_CANCELED
        assert await client.cancel_task(CancelTaskRequest(id=task.id)) == canceled

    with_client(sdk, act)
    assert world.vendor.rows == []


def test_a_subscription_tells_of_the_end(world: World, sdk: Sdk) -> None:
    world.sql(HOLD)
    world.model.steps = [calls(("v/keyed", {"name": "x"})), says("done")]

    async def act(client: Client) -> None:
        seen = [it async for it in client.send_message(message())]
        assert seen[-1].status_update.status.state == TaskState.TASK_STATE_INPUT_REQUIRED
        task_id = seen[0].task.id
        told = client.subscribe(SubscribeToTaskRequest(id=task_id))
        first = await anext(told)
        assert first.task.id == task_id
        await client.cancel_task(CancelTaskRequest(id=task_id))
        last = first
        async for event in told:
            last = event
        assert last.status_update.status.state == TaskState.TASK_STATE_CANCELED

    with_client(sdk, act, streaming=True)


def test_push_configurations_are_set_read_listed_and_deleted(world: World, sdk: Sdk) -> None:
    world.sql(HOLD)
    world.model.steps = [calls(("v/keyed", {"name": "x"})), says("done")]

    async def act(client: Client) -> None:
        task = await sent(client, message())
        wanted = TaskPushNotificationConfig(
            task_id=task.id, id="c-1", url="https://93.184.216.34/told", token="t-1"
        )
        wanted.authentication.scheme = "Bearer"
        wanted.authentication.credentials = "s3cret"
        kept = await client.create_task_push_notification_config(wanted)
        assert (kept.task_id, kept.id, kept.url) == (task.id, "c-1", wanted.url)
        found = await client.get_task_push_notification_config(
            GetTaskPushNotificationConfigRequest(task_id=task.id, id="c-1")
        )
        assert found == kept
        listing = ListTaskPushNotificationConfigsRequest(task_id=task.id)
        listed = await client.list_task_push_notification_configs(listing)
        assert list(listed.configs) == [kept]
        await client.delete_task_push_notification_config(
            DeleteTaskPushNotificationConfigRequest(task_id=task.id, id="c-1")
        )
        assert not (await client.list_task_push_notification_configs(listing)).configs
        await client.cancel_task(CancelTaskRequest(id=task.id))

    with_client(sdk, act)


def test_the_extended_card_tells_the_tools(world: World, sdk: Sdk) -> None:
    async def act(client: Client) -> None:
        card = await client.get_extended_agent_card(GetExtendedAgentCardRequest())
        assert {"triage", "v/keyed"} <= {it.id for it in card.skills}

    with_client(sdk, act)


def test_errors_are_those_of_the_protocol(world: World, sdk: Sdk) -> None:
    world.sql(HOLD)
    world.model.steps = [says("all is well")]
    nobody = "01a2b3c4-0000-7000-8000-000000000000"

    async def act(client: Client) -> None:
        done = await sent(client, message())
        with pytest.raises(TaskNotCancelableError):
            await client.cancel_task(CancelTaskRequest(id=done.id))
        with pytest.raises(TaskNotFoundError):
            await client.get_task(GetTaskRequest(id=nobody))
        with pytest.raises(TaskNotFoundError):
            await client.cancel_task(CancelTaskRequest(id="no id of ours"))
        file = SendMessageRequest(
            message=Message(message_id="m-2", role=Role.ROLE_USER, parts=[Part(url="https://x/y")])
        )
        with pytest.raises(ContentTypeNotSupportedError):
            await sent(client, file)
        with pytest.raises(InvalidParamsError):
            await sent(client, message(" "))
        image = message(id="m-3")
        image.configuration.accepted_output_modes.append("image/png")
        with pytest.raises(ContentTypeNotSupportedError):
            await sent(client, image)

    with_client(sdk, act)


def test_a_message_to_a_task_at_work_is_not_taken(world: World, sdk: Sdk) -> None:
    world.model.steps = [says("all is well")]

    async def act() -> None:
        async with sdk.client(polling=True) as client:
            task = await sent(client, message())
            with pytest.raises(UnsupportedOperationError):
                await sent(client, message("and?", id="m-2", task_id=task.id))

    asyncio.run(act())


def test_a_conversation_goes_on_in_its_context(world: World, sdk: Sdk) -> None:
    world.model.steps = [says("all is well")]

    async def act(client: Client) -> None:
        first = await sent(client, message())
        second = await sent(client, message("and?", id="m-2", context_id=first.context_id))
        assert second.context_id == first.context_id
        assert second.id != first.id

    with_client(sdk, act)
    assert [it.text for it in world.model.asked[-1].messages if it.text] == ["look", "all is well", "and?"]  # fmt: skip


def test_the_mission_of_the_message_is_the_runs(world: World, sdk: Sdk) -> None:
    world.model.steps = [says("all is well")]

    async def act(client: Client) -> None:
        request = message()
        request.message.metadata.update({"io.liyagent/mission": "m-4711"})
        task = await sent(client, request)
        assert task.metadata["io.liyagent/mission"] == "m-4711"

    with_client(sdk, act)
    assert Run.objects.get().mission == "m-4711"


def test_the_mission_in_meta_is_read_though_the_sdk_drops_it(world: World, sdk: Sdk) -> None:
    """The SDK's client has no place for `_meta`; whoever speaks by hand has."""
    world.model.steps = [says("all is well")]
    is_old = sdk.version == "0.3"
    part = {"kind": "text", "text": "look"} if is_old else {"text": "look"}
    body = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "message/send" if is_old else "SendMessage",
        "params": {
            "_meta": {"io.liyagent/mission": "m-4712"},
            "message": {
                "messageId": "m-1",
                "role": "user" if is_old else "ROLE_USER",
                "parts": [part],
            },
        },
    }
    headers = {"Authorization": f"Bearer {sdk.token}", "A2A-Version": sdk.version}
    with carrying():
        url = f"http://127.0.0.1:{sdk.port}/a2a/triage"
        assert httpx.post(url, json=body, headers=headers, trust_env=False).status_code == 200
    assert Run.objects.get().mission == "m-4712"


def test_whoever_has_no_key_is_refused(world: World, sdk: Sdk) -> None:
    sdk.token = "lya_nobody"

    async def act(client: Client) -> None:
        with pytest.raises(A2AError, match="401"):
            await sent(client, message())

    with_client(sdk, act)
