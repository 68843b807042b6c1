"""Step keys: derived from what identifies the step, never from the clock or a random number (CR-27, CR-30)."""

from __future__ import annotations

import re
import secrets
from collections.abc import Sequence
from uuid import UUID

from liyagent.core.canonical import digest

# `call_0`, `0`, `functions.add_comment:0`, `call_00`: words and a short number are a position, no identity.
POSITIONAL = re.compile(r"[A-Za-z_.:/\-]*[0-9]{0,5}")
LONGEST_ID = 200


def has_identity(provider_call_id: str, *, tool: str, step_ids: Sequence[str]) -> bool:
    """Say whether the provider's id names this very call (ruling 20).

    Not where it is empty, overlong, a position, the tool's name, or repeated within its step.
    """
    if not provider_call_id or len(provider_call_id) > LONGEST_ID:
        return False
    if step_ids.count(provider_call_id) > 1:
        return False
    bare = provider_call_id.replace(tool, "") if tool else provider_call_id
    return POSITIONAL.fullmatch(bare) is None


def step_key(*, correlation_id: UUID, loop: str, steps_taken: int, provider_call_id: str) -> str:
    """Return the key of an agent's tool call: the same however often the step is carried (CR-27)."""
    return digest(["run-call", str(correlation_id), loop, steps_taken, provider_call_id])


def workflow_step_key(*, workflow_run_id: UUID, step_id: str, steps_executed: int) -> str:
    """Return the key of a workflow step's call: a retry has the same, a loop back to the step a new one (CR-28)."""
    return digest(["workflow-step", str(workflow_run_id), step_id, steps_executed])


def approved_call_key(approval_id: UUID) -> str:
    """Return the key of a call that a person approved: the same however often it is sent (CR-29)."""
    return digest(["approved-call", str(approval_id)])


def undo_key(*, run_id: UUID, step: int, index: int) -> str:
    """Return the key that the undo of a write is sent under, however often: from the run and the step (SG-06)."""
    return digest(["undo", str(run_id), step, index])


def fresh_key() -> str:
    """Return a key for a call that nothing identifies: new for each send, never re-sent on (CR-30)."""
    return f"fresh-{secrets.token_hex(24)}"


def intent_digest(*, server: str, tool: str, args: object) -> str:
    """Return what makes two calls the same intent: the tool and its exact arguments (ruling 8)."""
    return digest(["intent", server, tool, args])
