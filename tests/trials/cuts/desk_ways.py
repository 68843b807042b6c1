"""What the desk declares and prepares for the ways in, by the verbs."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

from django.db import connection

from liyagent.access.keys import create_key
from liyagent.entry.copilot.conversations import Person, begin_conversation
from liyagent.entry.cron.models import CronTrigger
from liyagent.entry.cron.triggers import save_trigger as save_cron
from liyagent.entry.teams.bots import save_bot
from liyagent.entry.teams.people import save_person
from liyagent.entry.webhooks.triggers import save_trigger
from liyagent.entry.whom import Saver
from runs.start import start_run
from runs.stop import stop_run
from tests.fakes.teams_channel import PERSON, TENANT
from tests.trials.cuts.ends import BOT_SECRET_ENV, WEBHOOK_SECRET_ENV
from tests.trials.cuts.kinds import TASK

ASKER, DECIDER = "admin", "decider"
MOST_A_MINUTE = 1_000
# Once a year: what falls due is one slot, and the next is far away.
YEARLY = "0 0 1 1 *"


def bot(agent: str, app_id: str, metadata_url: str, token_url: str) -> None:
    """Save a bot that an agent answers at, and say who the person there is."""
    given = {
        "agent": agent,
        "app_id": app_id,
        "tenant": TENANT,
        "secret_env": BOT_SECRET_ENV,
        "metadata_url": metadata_url,
        "token_url": token_url,
    }
    save_bot(agent, given, saver=_saver())
    save_person(PERSON, DECIDER, saver=_saver())


def trigger(kind: str, agent: str) -> None:
    """Save a trigger for signed calls."""
    given = {
        "kind": kind,
        "agent": agent,
        "secret_envs": [WEBHOOK_SECRET_ENV],
        "mapping": {"task": TASK},
        "most_a_minute": MOST_A_MINUTE,
        "sample": {"ticket": "1"},
    }
    save_trigger(f"cuts-{kind}", given, saver=_saver())


def key() -> str:
    """Make a key for the API."""
    return create_key(name="cuts", username=ASKER, days=1).token


def cron_trigger(key: str, agent: str) -> None:
    """Save a trigger whose next slot is far away."""
    save_cron(key, {"agent": agent, "task": TASK, "schedule": YEARLY}, saver=_saver())


def fall_due(key: str) -> None:
    """Let the year's slot be due."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT date_trunc('year', liyagent_now() AT TIME ZONE 'UTC') AT TIME ZONE 'UTC'"
        )
        ((slot,),) = cursor.fetchall()
    assert isinstance(slot, datetime)
    CronTrigger.objects.filter(key=key).update(next_slot=slot)


def conversation(agent: str) -> str:
    """Begin a conversation."""
    begun = begin_conversation(
        Person(username=ASKER), agent_key=agent, title="", mission="", request_id=""
    )
    return str(begun.id)


def stopped_run(agent: str) -> str:
    """Start a run that is to stop before it does anything; whoever takes it ends it so."""
    started = start_run(
        agent_key=agent, task=TASK, entry="playground", started_by=ASKER, mission="", request_id=""
    )
    stop_run(run_id=started.run_id, actor=ASKER, reason="it is gone on from")
    return str(started.run_id)


def _saver() -> Saver:
    return Saver(actor=ASKER, username=ASKER, may_name_others=True)


DOES: dict[str, Callable[..., Any]] = {
    "bot": bot,
    "trigger": trigger,
    "key": key,
    "cron_trigger": cron_trigger,
    "fall_due": fall_due,
    "conversation": conversation,
    "stopped_run": stopped_run,
}
