"""People: the playground, a run that is gone on from, and a turn with the co-pilot."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tests.trials.cuts.kinds import ANSWER, TASK
from tests.trials.cuts.ways.visit import Asked


@dataclass(slots=True, kw_only=True)
class Playground(Asked):
    """A run as the console's page starts one."""

    def path(self) -> str:
        return f"/api/agents/{self.agent}/playground"


@dataclass(slots=True, kw_only=True)
class Resume(Asked):
    """A run that goes on from one that was stopped before it did anything."""

    first: str = ""

    def prepare(self) -> None:
        self.first = self.ends.desk.ask("stopped_run", agent=self.agent)

    def is_ready(self, url: str) -> bool:
        told = self.ask(url, "GET", f"/api/runs/{self.first}").body
        return bool(told["status"] == "stopped")

    def path(self) -> str:
        return f"/api/runs/{self.first}/resume"

    def body(self) -> dict[str, Any]:
        return {"despite_unknown": False}


@dataclass(slots=True, kw_only=True)
class Copilot(Asked):
    """The first turn of a conversation."""

    conversation: str = field(default="")

    def prepare(self) -> None:
        self.conversation = self.ends.desk.ask("conversation", agent=self.agent)

    def path(self) -> str:
        return f"/api/copilot/conversations/{self.conversation}/turns"

    def broken(self, url: str, run: str) -> list[str]:
        """The conversation has the turn once, with its answer."""
        told = self.ask(url, "GET", f"/api/copilot/conversations/{self.conversation}").body
        turns = [(it["status"], it["task"], it["answer"]) for it in told["turns_told"]]
        wanted = [("answered", TASK, ANSWER)]
        self.answers = sum(it["answer"] == ANSWER for it in told["turns_told"])
        return [] if turns == wanted else [f"the conversation shows {turns}"]
