"""The channel of Teams: activities in, and the conversation that its connector shows."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tests.fakes.teams_channel import Channel
from tests.fakes.teams_connector import Shown, TeamsConnector
from tests.trials.cuts.kinds import ANSWER, TASK
from tests.trials.cuts.ways.visit import Told, Visit

WAY = "teams"
TAKEN_ON = 200
# As people are shown it: what judges the product asks nothing of it.
PLACEHOLDER = "I am on it. The answer will appear here."


@dataclass(slots=True, kw_only=True)
class Teams(Visit):
    """A message in a conversation of its own; the same activity again where nobody answered.

    Where its agent has to ask, the card comes into the conversation too, and a person presses its button.
    """

    activity: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """The placeholder and the answer; a card, and the card once it is settled."""
        self.owed = 4 if self.kind.is_held else 2

    @property
    def connector(self) -> TeamsConnector:
        """The connector that the bot is registered at."""
        return self.ends.connectors[self.agent]

    @property
    def channel(self) -> Channel:
        """Who speaks to the bot."""
        return self.connector.channel(conversation=f"a:{self.name}")

    def prepare(self) -> None:
        self.activity = self.channel.message(TASK)

    def play(self, told: Told) -> None:
        """As the rounds come: the placeholder, the run, the answer in the placeholder's place."""
        told.receive(self)
        told.do("deliver", way=WAY)
        told.carry()
        told.do("deliver", way=WAY)
        if self.kind.is_held:
            told.press(self)
            told.do("deliver", way=WAY)
            told.carry()
            told.do("deliver", way=WAY)

    def send(self, url: str) -> None:
        self.is_answered = self.channel.send(url, self.activity).status_code == TAKEN_ON

    def press(self, url: str) -> None:
        """Press the button that approves, of the newest card that has one; a person does so until it is answered."""
        cards = [it for it in self.messages() if it.buttons]
        if cards:
            button = next(it for it in cards[-1].buttons if it["verb"] == "approve")
            pressed = self.channel.press(button, card=cards[-1].id, reason="it may be done")
            self.is_pressed = self.channel.send(url, pressed).status_code == TAKEN_ON

    def messages(self) -> list[Shown]:
        """What stands in the conversation."""
        return self.connector.messages(f"a:{self.name}")

    def broken(self, url: str, run: str) -> list[str]:
        """The answer is kept, and stands in the conversation once."""
        kept, shown = self.answer_broken(url, run), self.shown_broken()
        return shown + kept

    def shown_broken(self) -> list[str]:
        """Messages that bear an answer, or ever bore one, are exactly one; orphans are listed apart (ruling 30).

        So are cards that were posted in doubt and once more: a button of one tells that it is settled.
        """
        words = [[str(form.get("text", "")) for form in it.forms] for it in self.messages()]
        # Whatever it says in place of the placeholder: an excuse beside the answer is a second reply.
        bearing = [it for it in words if set(it) - {PLACEHOLDER, ""}]
        self.orphans = sum(PLACEHOLDER in it for it in words if it not in bearing)
        broken = [] if len(bearing) == 1 else [f"{len(bearing)} messages bear an answer: {words}"]
        if any(set(it) - {PLACEHOLDER, ANSWER} or it[-1] != ANSWER for it in bearing):
            broken.append(f"it is not the answer, or was replaced: {words}")
        elsewhere = {
            it.conversation
            for it in self.connector.messages()
            if it.forms[0].get("replyToId") == self.activity.get("id")
        } - {f"a:{self.name}"}
        if elsewhere:
            broken.append(f"it was answered in {sorted(elsewhere)}")
        cards = [it for it in self.messages() if it.card and not it.text]
        settled = [it for it in cards if not it.buttons]
        self.orphans += len(cards) - len(settled)
        if len(settled) != self.kind.is_held:
            broken.append(f"{len(settled)} settled cards of {len(cards)}")
        self.answers = len(bearing)
        return broken
