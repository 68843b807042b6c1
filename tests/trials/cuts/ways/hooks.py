"""Senders of webhooks and ticket events, which sign what they send."""

from __future__ import annotations

from dataclasses import dataclass

from tests.fakes.signer import Signer
from tests.trials.cuts.ways.visit import Visit

WEBHOOK, TICKET = "cuts-webhook", "cuts-ticket"
ACCEPTED = 202


@dataclass(slots=True, kw_only=True)
class Webhook(Visit):
    """A signed call. Its sender sends it again until it is told that it was accepted."""

    trigger: str = WEBHOOK

    def send(self, url: str) -> None:
        signer = Signer(url=f"{url}/hooks/{self.trigger}", secrets=[self.ends.webhook_secret])
        replied = signer.send({"ticket": self.name}, message=f"msg_{self.name}")
        self.is_answered = replied.status == ACCEPTED


@dataclass(slots=True, kw_only=True)
class Ticket(Webhook):
    """A ticket event. Its sender never sends again what was kept, told so or not: nothing of that may be lost."""

    trigger: str = TICKET
    resends: bool = False
