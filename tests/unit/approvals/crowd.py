"""Many requests at once, each of a run of its own, for two who decide at the same moment."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from threading import Barrier
from typing import Any
from uuid import UUID

from django.db import connection
from django.utils import timezone

from events.chain import genesis_hash
from events.models import EventHead
from liyagent.approvals.digests import digest_of
from liyagent.approvals.models import Approval
from liyagent.core.canonical import digest
from liyagent.core.errors import LiyagentError
from liyagent.core.ids import new_id
from liyagent.gateway.outcome import Payload
from runs.checkpoint import keyring, sealer_of
from runs.file_call import intent_of, seal_words
from runs.keys import approved_call_key
from runs.marks import SealedMark
from runs.models import Call, Run
from tests.unit.runs.sql import Server

DAY_SECONDS = 86_400


def add_requests(
    count: int, *, status: str = "waiting", holder: UUID | None = None, run_waits: bool = True
) -> list[Approval]:
    """Store runs at `status`, one held call and one open request each."""
    now, key_id = timezone.now(), keyring().newest
    is_ended = status == "answered"
    runs = [
        Run(
            id=(run_id := new_id()),
            correlation_id=run_id,
            agent_key="triage",
            agent_version=1,
            entry="api",
            mission="mission-1",
            recording="metadata",
            status=status,
            holder=holder,
            attempt=1,
            model_steps=1,
            parts=0 if is_ended else 2,
            key_id=key_id,
            seal=b"",
            created_at=now,
            ended_at=now if is_ended else None,
        )
        for _ in range(count)
    ]
    pairs = [(run, _request_of(run, run_waits=run_waits)) for run in runs]
    Run.objects.bulk_create(runs)
    EventHead.objects.bulk_create(
        EventHead(correlation_id=it.id, count=0, hash=genesis_hash(it.id)) for it in runs
    )
    Call.objects.bulk_create(_held(run, request) for run, request in pairs)
    return Approval.objects.bulk_create([request for _, request in pairs])


def race(
    server: Server, requests: list[Approval], *deciders: Callable[[Approval], Any]
) -> list[list[Any]]:
    """Let each decider decide about each request at the same moment; return what came of each, a request a row."""
    barrier = Barrier(len(deciders))

    def decide_all(decide: Callable[[Approval], Any]) -> list[Any]:
        told: list[Any] = []
        try:
            for request in requests:
                barrier.wait(20)
                try:
                    told.append(decide(request))
                except LiyagentError as error:
                    told.append(error)
        finally:
            connection.close()
        return told

    futures = [server.start(decide_all, it) for it in deciders]
    return [list(row) for row in zip(*(it.result(120) for it in futures), strict=True)]


def _payload(approval_id: UUID) -> Payload:
    return Payload(
        server="v",
        tool="keyed",
        args={"n": 1},
        key=approved_call_key(approval_id),
        mission="mission-1",
        is_write=True,
        timeout_seconds=30.0,
        limit_bytes=1000,
    )


def _request_of(run: Run, *, run_waits: bool) -> Approval:
    now, approval_id = timezone.now(), new_id()
    parts: dict[str, Any] = {
        "server": "v",
        "tool": "keyed",
        "run_as": "",
        "policy_fingerprint": "p",
    }
    return Approval(
        id=approval_id,
        run_id=run.id,
        correlation_id=run.correlation_id,
        step=1,
        index=0,
        run_waits=run_waits,
        mission=run.mission,
        agent_key=run.agent_key,
        entry=run.entry,
        gate="write_posture",
        held_reason="held",
        digest=digest_of(args={"n": 1}, agent=run.agent_key, **parts),
        ceiling={},
        ceiling_digest=digest({}),
        sealed=seal_words(approval_id, _payload(approval_id)),
        key_id=keyring().newest,
        created_at=now,
        expires_at=now + timedelta(seconds=DAY_SECONDS),
        **parts,
    )


def _held(run: Run, request: Approval) -> Call:
    payload = _payload(request.id)
    mark = SealedMark(
        payload=payload,
        has_identity=True,
        key_window_seconds=60,
        marked_after=run.created_at,
        intent="held",
        approval=str(request.id),
    )
    return Call(
        run_id=run.id,
        correlation_id=run.correlation_id,
        step=1,
        index=0,
        provider_call_id="toolu_a1b2c3d4e5",
        server="v",
        tool="keyed",
        intent="held",
        approval_id=request.id,
        step_key=payload.key,
        has_identity=True,
        key_window_seconds=60,
        intent_digest=intent_of(payload),
        attempt=1,
        holder=new_id(),
        marked_at=run.created_at,
        deadline=run.created_at,
        sealed=mark.seal(sealer_of(run), step=1, index=0),
        fate="" if request.run_waits else "held",
        settlement="" if request.run_waits else "answered",
        outcome=None if request.run_waits else b"",
        settled_at=None if request.run_waits else run.created_at,
    )
