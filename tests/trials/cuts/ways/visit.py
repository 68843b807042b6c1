"""What one cut of a way in is made of: a delivery from the other end, and what became of it there."""

from __future__ import annotations

import http.client
import json
from dataclasses import dataclass, field
from typing import Any, Protocol
from uuid import uuid4

from tests.trials.cuts.ends import Ends
from tests.trials.cuts.kinds import ANSWER, TASK, RunKind

ANSWER_SECONDS = 10.0


class Told(Protocol):
    """Who does what a visit wants: the victim, unless it was struck."""

    def do(self, act: str, **given: Any) -> Any:
        """Have the victim do an act."""

    def receive(self, visit: Visit) -> None:
        """Have the victim serve, and send it what the visit sends."""

    def press(self, visit: Visit) -> None:
        """Have the victim serve, and a person decide."""

    def carry(self) -> None:
        """Have the victim carry what came of it."""


@dataclass(slots=True, kw_only=True)
class Visit:
    """One delivery. `resends`: whether it is sent again where nobody answered although it was kept."""

    ends: Ends
    kind: RunKind
    name: str = field(default_factory=lambda: uuid4().hex[:12])
    is_answered: bool = False
    is_pressed: bool = False
    resends: bool = True
    # How many deliveries its run is owed.
    owed: int = 0
    # Once judged: how often the answer stands at this end; placeholders that nothing took the place of.
    answers: int = 0
    orphans: int = 0

    @property
    def agent(self) -> str:
        """The agent that it is for."""
        return self.kind.agent

    def prepare(self) -> None:
        """Have what is needed before; the survivor takes nothing meanwhile."""

    def is_ready(self, url: str) -> bool:
        """Whether what was prepared has come to be, at the survivor's."""
        return True

    def play(self, told: Told) -> None:
        """What happens while nothing is struck."""
        told.receive(self)
        told.carry()

    def send(self, url: str) -> None:
        """Send it to the process at `url`, the same each time; `is_answered` once it is taken on. Raises `OSError`."""
        raise NotImplementedError

    def press(self, url: str) -> None:
        """Decide what is asked, where the way has a button for it."""

    def broken(self, url: str, run: str) -> list[str]:
        """Say how the promise broke at this end; `url` is the survivor's."""
        return self.answer_broken(url, run)

    def answer_broken(self, url: str, run: str) -> list[str]:
        """The answer is kept on the run, whoever asks for it (CR-08)."""
        told = self.ask(url, "GET", f"/api/runs/{run}").body
        answer = told.get("answer")
        if answer != ANSWER:
            return [f"the answer of the run is {answer!r}"]
        self.answers = max(1, self.answers)
        return []

    def ask(self, url: str, method: str, path: str, body: Any = None, **headers: str) -> Answer:
        """Ask the API as who has a key. Raises `OSError`, `HTTPException` where nobody answers."""
        named = {it.replace("_", "-"): value for it, value in headers.items()}
        named |= {"authorization": f"Bearer {self.ends.token}", "content-type": "application/json"}
        connection = http.client.HTTPConnection(url.removeprefix("http://"), timeout=ANSWER_SECONDS)
        try:
            connection.request(method, path, None if body is None else json.dumps(body), named)
            answer = connection.getresponse()
            return Answer(status=answer.status, body=json.loads(answer.read() or b"{}"))
        finally:
            connection.close()


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What came back."""

    status: int
    body: dict[str, Any]


@dataclass(slots=True, kw_only=True)
class Asked(Visit):
    """One that asks the API, by a key of its own each time it comes anew."""

    def path(self) -> str:
        """Where it asks."""
        raise NotImplementedError

    def body(self) -> dict[str, Any]:
        """What it asks."""
        return {"task": TASK}

    def send(self, url: str) -> None:
        """Ask; the same key finds the first."""
        answer = self.ask(url, "POST", self.path(), self.body(), idempotency_key=self.name)
        self.is_answered = answer.status in {200, 202}
