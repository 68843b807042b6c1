"""The request to adopt a routine: what a person decides about is sealed in it, and is what will be saved (RT-05)."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db.models import Value

from liyagent.approvals.digests import digest_of
from liyagent.approvals.handlers import ROUTINE
from liyagent.approvals.models import Approval, ApprovalStatus
from liyagent.approvals.words import FORMAT, WORDS
from liyagent.core.canonical import digest
from liyagent.core.ids import new_id
from liyagent.core.seal import Keyring
from routines.models import NOW, Routine

# By what stands where a call has its server and tool; nothing is called.
SOURCE, GATE = "routine", "routine"
LONGEST_AGENT = 60
SHORT_PATTERN = 8
MOST_TOOLS_NAMED = 12


def workflow_key_of(routine: Routine) -> str:
    """Return the key of the workflow that a routine is saved as: the one it was, else by its agent and pattern."""
    own = f"routine-{routine.agent_key[:LONGEST_AGENT].rstrip('-_')}-{routine.pattern[:SHORT_PATTERN]}"
    return routine.workflow_key or own


def file_request(routine: Routine, *, version: int, actor: str, requested_by: str) -> Approval:
    """File it within the caller's transaction. `version` is that of the workflow which it would replace, 0 where there is none."""
    args = words_of(routine, version=version)
    request_id, ring = new_id(), Keyring(settings.LIYAGENT.seal_keys)
    ceiling: dict[str, Any] = {}
    sealer = ring.sealer(key_id=ring.newest, run_id=request_id, format_number=FORMAT)
    conf = settings.LIYAGENT
    name = {"server": SOURCE, "tool": workflow_key_of(routine)}
    covered = digest_of(
        **name, args=args, agent=routine.agent_key, run_as="", policy_fingerprint=""
    )
    return Approval.objects.create(
        id=request_id, kind=ROUTINE, run_id=routine.id, correlation_id=routine.id, step=0, index=0, run_waits=False,
        mission=str(routine.id), agent_key=routine.agent_key, entry=SOURCE, requested_by=requested_by, **name, gate=GATE,
        held_reason=_reason(routine), digest=covered, policy_fingerprint="", ceiling=ceiling,
        ceiling_digest=digest(ceiling), sealed=sealer.seal({"args": args}, kind=WORDS, number=0), key_id=ring.newest,
        created_at=NOW, expires_at=NOW + Value(timedelta(seconds=conf.approval_seconds)),
        remind_at=NOW + Value(timedelta(seconds=conf.approval_reminder_seconds)) if conf.approval_reminder_seconds else None,
    )  # fmt: skip


def words_of(routine: Routine, *, version: int) -> dict[str, Any]:
    """Return what the request holds: exactly what will be saved, and what a person has to know of it."""
    return {
        "routine": str(routine.id),
        "pattern": routine.pattern,
        "digest": routine.digest,
        "workflow": workflow_key_of(routine),
        "workflow_version": version,
        "definition": routine.definition,
        "parameters": routine.parameters,
        "score": routine.score,
        "support": routine.support,
        "distinct_inputs": routine.distinct_inputs,
        "runs": routine.runs,
        "tools_seen": routine.tools_seen,
    }


def open_request(routine: Routine) -> Approval | None:
    """Return the request that is open for a routine, None where there is none, without its words."""
    if routine.approval_id is None:
        return None
    rows = Approval.objects.filter(id=routine.approval_id, status=ApprovalStatus.PENDING)
    return rows.defer("sealed", "ceiling").first()


def is_as_asked(routine: Routine, approval: Approval) -> bool:
    """Whether a request names what a routine is now; none names one that is not offered, which has no digest."""
    return bool(routine.digest) and routine.digest in approval.held_reason


def routine_of(approval: Approval) -> UUID:
    """Return the routine that a request is about."""
    return approval.run_id


def _reason(routine: Routine) -> str:
    tools: list[str] = routine.tools
    more = len(tools) - MOST_TOOLS_NAMED
    named = ", ".join(tools[:MOST_TOOLS_NAMED]) + (f" and {more} more" if more > 0 else "")
    return (
        f"{routine.support} runs of agent {routine.agent_key} called the same tools in the same order: {named}. Approving saves that as "
        f"workflow {workflow_key_of(routine)}, exactly as shown, with the digest {routine.digest}. Nothing is called by it: a run of the "
        "workflow passes every gate as the agent's own do. Rejecting returns it to the suggestions."
    )
