"""Runs whose writes wait for a person, for flows that decide about them."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.conf import settings
from django.db.models.functions import Now

from events.models import RunEvent
from liyagent.approvals.digests import digest_of
from liyagent.approvals.models import Approval
from liyagent.approvals.words import FORMAT, WORDS
from liyagent.audit.models import AuditRow
from liyagent.core.canonical import digest
from liyagent.core.seal import Keyring
from runs.models import Call, Run
from runs.stop import stop_run
from tests.flows.conftest import make_user
from tests.unit.runs.carrying import conftest as carrying
from tests.unit.runs.carrying.conftest import World, calls, says

HOLD = "UPDATE agents_agent SET write_posture = 'hold', may_wait = %s"
DECIDER = ("approvals.decide", "approvals.view_approval")
world = carrying.world


@pytest.fixture
def held(world: World) -> World:
    """The agent's writes are held, and its runs wait. kim starts them."""
    world.sql(HOLD, True)
    make_user("kim", "approvals.view_approval", "agents.operate")
    return world


def ask(held: World, *, tool: str = "keyed", waits: bool = True, **args: Any) -> Approval:
    """Let a run of kim's ask for a write, and return the request."""
    held.sql(HOLD, waits)
    known = set(Approval.objects.values_list("id", flat=True))
    held.start(calls((f"v/{tool}", args)), says("done"), started_by="kim")
    held.process().carry()
    return Approval.objects.exclude(id__in=known).get()


def filed(run: Run, **args: Any) -> Approval:
    """A request as a run of this process would have filed it, made without one that carries it."""
    approval_id, ring = uuid4(), Keyring(settings.LIYAGENT.seal_keys)
    sealer = ring.sealer(key_id=ring.newest, run_id=approval_id, format_number=FORMAT)
    call = {"server": "jira", "tool": "create_issue", "run_as": "", "policy_fingerprint": "f"}
    return Approval.objects.create(
        **call,
        id=approval_id,
        run_id=run.id,
        correlation_id=run.correlation_id,
        step=1,
        index=0,
        run_waits=True,
        mission=run.mission,
        agent_key=run.agent_key,
        entry=run.entry,
        gate="write_posture",
        held_reason="writes are held",
        digest=digest_of(**call, args=args, agent=run.agent_key),
        ceiling_digest=digest({}),
        sealed=sealer.seal({"args": args}, kind=WORDS, number=0),
        key_id=ring.newest,
        created_at=Now(),
        expires_at=Now() + timedelta(days=7),
    )


def end(held: World, approval: Approval) -> None:
    """Stop the run that waits for a request, and let it end."""
    stop_run(run_id=approval.run_id, actor="olga", reason="enough")
    assert held.process().carry().status == "stopped"


def age(held: World, approval: Approval) -> None:
    """Let the time of a request pass."""
    held.sql(
        "UPDATE approvals_approval SET expires_at = liyagent_now() - interval '1 s' WHERE id = %s",
        approval.id,
    )


def written(approval_id: UUID | str) -> dict[str, Any]:
    """Everything that a decision writes, counted and shown."""
    row: dict[str, Any] = dict(Approval.objects.filter(id=approval_id).values().first() or {})
    facts = {name: bytes(it) if name == "sealed" else it for name, it in row.items()}
    return {
        "row": facts,
        "approvals": Approval.objects.count(),
        "audit": AuditRow.objects.count(),
        "events": RunEvent.objects.count(),
        "calls": Call.objects.count(),
        "runs": list(Run.objects.order_by("id").values_list("id", "status", "wakes")),
    }
