"""Begin a conversation, and find those that one may see."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from uuid import UUID

from django.db import transaction
from rest_framework.exceptions import Throttled

from liyagent.access.keys import DatabaseNow
from liyagent.agents.channels import is_open
from liyagent.agents.errors import AgentUnknown, ChannelClosed
from liyagent.audit.record import record
from liyagent.core.errors import BadInput
from liyagent.core.ids import new_id
from liyagent.core.paging import (
    PAGING,
    Page,
    bad_cursor,
    check_names,
    limit_of,
    read_cursor,
    write_cursor,
)
from liyagent.core.plain import clean_text
from liyagent.entry.copilot.errors import ConversationUnknown
from liyagent.entry.copilot.models import Conversation, Turn
from runs.authority import AgentNow, agent_now
from runs.begin import current_config

WAY = "copilot"
LONGEST_TITLE = 200
# Of one person's conversations in which nothing was asked yet; a further one is asked to come later.
MOST_EMPTY = 100
LATER_SECONDS = 60
FILTERS = ("owner", *PAGING)


@dataclass(frozen=True, slots=True, kw_only=True)
class Person:
    """Who asks: one's own conversations alone, but for who may see all; whose words one may read besides one's own."""

    username: str
    sees_all: bool = False
    reads_words: bool = False


def begin_conversation(
    person: Person, *, agent_key: str, title: str, mission: str, request_id: str
) -> Conversation:
    """Keep a new conversation with an agent. Nothing is started.

    Raises `AgentUnknown`, `ChannelClosed`, `BadInput`, `Throttled` where too many of the person's are empty.
    """
    title = clean_text(title).strip()
    if len(title) > LONGEST_TITLE:
        raise BadInput(f"title has {len(title)} characters; {LONGEST_TITLE} is the most")
    open_agent(agent_key)
    empty = Conversation.objects.filter(owner=person.username, turns=0).order_by()
    if empty.values("pk")[:MOST_EMPTY].count() >= MOST_EMPTY:
        raise Throttled(wait=LATER_SECONDS)
    conversation_id = new_id()
    with transaction.atomic(durable=True):
        found = Conversation.objects.create(
            id=conversation_id,
            agent_key=agent_key,
            owner=person.username,
            title=title,
            mission=mission or str(conversation_id),
            created_at=DatabaseNow(),
            changed_at=DatabaseNow(),
        )
        record(
            "copilot.conversation_begun",
            actor=person.username,
            mission=found.mission,
            request_id=request_id,
            detail={"conversation": str(found.id), "agent": agent_key},
        )
    return Conversation.objects.get(id=conversation_id)


def open_agent(agent_key: str) -> AgentNow:
    """Return an agent that permits co-pilot turns. Raises `AgentUnknown`, `ChannelClosed`."""
    agent = agent_now(agent_key, config=current_config())
    if agent is None:
        raise AgentUnknown(agent=agent_key)
    if not is_open(agent.channels, WAY):
        permitted = ", ".join(agent.channels)
        raise ChannelClosed(f"agent {agent_key} permits runs by {permitted}, not by {WAY}")
    return agent


def find_conversation(person: Person, conversation_id: UUID) -> Conversation:
    """Return the person's own, or anybody's for who may see all. Raises `ConversationUnknown`, alike for both."""
    found = Conversation.objects.filter(id=conversation_id).first()
    if found is None or not (person.sees_all or found.owner == person.username):
        raise ConversationUnknown(conversation=conversation_id)
    return found


def page_of_conversations(person: Person, asked: Mapping[str, str]) -> Page[Conversation]:
    """Return a page of the person's own, or of the `owner` named, newest first. Raises `BadInput`."""
    check_names(asked, FILTERS)
    limit = limit_of(asked)
    owner = asked.get("owner", person.username)
    if owner != person.username and not person.sees_all:
        raise BadInput(
            "owner wants yourself: to see those of others needs the permission to see runs"
        )
    rows = Conversation.objects.filter(owner=owner)
    if "cursor" in asked:
        rows = rows.filter(id__lt=_id_in(asked["cursor"]))
    found = list(rows.order_by("-id")[: limit + 1])
    more = write_cursor([str(found[limit - 1].id)]) if len(found) > limit else ""
    return Page(rows=found[:limit], next_cursor=more)


def page_of_turns(conversation: Conversation, asked: Mapping[str, str]) -> Page[Turn]:
    """Return a page of a conversation's turns, in their order. Raises `BadInput`."""
    check_names(asked, PAGING)
    limit = limit_of(asked)
    rows = Turn.objects.filter(conversation=conversation)
    if "cursor" in asked:
        rows = rows.filter(number__gt=_number_in(asked["cursor"]))
    found = list(rows.order_by("number")[: limit + 1])
    more = write_cursor([str(found[limit - 1].number)]) if len(found) > limit else ""
    return Page(rows=found[:limit], next_cursor=more)


def _id_in(cursor: str) -> UUID:
    (text,) = read_cursor(cursor, parts=1)
    try:
        return UUID(text)
    except ValueError:
        raise bad_cursor() from None


def _number_in(cursor: str) -> int:
    (text,) = read_cursor(cursor, parts=1)
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise bad_cursor()
    return int(text)
