"""A bot, the local connector it is registered at, and a world that its runs are carried in."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from django.conf import settings
from django.db.models.functions import Now
from django.test import Client

from liyagent.entry.deliver import deliver_due
from liyagent.entry.models import Arrival, Delivery
from liyagent.entry.teams.connector import TOKENS
from liyagent.entry.teams.keys import forget_keys
from liyagent.entry.teams.models import TeamsBot, TeamsPerson
from liyagent.providers.types import ModelAnswer
from tests.fakes.teams_channel import PERSON, Channel
from tests.fakes.teams_connector import SECRET, Shown, TeamsConnector
from tests.flows.conftest import make_user
from tests.unit.runs.carrying.conftest import World, never, world

__all__ = ["world"]

SECRET_ENV = "TEAMS_BOT_SECRET"


@dataclass(slots=True, kw_only=True)
class Teams:
    """What a test of this way works with."""

    world: World
    connector: TeamsConnector
    channel: Channel
    bot: TeamsBot

    def post(self, activity: Any, *, token: str | None = None, **headers: str) -> Any:
        """Send an activity to this process; nothing raised comes through."""
        bearer = self.channel.token() if token is None else token
        body = activity if isinstance(activity, bytes) else json.dumps(activity).encode()
        headers.setdefault("authorization", f"Bearer {bearer}")
        return Client(raise_request_exception=False).generic(
            "POST", "/api/messages", body, content_type="application/json", headers=headers
        )

    def say(self, text: str = "disk full on db-1", *steps: ModelAnswer, **facts: Any) -> Arrival:
        """Say something to the bot, whose model will answer `steps`; return what arrived."""
        if steps:
            self.world.model.steps = list(steps)
        answer = self.post(self.channel.message(text, **facts))
        assert answer.status_code == 200, answer.content
        return Arrival.objects.get(run_id=answer.json()["id"])

    def deliver(self) -> int:
        """Hand on what is due."""
        return deliver_due(never, way="teams")

    def later(self) -> None:
        """Let all that waits for its next try be due at one instant, its leases over: what came in first is first."""
        self.world.sql(
            "UPDATE entry_delivery SET next_at = (SELECT liyagent_now()), claimed_until = (SELECT liyagent_now()) "
            "WHERE state = 'pending'"
        )

    def shown(self) -> list[Shown]:
        """What stands in the conversations."""
        return self.connector.messages()

    def states(self, arrival: Arrival) -> dict[str, str]:
        """Where each delivery of a turn stands, by kind."""
        rows = Delivery.objects.filter(run_id=arrival.run_id).order_by("id")
        return dict(rows.values_list("kind", "state"))


@pytest.fixture
def teams(world: World, monkeypatch: pytest.MonkeyPatch) -> Iterator[Teams]:
    """The bot `helpdesk` of the agent `triage`, whose runs are olga's."""
    forget_keys()
    conf = dataclasses.replace(settings.LIYAGENT, allowed_private_hosts=("127.0.0.1",))
    monkeypatch.setattr(settings, "LIYAGENT", conf)
    monkeypatch.setenv(SECRET_ENV, SECRET)
    make_user("olga", "agents.operate")
    with TeamsConnector() as connector:
        bot = TeamsBot.objects.create(
            key="helpdesk",
            agent_key="triage",
            app_id=connector.app_id,
            tenant=connector.tenant,
            secret_env=SECRET_ENV,
            started_by="olga",
            metadata_url=connector.metadata_url,
            token_url=connector.token_url,
            saved_by="test",
            updated_at=Now(),
        )
        TOKENS.forget(bot)
        yield Teams(world=world, connector=connector, channel=connector.channel(), bot=bot)


def known_as(username: str, *, person: str = PERSON) -> TeamsPerson:
    """Say that a Teams account is a user of ours."""
    return TeamsPerson.objects.create(
        aad_object_id=person, username=username, saved_by="test", updated_at=Now()
    )
