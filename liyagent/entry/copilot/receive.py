"""A turn becomes a row and its run in one decision, before anybody is answered; asked again it is the same (ruling 29)."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from uuid import UUID, uuid4

import psycopg
from django.db import DatabaseError, InterfaceError, transaction
from rest_framework.exceptions import Throttled

from liyagent.access.keys import DatabaseNow
from liyagent.core.errors import BadInput
from liyagent.core.plain import clean_text
from liyagent.core.transactions import forbid_transaction
from liyagent.entry.arrive import Arriving, keep_arrival
from liyagent.entry.begin import begin_arrival, check_begun
from liyagent.entry.copilot.conversations import WAY, Person, open_agent
from liyagent.entry.copilot.errors import (
    ConversationBusy,
    ConversationUnknown,
    TurnKeyReused,
    TurnOpen,
)
from liyagent.entry.copilot.history import Before, turns_before
from liyagent.entry.copilot.models import Conversation, Turn
from liyagent.entry.copilot.words import seal_asked
from liyagent.entry.models import Arrival
from runs.guard import masked_start
from runs.start import LONGEST_TASK

logger = logging.getLogger(__name__)

# Of one person's turns that have not ended; a further one is asked to come later, before anything of it is kept.
MOST_OPEN = 200
LATER_SECONDS = 5
MOST_LOOKS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Asking:
    """One request: what is asked, and by which key it is known when it comes again."""

    conversation_id: UUID
    task: str
    key: str
    body_digest: str
    request_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """A turn that is kept; `is_new` is false where its key had named it before."""

    turn: Turn
    is_new: bool


def ask_turn(person: Person, asking: Asking) -> Taken:
    """Keep the next turn of the person's conversation and start its run; with the key of an earlier one, find that.

    Raises `ConversationUnknown`, also for another's; `TurnOpen` naming the run that works; `TurnKeyReused`, `BadInput`,
    `Throttled`; `ArrivalRefused` where its agent may not start it: the turn is kept as refused, and the next may be asked.
    """
    forbid_transaction("asking a turn")
    task = _checked(asking.task)
    for _ in range(MOST_LOOKS):
        conversation = Conversation.objects.filter(id=asking.conversation_id).first()
        if conversation is None or conversation.owner != person.username:
            raise ConversationUnknown(conversation=asking.conversation_id)
        # An open turn may be this very one, kept by another request since the first look.
        known = _known(asking) or _check_open(conversation, asking)
        taken = known or _kept(conversation, asking, task)
        if taken is not None:
            return _begun(taken)
    raise ConversationBusy(conversation=asking.conversation_id)


def _kept(seen: Conversation, asking: Asking, task: str) -> Taken | None:
    """Keep the turn behind those that were seen; None where one was asked meanwhile."""
    _check_burst(seen.owner)
    before = turns_before(seen)
    guardrails = open_agent(seen.agent_key).guardrails
    masked, _, _ = masked_start(guardrails, task=task, turns=[])
    with transaction.atomic(durable=True):
        now = Conversation.objects.select_for_update().filter(id=seen.id).first()
        if now is None:
            raise ConversationUnknown(conversation=seen.id)
        if now.turns != seen.turns:
            return None
        arrived = keep_arrival(_arriving(now, asking, task, before))
        if not arrived.is_new:
            return None
        now.turns += 1
        sealed, key_id = seal_asked(arrived.run_id, masked)
        turn = Turn.objects.create(
            conversation=now,
            number=now.turns,
            run_id=arrived.run_id,
            sealed=sealed,
            key_id=key_id,
            given=before.given,
            left_out=before.left_out,
            asked_at=DatabaseNow(),
        )
        now.changed_at = DatabaseNow()
        now.save(update_fields=["turns", "changed_at"])
    return Taken(turn=turn, is_new=True)


def _arriving(conversation: Conversation, asking: Asking, task: str, before: Before) -> Arriving:
    return Arriving(
        way=WAY,
        source=str(conversation.id),
        delivery_id=asking.key or f"turn {uuid4()}",
        agent_key=conversation.agent_key,
        started_by=conversation.owner,
        words={"task": task, "history": before.history},
        mission=conversation.mission,
        request_id=asking.request_id,
        body_digest=asking.body_digest,
    )


def _known(asking: Asking) -> Taken | None:
    if not asking.key:
        return None
    source = str(asking.conversation_id)
    arrival = (
        Arrival.objects.filter(way=WAY, source=source, delivery_id=asking.key)
        .defer("sealed")
        .first()
    )
    if arrival is None:
        return None
    if arrival.body_digest != asking.body_digest:
        raise TurnKeyReused(key=asking.key, run=arrival.run_id)
    return Taken(turn=Turn.objects.get(run_id=arrival.run_id), is_new=False)


def _begun(taken: Taken) -> Taken:
    """It is kept: whatever keeps it from being started now, the round of any process starts it."""
    try:
        check_begun(begin_arrival(taken.turn.run_id))
    except (DatabaseError, InterfaceError, psycopg.Error) as error:
        logger.warning("turn %s is not started yet: %s", taken.turn.run_id, error)
    return taken


def _check_open(conversation: Conversation, asking: Asking) -> Taken | None:
    """Return the open turn where it is the one that is asked. Raises `TurnOpen` for another."""
    turn = Turn.objects.filter(conversation=conversation, ended_at__isnull=True).first()
    if turn is None:
        return None
    known = _known(asking)
    if known is None:
        raise TurnOpen(f"turn {turn.number} has not ended; its run is {turn.run_id}")
    return known


def _check_burst(owner: str) -> None:
    open_turns = Turn.objects.filter(conversation__owner=owner, ended_at__isnull=True).order_by()
    if open_turns.values("pk")[:MOST_OPEN].count() >= MOST_OPEN:
        raise Throttled(wait=LATER_SECONDS)


def _checked(text: str) -> str:
    task = clean_text(text)
    if not task.strip():
        raise BadInput("task is empty; it wants what the agent is asked to do")
    if len(task) > LONGEST_TASK:
        raise BadInput(f"task has {len(task)} characters; {LONGEST_TASK} is the most")
    return task
