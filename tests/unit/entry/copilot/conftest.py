"""A person and a conversation of theirs, in the small world that runs are carried in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import pytest

from liyagent.entry.copilot.conversations import Person, begin_conversation
from liyagent.entry.copilot.models import Conversation, Turn
from liyagent.entry.copilot.receive import Asking, Taken, ask_turn
from runs.models import Run
from tests.flows.conftest import make_user
from tests.unit.runs.carrying.conftest import World, says


@dataclass(slots=True)
class Talk:
    """Ann's conversation with the agent."""

    world: World
    person: Person
    conversation: Conversation

    def ask(self, task: str, *, key: str = "", digest: str = "", by: str = "") -> Taken:
        """Ask the next turn, or find the one of the key."""
        asking = Asking(
            conversation_id=self.conversation.id,
            task=task,
            key=key,
            body_digest=digest or task,
            request_id="",
        )
        return ask_turn(Person(username=by) if by else self.person, asking)

    def answered(self, task: str, answer: str, **facts: Any) -> Turn:
        """Ask a turn and have it answered."""
        self.world.model.steps = [says(answer)]
        turn = self.ask(task, **facts).turn
        assert self.world.process(uuid4().hex).carry().status == "answered"
        turn.refresh_from_db()
        return turn

    def run_of(self, turn: Turn) -> Run:
        return Run.objects.get(id=turn.run_id)

    def told_to_the_model(self) -> list[tuple[str, str]]:
        """The messages of the last request to the model."""
        return [(it.role.value, it.text) for it in self.world.model.asked[-1].messages]


@pytest.fixture
def talk(world: World) -> Talk:
    """Ann, who may operate agents, and an empty conversation with `triage`."""
    make_user("ann", "agents.operate")
    person = Person(username="ann")
    conversation = begin_conversation(
        person, agent_key="triage", title="disks", mission="", request_id=""
    )
    return Talk(world=world, person=person, conversation=conversation)
