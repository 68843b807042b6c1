"""Receive a message: a task kept before anybody is answered, and its run started; sent again it is the same task (ruling 29)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import uuid4

from django.db import transaction
from rest_framework.exceptions import Throttled

from liyagent.access.keys import DatabaseNow
from liyagent.core.canonical import digest
from liyagent.entry.a2a.caller import Asked, mission_of, traceparent_of
from liyagent.entry.a2a.card import open_agent
from liyagent.entry.a2a.decide import check_open, decide_by, decision_in
from liyagent.entry.a2a.errors import BadParams, NoSuchTask, Unsupported
from liyagent.entry.a2a.find import find_task
from liyagent.entry.a2a.history import turns_before
from liyagent.entry.a2a.models import State, Task
from liyagent.entry.a2a.push import Wanted, keep_config, keep_later
from liyagent.entry.a2a.tell import seal_message
from liyagent.entry.a2a.wire import Message, message_of, object_of, task_id_of
from liyagent.entry.arrive import Arriving, keep_arrival
from liyagent.entry.begin import begin_arrival
from liyagent.entry.models import Arrival
from runs.guard import masked_start
from runs.start import LONGEST_TASK

WAY = "a2a"
# Of one caller's tasks that have not ended; a further one is asked to come later, before anything of it is kept.
MOST_OPEN = 1_000
LATER_SECONDS = 5


def receive(asked: Asked, wanted: Wanted | None) -> Task:
    """Return the task of a message: a new one, the one it began before, or the one whose request it decides.

    With a `taskId` of an ended task it begins the next turn of that context; of one that waits for a person, it is a
    decision. Raises `BadParams` (also for a messageId that said something else before), `WrongContent`, `NoSuchTask`,
    `Unsupported` for a task at work, `Throttled` where the caller has too many open.
    """
    message = message_of(asked.params)
    _check_words(message)
    context_id = message.context_id
    if message.task_id:
        task = find_task(asked, task_id_of({"taskId": message.task_id}, "taskId"))
        if context_id and context_id != task.context_id:
            raise BadParams("message.contextId is not that of message.taskId")
        if task.state == State.INPUT_REQUIRED or decision_in(message) is not None:
            return _decided(asked, message, task, wanted)
        check_open(task)
        context_id = task.context_id
    return _begun(asked, message, context_id, wanted)


def _begun(asked: Asked, message: Message, context_id: str, wanted: Wanted | None) -> Task:
    delivery_id = digest([asked.caller.username, message.message_id])
    known = Arrival.objects.filter(way=WAY, source=asked.agent_key, delivery_id=delivery_id)
    words: dict[str, Any] = {"task": message.text}
    if not known.exists():
        _check_burst(asked.caller.username)
        words["history"] = turns_before(asked, context_id) if context_id else []
    with transaction.atomic(durable=True):
        arrived = keep_arrival(
            Arriving(
                way=WAY,
                source=asked.agent_key,
                delivery_id=delivery_id,
                agent_key=asked.agent_key,
                started_by=asked.caller.username,
                words=words,
                mission=mission_of(asked, *_metadata(asked, message)),
                request_id=asked.request_id,
                traceparent=traceparent_of(asked, *_metadata(asked, message)),
                body_digest=message.digest,
            )
        )
        if arrived.is_new:
            task = _kept(asked, message, arrived.run_id, context_id or str(uuid4()))
            if wanted is not None:
                keep_config(task, asked, wanted)
    arrival = Arrival.objects.get(run_id=arrived.run_id)
    if arrival.body_digest != message.digest:
        raise BadParams("message.messageId was used before, of a message that said something else")
    begin_arrival(arrived.run_id)
    found = Task.objects.filter(run_id=arrived.run_id).first()
    if found is None:
        raise NoSuchTask("it ended, and is kept no more", task=arrived.run_id)
    return found


def _kept(asked: Asked, message: Message, run_id: Any, context_id: str) -> Task:
    sealed, key_id = seal_message(run_id, _masked(asked, message))
    return Task.objects.create(
        run_id=run_id,
        agent_key=asked.agent_key,
        owner=asked.caller.username,
        context_id=context_id,
        message_id=message.message_id,
        sealed=sealed,
        key_id=key_id,
        traceparent=traceparent_of(asked, *_metadata(asked, message)),
        created_at=DatabaseNow(),
        changed_at=DatabaseNow(),
    )


def _masked(asked: Asked, message: Message) -> list[dict[str, Any]]:
    """The parts as they may be kept: what the agent's guardrails mask, nobody reads here either."""
    guardrails = open_agent(asked.agent_key).guardrails
    masked, _, acted = masked_start(guardrails, task=message.text, turns=[])
    return [{"text": masked}] if acted else message.parts


def _decided(asked: Asked, message: Message, task: Task, wanted: Wanted | None) -> Task:
    if task.is_ended:
        raise Unsupported("this task has ended: nothing of it waits for a decision", task=task)
    if wanted is not None:
        keep_later(task, asked, wanted)
    decide_by(asked, message, task)
    return find_task(asked, task.run_id)


def _metadata(asked: Asked, message: Message) -> tuple[Mapping[str, Any], ...]:
    return object_of(asked.params, "metadata"), message.metadata


def _check_words(message: Message) -> None:
    text = message.text
    if not text.strip():
        raise BadParams("message.parts say nothing")
    if len(text) > LONGEST_TASK:
        raise BadParams(f"the message has {len(text)} characters; {LONGEST_TASK} is the most")


def _check_burst(username: str) -> None:
    open_tasks = Task.objects.filter(owner=username, ended_at__isnull=True).order_by()
    if open_tasks.values("pk")[:MOST_OPEN].count() >= MOST_OPEN:
        raise Throttled(wait=LATER_SECONDS)
