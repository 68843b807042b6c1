"""Runs of real processes that wait for a person, each with one write of a vendor that dedupes nothing; and who decides."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
import yaml

from tests.processes.place import Place
from tests.processes.test_waiting_for_people import FORGET
from tests.trials.scripts import AGENTS
from tests.trials.watch import Row

ROUNDS = int(os.environ.get("RACE_ROUNDS", "20"))
AT_ONCE = 4
KIND = "mixed"
POSTURE = "UPDATE agents_agent SET write_posture = %s, may_wait = %s WHERE key = %s RETURNING id"
FILED = """
    SELECT a.id, a.run_id AS run, a.digest FROM approvals_approval a JOIN runs_run r ON r.id = a.run_id
        WHERE a.run_id = ANY(%s) AND a.status = 'pending' AND r.status = %s ORDER BY a.run_id
"""
FILE = ("servicenow/create_incident", {"short_description": "disk 91% [{{ run }}/1]"})
PEOPLE = """
import json
from django.contrib.auth.models import Permission, User
from liyagent.access.keys import create_key
decide = Permission.objects.get(codename="decide", content_type__app_label="approvals")
tokens = {}
for name in ("xena", "yuri"):
    user, _ = User.objects.get_or_create(username=name)
    user.user_permissions.add(decide)
    tokens[name] = create_key(name="races", username=name, days=1).token
print(json.dumps(tokens))
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A request that waits, with what a decision about it wants."""

    id: UUID
    run: UUID
    digest: str


@dataclass(slots=True, kw_only=True)
class Asking:
    """Lets runs ask. `tokens` are the keys of those who may decide: xena's and yuri's."""

    place: Place
    tokens: dict[str, str]
    asked: list[UUID] = field(default_factory=list)

    def ask(self, count: int, *, waits: bool = True, at: str = "AB") -> list[Request]:
        """Start so many runs, and return the request of each once all are filed and nobody carries a run.

        A run that does not wait has gone on without its call, and has ended.
        """
        self.hold(waits=waits)
        sizes = [len(range(it, count, AT_ONCE)) for it in range(AT_ONCE)]
        with ThreadPoolExecutor(AT_ONCE) as threads:
            started = threads.map(
                lambda it: self.place.start_runs(*[KIND] * it[1], at=at[it[0] % len(at)]),
                enumerate(sizes),
            )
            runs = [run for some in started for run in some]
        return self.filed(runs, status="waiting" if waits else "answered")

    def hold(self, *, waits: bool = True) -> None:
        """Let the agent ask before it writes from now on; the vendors answer at once."""
        self.place.stage.set_pace(0)
        self.place.watch.rows(POSTURE, ["hold", waits, AGENTS[KIND]])

    def filed(self, runs: Sequence[UUID], *, status: str = "waiting") -> list[Request]:
        """Return the request of each of these runs once all are filed and the runs stand so."""
        self.asked += runs

        def rows() -> list[Row]:
            return self.place.watch.rows(FILED, [list(runs), status])

        self.place.until(lambda: len(rows()) == len(runs), "the requests", seconds=60)
        return [Request(**it) for it in rows()]

    def say(self, tool: str, args: dict[str, Any], *, delay_seconds: float = 0) -> None:
        """Let the agent ask for this write from now on, and answer with what it was told of it, after a delay."""
        steps = [
            {"text": "I file it.", "calls": [{"tool": tool, "args": args}]},
            {"text": "I was told: {{ results.0 }}", "delay": delay_seconds},
        ]
        self.script.write_text(yaml.safe_dump({"steps": steps}))

    @property
    def script(self) -> Path:
        """What the agent's model says."""
        return Path(self.place.stage.env["LIYAGENT_SCRIPTS_DIR"], f"{AGENTS[KIND]}.yaml")


@pytest.fixture(scope="session")
def tokens(built_place: Place) -> dict[str, str]:
    """The keys of two who may decide and may do nothing else."""
    told: dict[str, str] = json.loads(built_place.stage.manage("shell", "-c", PEOPLE))
    return told


@pytest.fixture
def asking(place: Place, tokens: dict[str, str]) -> Iterator[Asking]:
    """Two whole processes whose agent asks before it writes; afterwards nothing waits any more."""
    asking = Asking(place=place, tokens=tokens)
    asking.say(*FILE)
    yield asking
    for statement in FORGET:
        place.watch.rows(statement, [asking.asked])
    place.watch.rows(POSTURE, ["allow", False, AGENTS[KIND]])
    asking.script.unlink()
