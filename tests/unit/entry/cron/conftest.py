"""Cron in the small world: a clock that is set, a trigger, and what became of its slots."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

import pytest

from liyagent.entry.cron.fire import fire_due
from liyagent.entry.cron.models import CronFire, CronTrigger
from liyagent.entry.cron.triggers import save_trigger
from liyagent.entry.whom import Saver
from tests.flows.conftest import make_user
from tests.unit.runs.carrying.conftest import World, never, says

OLGA = Saver(actor="olga", username="olga")
SHELL = Saver(actor="cli:root", may_name_others=True)
MOVED = "CREATE OR REPLACE FUNCTION liyagent_now() RETURNS timestamptz LANGUAGE sql VOLATILE AS $$ SELECT '{}'::timestamptz $$"


@dataclass(slots=True, kw_only=True)
class Cron:
    """A world with a clock that stands where it was set."""

    world: World

    def at(self, moment: str) -> None:
        """Set the one clock: an instant in UTC, such as `2026-10-25T00:30`."""
        self.world.sql(MOVED.format(datetime.fromisoformat(moment + "+00:00").isoformat()))

    def save(self, schedule: str = "30 2 * * *", *, key: str = "nightly", **facts: Any) -> CronTrigger:  # fmt: skip
        """Keep a trigger."""
        given = {"agent": "triage", "task": "look at the disks", "schedule": schedule, **facts}
        return save_trigger(key, given, saver=OLGA)

    def look(self) -> int:
        """Look once, as the round of a process does."""
        return fire_due(never)

    def carry(self) -> None:
        """Let a process carry what was started to its end."""
        process = self.world.process()
        for run_id, attempt in process.take():
            process.go_on(run_id, attempt)

    def fires(self, key: str = "nightly") -> list[tuple[str, str]]:
        """The slots, or names, of what was recorded, oldest first, and what became of each."""
        rows = CronFire.objects.filter(source=key).order_by("delivery_id")
        return [(it.delivery_id, it.outcome or it.state) for it in rows]

    def trigger(self, key: str = "nightly") -> CronTrigger:
        """The trigger as it stands."""
        return CronTrigger.objects.get(key=key)


@pytest.fixture
def cron(world: World) -> Cron:
    """Olga may operate; the model says that it is done."""
    make_user("olga", "agents.operate", "agents.view_agent", "runs.view_run")
    world.model.steps = [says("done")]
    return Cron(world=world)
