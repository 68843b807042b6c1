"""The other ends that are there throughout: connectors, a receiver of pushes, and the desk; reached through proxies."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any, Protocol
from uuid import uuid4

from tests.fakes.signer import new_secret
from tests.fakes.teams_connector import SECRET, TeamsConnector
from tests.fakes.webhook_receiver import Receiver
from tests.trials.cuts.gate import Gate
from tests.trials.cuts.kinds import KINDS
from tests.trials.cuts.proxies import EndProxy

BOT_SECRET_ENV, WEBHOOK_SECRET_ENV = "CUTS_BOT_SECRET", "CUTS_WEBHOOK_SECRET"


class Desk(Protocol):
    """The process that declares and prepares."""

    def ask(self, what: str, **given: Any) -> Any:
        """Have it do one thing."""


@dataclass(slots=True, kw_only=True)
class Ends:
    """What is at the other end. `connectors` by the agent that answers there; `token` is a key for the API."""

    connectors: Mapping[str, TeamsConnector]
    receiver: Receiver
    receiver_url: str
    webhook_secret: str
    desk: Desk
    token: str = ""

    def declare(self) -> None:
        """Have bots, triggers and a key; nothing of the ways has come in before."""
        for agent, connector in self.connectors.items():
            self.desk.ask(
                "bot",
                agent=agent,
                app_id=connector.app_id,
                metadata_url=connector.metadata_url,
                token_url=connector.token_url,
            )
        for it in KINDS:
            if it.way in {"webhook", "ticket"}:
                self.desk.ask("trigger", kind=it.way, agent=it.agent)
        self.token = self.desk.ask("key")


def secrets_of_ends(secret: str) -> dict[str, str]:
    """Return the environment that bots and triggers name."""
    return {BOT_SECRET_ENV: SECRET, WEBHOOK_SECRET_ENV: secret}


@contextmanager
def other_ends(gate: Gate) -> Iterator[Ends]:
    """Have the other ends listen, each behind a proxy whose address is the only one that is told."""
    with ExitStack() as stack:
        connectors = {}
        for it in KINDS:
            if it.way == "teams":
                connector = stack.enter_context(TeamsConnector(app_id=str(uuid4())))
                proxy = stack.enter_context(EndProxy(connector.url, gate, name="connector"))
                connector.url = proxy.url
                connectors[it.agent] = connector
        receiver = stack.enter_context(Receiver())
        push = stack.enter_context(EndProxy(receiver.url, gate, name="receiver"))
        yield Ends(
            connectors=connectors,
            receiver=receiver,
            receiver_url=push.url,
            webhook_secret=new_secret(),
            desk=_NoDesk(),
        )


class _NoDesk:
    """Before the desk is there."""

    def ask(self, what: str, **given: Any) -> Any:
        """Nobody does anything yet."""
        raise AssertionError(what)
