"""Why a run ended otherwise than answered, as codes that API, metrics and pages filter and count by."""

from __future__ import annotations

from enum import StrEnum


class EndError(StrEnum):
    """The code on a run's head; the reason beside it is for people."""

    NONE = ""
    STOPPED = "stopped"
    DECLINED = "declined"
    LOST = "lost"
    NOT_WRITTEN_AHEAD = "not_written_ahead"
    CHECKPOINT_BROKEN = "checkpoint.broken"
    STARTER_REFUSED = "starter.refused"
    AGENT_GONE = "agent.gone"
    AGENT_CONTAINED = "agent.contained"
    AGENT_OFF = "agent.off"
    CHANNEL_CLOSED = "channel.closed"
    RUN_AS_REFUSED = "run_as.refused"
    CAP_STEPS = "cap.steps"
    CAP_CALLS = "cap.calls"
    CAP_TOKENS = "cap.tokens"
    CAP_SECONDS = "cap.seconds"
    GUARDRAIL_INPUT = "guardrail.input"
    GUARDRAIL_OUTPUT = "guardrail.output"
    HOOK_FAILED = "hook.failed"
    MODEL_REJECTED = "model.rejected"
    MODEL_UNAVAILABLE = "model.unavailable"
    ANSWER_CUT = "answer.cut"
    ANSWER_EMPTY = "answer.empty"
    APPROVED_CALL = "approved.call"
    REJECTED = "approval.rejected"
    WORKFLOW_STEP = "workflow.step"
    WORKFLOW_UNKNOWN = "workflow.unknown"
    UNDO_LEFT = "undo.left"
