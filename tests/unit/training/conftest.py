"""Runs to learn from, and a hand that works on jobs."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import pytest
from django.conf import settings

from liyagent.agents.models import Agent
from liyagent.audit.models import AuditRow
from liyagent.jobs.after_end import do_after_end
from liyagent.jobs.models import Job
from liyagent.jobs.take import IN_HAND
from liyagent.jobs.work import work_due
from liyagent.leases.holding import end_holder, register_holder
from liyagent.leases.identity import own_identity
from liyagent.leases.own import OWN
from liyagent.providers.types import ModelAnswer
from runs.models import Run
from tests.unit.runs.carrying.conftest import World, says, world

__all__ = ["world"]


def never() -> bool:
    return False


@dataclass(slots=True)
class School:
    """What a test works with: `world` carries runs, hands work on jobs."""

    world: World

    def ran(self, *steps: ModelAnswer, task: str = "look after it", **facts: Any) -> Run:
        """Carry a run to its end."""
        self.world.start(*(steps or [says("it is looked after")]), task=task, **facts)
        return self.world.process("runner").carry()

    def recorded(self, count: int) -> None:
        """So many runs whose words are kept."""
        Agent.objects.filter(key="triage").update(recording="full")
        for number in range(count):
            self.ran(says(f"answer {number}"), task=f"question {number}")

    def unrecorded(self) -> None:
        """One run whose words nobody keeps."""
        Agent.objects.filter(key="triage").update(recording="metadata")
        self.ran(says("nobody keeps this"))

    def hand(self) -> UUID:
        """Be one more process that works on jobs."""
        OWN.holder = register_holder(own_identity(), name="w", lease_seconds=30, formats=[1], key_ids=["k"])  # fmt: skip
        return OWN.holder

    def die(self) -> None:
        """The process that works is found to be gone; another takes its place."""
        assert OWN.holder is not None
        end_holder(OWN.holder)
        IN_HAND.__init__()  # type: ignore[misc]
        self.hand()

    def work(self, give_up: Callable[[], bool] = never) -> None:
        """Work on what is due, as the round does."""
        work_due(give_up)

    def work_through(self, job: Job, looks: int = 30) -> Job:
        """Work until the job ends, each wait being over at once."""
        for _ in range(looks):
            self.world.sql("UPDATE jobs_job SET next_at = liyagent_now() WHERE status = 'queued'")
            self.work()
            job.refresh_from_db()
            if not job.is_live:
                break
        return job

    def after_end(self) -> None:
        """Do what ended jobs owe, each wait being over at once."""
        self.world.sql("UPDATE jobs_job SET after_end_at = liyagent_now() WHERE after_end_at IS NOT NULL")  # fmt: skip
        do_after_end(never)

    def audit(self, action: str) -> list[dict[str, Any]]:
        return list(AuditRow.objects.filter(action=action).order_by("id").values_list("detail", flat=True))  # fmt: skip


@pytest.fixture
def school(world: World, monkeypatch: pytest.MonkeyPatch) -> Iterator[School]:
    """A world whose own network may be called, and one process that works on jobs."""
    conf = dataclasses.replace(settings.LIYAGENT, allowed_private_hosts=("127.0.0.1",))
    monkeypatch.setattr(settings, "LIYAGENT", conf)
    monkeypatch.setattr(OWN, "holder", None)
    it = School(world)
    it.hand()
    yield it
    IN_HAND.__init__()  # type: ignore[misc]
