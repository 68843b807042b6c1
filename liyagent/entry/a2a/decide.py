"""A message to a task that waits for a person is that person's decision."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from liyagent.approvals.decide import decide
from liyagent.approvals.models import Approval, ApprovalStatus
from liyagent.core.errors import BadInput, LiyagentError
from liyagent.entry.a2a.caller import Asked
from liyagent.entry.a2a.errors import BadParams, Unsupported
from liyagent.entry.a2a.models import Task
from liyagent.entry.a2a.wire import Message

DECISIONS = {"approve": ApprovalStatus.APPROVED, "reject": ApprovalStatus.REJECTED}
WANTS = "it wants one data part with approval, digest, decision (approve or reject) and reason"


def decision_in(message: Message) -> dict[str, Any] | None:
    """Return what a message decides, None where it decides nothing."""
    for part in message.parts:
        data = part.get("data")
        if isinstance(data, dict) and "decision" in data and "approval" in data:
            return data
    return None


def decide_by(asked: Asked, message: Message, task: Task) -> None:
    """Decide about the request that a message names, as its caller; made again it changes nothing.

    Who decides says of what: `digest` is the one that the task showed. Raises `BadParams` for a message that is no
    decision, `Unsupported` for whoever may not decide, and where somebody was first.
    """
    data = decision_in(message)
    if data is None:
        raise BadParams(f"this task waits for a person: {WANTS}")
    if not asked.caller.decides:
        raise Unsupported("to decide needs the permission approvals.decide", task=task.run_id)
    decision, digest = data.get("decision"), data.get("digest")
    reason = data.get("reason") or " ".join(it["text"] for it in message.parts if "text" in it)
    if not isinstance(decision, str) or decision not in DECISIONS:
        raise BadParams(WANTS)
    if not isinstance(digest, str) or not isinstance(reason, str):
        raise BadParams(WANTS)
    approval_id = _approval_id(data.get("approval"))
    # One that is decided already may be named again; another task's may not.
    if not Approval.objects.filter(id=approval_id, correlation_id=task.run_id).exists():
        raise BadParams("this task waits for no such approval")
    try:
        decide(
            approval_id=approval_id,
            status=DECISIONS[decision],
            actor=asked.caller.username,
            reason=reason,
            digest=digest,
        )
    except BadInput as error:
        raise BadParams(str(error)) from None
    except LiyagentError as error:
        raise Unsupported(str(error), task=task.run_id, code=error.code) from None


def check_open(task: Task) -> None:
    """Raise `Unsupported` for a message to a task that is at work: it takes nothing before it has ended."""
    if not task.is_ended:
        raise Unsupported(f"this task is {task.state}; write to it when it has ended", task=task)


def _approval_id(value: object) -> UUID:
    try:
        return UUID(value) if isinstance(value, str) else UUID("")
    except ValueError:
        raise BadParams(WANTS) from None
