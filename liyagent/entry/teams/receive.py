"""A message becomes a row, and a run of it, before or after whoever received it dies (CR-04, ruling 29)."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from uuid import UUID

import psycopg
from django.db import DatabaseError, InterfaceError, connection, transaction
from rest_framework.exceptions import Throttled

from liyagent.audit.record import record
from liyagent.core.canonical import digest
from liyagent.core.errors import LiyagentError
from liyagent.core.transactions import forbid_transaction
from liyagent.entry.arrive import Arrived, Arriving, Owed, keep_arrival
from liyagent.entry.begin import begin_arrival
from liyagent.entry.models import Arrival, ArrivalState
from liyagent.entry.teams.activity import TEAMS, Activity, said_to
from liyagent.entry.teams.addresses import SAFE_ADDRESS, is_safe_address
from liyagent.entry.teams.errors import (
    BotDisabled,
    ChannelForbidden,
    OtherBot,
    ServiceForbidden,
    TenantForbidden,
)
from liyagent.entry.teams.history import history_of
from liyagent.entry.teams.models import WAY, TeamsBot
from liyagent.entry.teams.tokens import Vouched

logger = logging.getLogger(__name__)

PLACEHOLDER, ANSWER = "placeholder", "answer"
# So many turns of one bot may be open before another is taken on.
MOST_OPEN, AGAIN_SECONDS = 1_000, 10
TURN = """
INSERT INTO teams_teamsturn (run_id, bot_key, conversation, activity, service_url, person, created_at)
    VALUES (%s, %s, %s, %s, %s, %s, liyagent_now())
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Received:
    """The turn that a message is; `is_new` is false where the channel had sent it before."""

    run_id: UUID
    is_new: bool


def check_sender(activity: Activity, vouched: Vouched) -> TeamsBot:
    """Return the bot that an activity is for, where its token vouches for all that it says.

    Raises `ChannelForbidden`, `ServiceForbidden`, `OtherBot`, `BotDisabled`, `TenantForbidden`; each is in the audit log:
    whoever sent it had a token of the channel.
    """
    try:
        return _checked(activity, vouched)
    except LiyagentError as error:
        record(
            "teams.refused",
            actor="teams",
            detail={
                "bot": vouched.bot.key,
                "why": error.code,
                "type": activity.type,
                "tenant": activity.tenant,
                "person": activity.person,
            },
        )
        raise


def _checked(activity: Activity, vouched: Vouched) -> TeamsBot:
    bot = vouched.bot
    if activity.channel != TEAMS or activity.channel not in vouched.endorsements:
        raise ChannelForbidden
    if activity.service_url.rstrip("/") != vouched.service_url.rstrip("/"):
        raise ServiceForbidden
    if not is_safe_address(activity.service_url):
        raise ServiceForbidden(f"serviceUrl cannot be called; it wants {SAFE_ADDRESS}")
    if activity.recipient and activity.app_id != bot.app_id:
        raise OtherBot("recipient.id is not the bot that the token is for")
    if not bot.is_enabled:
        raise BotDisabled(f"bot {bot.key} is switched off")
    if activity.tenant != bot.tenant:
        raise TenantForbidden("conversation.tenantId is not the tenant of the bot")
    return bot


def receive_message(activity: Activity, *, bot: TeamsBot, request_id: str) -> Received:
    """Keep a message as a turn of its conversation, with what is owed for it; nothing is started yet.

    The same activity again finds the first, whatever it says by then. Raises `NothingSaid`, `ActivityMisshapen`;
    `Throttled` while too many turns of the bot are open.
    """
    forbid_transaction("receiving a message")
    known = Arrival.objects.filter(way=WAY, source=bot.key, delivery_id=activity.delivery_id)
    found = known.values_list("run_id", flat=True).first()
    if found is not None:
        return Received(run_id=found, is_new=False)
    task = said_to(activity)
    _refuse_burst(bot)
    arriving = Arriving(
        way=WAY,
        source=bot.key,
        delivery_id=activity.delivery_id,
        body_digest=digest(activity.raw),
        agent_key=bot.agent_key,
        started_by=bot.started_by,
        words={"task": task, "history": history_of(bot.key, activity.conversation)},
        request_id=request_id,
        owed=_owed(bot, activity),
    )
    with transaction.atomic(durable=True):
        arrived = keep_arrival(arriving)
        if arrived.is_new:
            _keep_turn(arrived, bot, activity)
    return Received(run_id=arrived.run_id, is_new=arrived.is_new)


def begin_received(run_id: UUID) -> None:
    """Start a turn that was kept. What goes wrong is told in the log: the round of any process starts it later."""
    try:
        begin_arrival(run_id)
    except (LiyagentError, DatabaseError, InterfaceError, psycopg.Error) as error:
        logger.warning("turn %s is not started yet: %s", run_id, error)


def _owed(bot: TeamsBot, activity: Activity) -> tuple[Owed, Owed]:
    """First an activity without any answer, and once the run has ended the answer in its place (ruling 30)."""
    address = {"bot": bot.key, "conversation": activity.conversation}
    return (
        Owed(kind=PLACEHOLDER, address=address, state="pending"),
        Owed(kind=ANSWER, address=address),
    )


def _keep_turn(arrived: Arrived, bot: TeamsBot, activity: Activity) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            TURN,
            [
                arrived.run_id, bot.key, activity.conversation, activity.id, activity.service_url, activity.person,
            ],
        )  # fmt: skip


def _refuse_burst(bot: TeamsBot) -> None:
    is_open = (ArrivalState.RECEIVED, ArrivalState.STARTED)
    open_turns = Arrival.objects.filter(way=WAY, source=bot.key, state__in=is_open)
    if open_turns.order_by().values("run_id")[:MOST_OPEN].count() >= MOST_OPEN:
        raise Throttled(
            wait=AGAIN_SECONDS,
            detail=f"{MOST_OPEN} turns of this bot are open; none is taken on until some ended.",
        )
