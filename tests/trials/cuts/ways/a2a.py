"""Another agent: it sends a message, and is told of its task where it wants to be."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from tests.fakes.a2a_client import A2aClient
from tests.trials.cuts.kinds import ANSWER, TASK
from tests.trials.cuts.ways.visit import Told, Visit

WAY = "a2a"


@dataclass(slots=True, kw_only=True)
class A2a(Visit):
    """A message with a push configuration; the same message again where nobody answered."""

    owed: int = 1
    message: dict[str, Any] = field(default_factory=dict)
    task: str = ""

    def client(self, url: str) -> A2aClient:
        """Ask the process at `url`."""
        port = urlsplit(url).port
        assert port
        return A2aClient(port=port, token=self.ends.token, agent=self.agent)

    def prepare(self) -> None:
        self.message = self.client("http://127.0.0.1:1").message(TASK)

    def play(self, told: Told) -> None:
        told.receive(self)
        told.carry()
        told.do("deliver", way=WAY)

    def send(self, url: str) -> None:
        push = {"url": self.ends.receiver_url, "token": self.name}
        told = self.client(url).send(self.message, waits=False, taskPushNotificationConfig=push)
        self.task, self.is_answered = told["id"], True

    def broken(self, url: str, run: str) -> list[str]:
        """The task is completed with its artifact; each state was pushed at least once, and all of one state are alike."""
        task = self.client(url).get(run)
        parts = [part["text"] for it in task.get("artifacts", []) for part in it["parts"]]
        broken = [] if self.task in {"", run} else [f"the task is {self.task}, its run {run}"]
        if (self.client(url).state(task), parts) != ("completed", [ANSWER]):
            broken.append(f"the task is {task['status']['state']} with {parts}")
        pushed = [
            it.told["task"]
            for it in self.ends.receiver.received
            if it.headers.get("x-a2a-notification-token") == self.name
        ]
        told = {(it["id"], it["status"]["state"], it["status"]["timestamp"]) for it in pushed}
        if [(it[0], it[1]) for it in told] != [(run, "TASK_STATE_COMPLETED")]:
            broken.append(f"its caller was told {sorted(told)}")
        self.answers = len(told)
        return broken
