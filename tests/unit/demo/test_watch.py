"""How the demo reads runs from the product's database."""

from __future__ import annotations

import uuid
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from liyagent.agents.models import Recording
from liyagent.demo.watch import Watch
from liyagent.leases.models import Holder
from runs.models import Call, Intent, Run, RunStatus
from tests.databases import FreshDatabase

PID = 4711


@pytest.fixture
def run(fresh_db: FreshDatabase) -> Run:
    now = timezone.now()
    holder = Holder.objects.create(
        name="A",
        boot_id="b",
        pid_namespace="n",
        pid=PID,
        started_ticks=1,
        renew_by=now + timedelta(seconds=8),
        created_at=now,
    )
    run_id = uuid.uuid4()
    return Run.objects.create(
        id=run_id,
        correlation_id=run_id,
        agent_key="triage-readable",
        agent_version=1,
        entry="api",
        mission="m",
        recording=Recording.FULL,
        status=RunStatus.RUNNING,
        key_id="k1",
        attempt=2,
        holder=holder.id,
        model_steps=3,
        seal=b"",
        created_at=now,
    )


def mark(run: Run, *, index: int, **facts: Any) -> None:
    now = timezone.now()
    Call.objects.create(
        run_id=run.id,
        correlation_id=run.id,
        step=1,
        index=index,
        intent=Intent.SENDING,
        step_key=f"k{index}",
        has_identity=True,
        intent_digest="d",
        attempt=1,
        holder=uuid.uuid4(),
        marked_at=now,
        deadline=now,
        sealed=b"",
        **{"server": "jira", "tool": "create_issue", **facts},
    )


def test_a_run_is_seen_with_its_holders_process_and_its_writes_in_order(
    run: Run, fresh_db: FreshDatabase
) -> None:
    mark(run, index=1)
    mark(run, index=0, fate="done")

    with Watch(fresh_db.url, [str(run.id)]) as watch:
        view = watch.look()

    seen = view.runs[str(run.id)]
    assert (seen.status, seen.steps, seen.attempt, seen.pid) == ("running", 3, 2, PID)
    assert [write.fate for write in view.writes] == ["done", ""]
    assert [write.step_key for write in view.in_doubt] == ["k1"]


def test_a_run_that_nobody_asked_for_and_calls_of_other_servers_are_not_seen(
    run: Run, fresh_db: FreshDatabase
) -> None:
    mark(run, index=0, server="elsewhere")

    with Watch(fresh_db.url, [str(run.id)]) as watch:
        assert watch.look().writes == ()
    with Watch(fresh_db.url, [str(uuid.uuid4())]) as watch:
        assert watch.look().runs == {}


@pytest.mark.parametrize(("finding", "fate"), [("found", "done"), ("", "unknown")])
def test_an_unknown_write_is_known_once_a_late_look_found_it(
    run: Run, fresh_db: FreshDatabase, finding: str, fate: str
) -> None:
    mark(run, index=0, fate="unknown", late_finding=finding)

    with Watch(fresh_db.url, [str(run.id)]) as watch:
        assert [write.fate for write in watch.look().writes] == [fate]
