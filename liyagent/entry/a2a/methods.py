"""Each method of the protocol by its name in either version, and what it answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from liyagent.core.streams import Source
from liyagent.entry.a2a.caller import Asked
from liyagent.entry.a2a.cancel import cancel
from liyagent.entry.a2a.card import extended_card_of, open_agent
from liyagent.entry.a2a.errors import Unsupported
from liyagent.entry.a2a.find import find_task, list_tasks
from liyagent.entry.a2a.follow import (
    MOST_WAIT_SECONDS,
    answer_when_settled,
    check_room,
    follow,
    followed,
)
from liyagent.entry.a2a.models import SETTLED, Task
from liyagent.entry.a2a.push import (
    Wanted,
    config_told,
    delete_config,
    find_config,
    list_configs,
    set_config,
    wanted_of,
)
from liyagent.entry.a2a.receive import receive
from liyagent.entry.a2a.tell import Shown, in_form, task_event, task_told
from liyagent.entry.a2a.wire import (
    Version,
    check_modes,
    history_length_of,
    is_blocking,
    object_of,
    task_id_of,
    truth_of,
)

CANCEL_SECONDS = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What a method answers. With a `source` it is streamed, or comes later; `now` is it where nothing here can wait."""

    result: Any = None
    now: Callable[[], Any] | None = None
    source: Source | None = None
    is_stream: bool = False


Method = Callable[[Asked], Reply]


def send(asked: Asked) -> Reply:
    """Take a message; wait for the task's end, or for what it wants, unless the caller does not."""
    configuration = object_of(asked.params, "configuration")
    shown = Shown(history_length=history_length_of(configuration))
    is_waiting = is_blocking(configuration, asked.version)
    task = receive(asked, _wanted(asked, configuration))
    if is_waiting and task.state not in SETTLED:
        return _later(asked, task, lambda it: _answered(asked, it, shown), MOST_WAIT_SECONDS)
    return Reply(result=_answered(asked, task, shown))


def stream(asked: Asked) -> Reply:
    """Take a message, and tell of its task until it ends or wants something."""
    check_room()
    configuration = object_of(asked.params, "configuration")
    history_length_of(configuration)
    task = receive(asked, _wanted(asked, configuration))
    it = followed(asked, task, until_input=True, from_now=False)
    return Reply(source=lambda: follow(it), is_stream=True)


def get(asked: Asked) -> Reply:
    """Show a task."""
    task = find_task(asked, task_id_of(asked.params, "id"))
    shown = Shown(history_length=history_length_of(asked.params))
    return Reply(result=in_form(task_told(task, asked.caller, shown), asked.version))


def list_own(asked: Asked) -> Reply:
    """Show a page of the caller's tasks; their messages and answers where they are asked for."""
    shown = Shown(
        history_length=history_length_of(asked.params) or 0,
        with_artifacts=bool(truth_of(asked.params, "includeArtifacts")),
    )
    page = list_tasks(asked)
    told = [task_told(it, asked.caller, shown) for it in page.tasks]
    sizes = {"pageSize": page.size, "totalSize": page.total}
    return Reply(result={"tasks": told, "nextPageToken": page.next_token, **sizes})


def stop(asked: Asked) -> Reply:
    """Cancel a task, and wait a little for its run to stop."""
    task = cancel(asked)
    if task.is_ended:
        return Reply(result=_shown(asked, task))
    return _later(asked, task, lambda it: _shown(asked, it), CANCEL_SECONDS)


def subscribe(asked: Asked) -> Reply:
    """Tell of a task from now on, or from the event after `Last-Event-ID`, until it ends."""
    check_room()
    task = find_task(asked, task_id_of(asked.params, "id"))
    if task.is_ended:
        raise Unsupported(f"this task is {task.state}; get it", task=task.run_id)
    it = followed(asked, task, until_input=False, from_now=True)
    return Reply(source=lambda: follow(it), is_stream=True)


def set_push(asked: Asked) -> Reply:
    """Keep where the caller wants to be told of a task."""
    return Reply(result=config_told(set_config(asked), asked.version))


def get_push(asked: Asked) -> Reply:
    """Show one of the caller's configurations."""
    return Reply(result=config_told(find_config(asked), asked.version))


def list_push(asked: Asked) -> Reply:
    """Show all of the caller's configurations of a task."""
    told = [config_told(it, asked.version) for it in list_configs(asked)]
    return Reply(result=told if asked.version is Version.V03 else {"configs": told})


def delete_push(asked: Asked) -> Reply:
    """Delete one of the caller's configurations."""
    delete_config(asked)
    return Reply()


def extended_card(asked: Asked) -> Reply:
    """Show the card for who may ask."""
    return Reply(result=extended_card_of(open_agent(asked.agent_key), url=asked.base_url))


METHODS: Mapping[Version, Mapping[str, Method]] = MappingProxyType(
    {
        Version.V10: {
            "SendMessage": send,
            "SendStreamingMessage": stream,
            "GetTask": get,
            "ListTasks": list_own,
            "CancelTask": stop,
            "SubscribeToTask": subscribe,
            "CreateTaskPushNotificationConfig": set_push,
            "GetTaskPushNotificationConfig": get_push,
            "ListTaskPushNotificationConfigs": list_push,
            "DeleteTaskPushNotificationConfig": delete_push,
            "GetExtendedAgentCard": extended_card,
        },
        Version.V03: {
            "message/send": send,
            "message/stream": stream,
            "tasks/get": get,
            "tasks/cancel": stop,
            "tasks/resubscribe": subscribe,
            "tasks/pushNotificationConfig/set": set_push,
            "tasks/pushNotificationConfig/get": get_push,
            "tasks/pushNotificationConfig/list": list_push,
            "tasks/pushNotificationConfig/delete": delete_push,
            "agent/getAuthenticatedExtendedCard": extended_card,
            # What the SDK's client of 0.3 asks for.
            "agent/authenticatedExtendedCard": extended_card,
        },
    }
)


def _wanted(asked: Asked, configuration: Mapping[str, Any]) -> Wanted | None:
    check_modes(configuration)
    is_old = asked.version is Version.V03
    name = "pushNotificationConfig" if is_old else "taskPushNotificationConfig"
    return wanted_of(object_of(configuration, name), asked.version)


def _later(asked: Asked, task: Task, told: Callable[[Task], Any], seconds: float) -> Reply:
    return Reply(
        now=lambda: told(task),
        source=lambda: answer_when_settled(asked, task.run_id, told, seconds=seconds),
    )


def _answered(asked: Asked, task: Task, shown: Shown) -> dict[str, Any]:
    return task_event(task_told(task, asked.caller, shown), asked.version)


def _shown(asked: Asked, task: Task) -> dict[str, Any]:
    return in_form(task_told(task, asked.caller), asked.version)
