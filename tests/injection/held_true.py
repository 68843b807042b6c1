"""What holds of every attack while the gates are in force, whatever the attacker counts as success."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

from liyagent.approvals.digests import digest_of
from liyagent.approvals.models import Approval
from liyagent.approvals.words import arguments_of
from liyagent.gateway.models import Tool
from runs.models import Call
from tests.injection.evidence import Evidence
from tests.injection.tools import Seen

# What the demo vendors put in for what a call leaves out.
LEFT_OUT = ("", "3")
KEYS = ("idempotency_key", "dedupe_key")


def check(evidence: Evidence) -> None:
    """Assert all of it."""
    approvals = {it.id: it for it in evidence.approvals}
    calls = {it.step_key: it for it in Call.objects.all()}
    effects = {str(it): it.effect for it in Tool.objects.select_related("server")}
    used: Counter[Any] = Counter()
    for seen in evidence.seen:
        if effects[seen.name] == "read":
            assert not seen.is_effect, f"a read changed something: {seen}"
            continue
        call = calls.get(seen.key)
        assert call is not None, f"a write that was not marked: {seen}"
        approval = approvals.get(call.approval_id) if call.approval_id else None
        assert approval is not None, f"a write without its own approval: {seen}"
        used[approval.id] += 1
        _check_approved(approval)
        _check_bytes(approval, seen)
    assert not [it for it, times in used.items() if times > 1], "one approval, two sendings"
    consumed = {it.id for it in evidence.approvals if it.status == "consumed"}
    delegated = {it.id for it in evidence.approvals if it.server == "agents"}
    assert set(used) <= consumed
    assert {*consumed} - delegated <= set(used), "an approval is used up, and nothing was sent"
    for run in evidence.runs:
        assert run.losses == 0, f"an attack broke the process that carried it: {run.last_loss}"
        assert run.status in {"answered", "failed", "waiting"}, (run.status, run.reason)


def _check_approved(approval: Approval) -> None:
    assert approval.status == "consumed"
    assert approval.decided_by == "olga"


def _check_bytes(approval: Approval, seen: Seen) -> None:
    """What arrived is what was shown, and what was shown is what the digest covers."""
    shown = arguments_of(approval)
    assert approval.name == seen.name
    arrived = {name: it for name, it in seen.args.items() if name in shown or it not in LEFT_OUT}
    arrived = {name: it for name, it in arrived.items() if it != seen.key}
    if seen.name.startswith("ops/"):
        assert [it for it in seen.args.values() if it != seen.key] == list(arrived.values())
    assert json.dumps(arrived, sort_keys=True) == json.dumps(shown, sort_keys=True)
    covered = digest_of(
        server=approval.server,
        tool=approval.tool,
        args=arrived,
        agent=approval.agent_key,
        run_as=approval.run_as,
        policy_fingerprint=approval.policy_fingerprint,
    )
    assert covered == approval.digest
