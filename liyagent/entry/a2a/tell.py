"""A task as the protocol shows it, made from its run: what 1.0 writes, and what 0.3 did."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from liyagent.approvals.models import Approval, ApprovalStatus
from liyagent.approvals.words import arguments_of
from liyagent.core.errors import LiyagentError
from liyagent.core.traceparent import TRACEPARENT
from liyagent.entry.a2a.caller import Caller
from liyagent.entry.a2a.models import State, Task
from liyagent.entry.a2a.wire import Version
from liyagent.entry.models import Arrival
from missions.carry import META_KEY
from runs.checkpoint import keyring
from runs.head import answer_of
from runs.models import CHECKPOINT_FORMAT, Run

STATE_NAMES = {it: f"TASK_STATE_{it.value.upper().replace('-', '_')}" for it in State}
ROLES = {"ROLE_USER": "user", "ROLE_AGENT": "agent"}
MESSAGE = "a2a message"
ANSWER = "answer"
MOST_APPROVALS = 20
HOW = (
    "Answer this task with a data part: approval, digest, decision (approve or reject) and reason."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """What of a task is asked for: its latest `history_length` messages (None: all), its artifacts."""

    history_length: int | None = None
    with_artifacts: bool = True


ALL = Shown()


def task_told(
    task: Task, caller: Caller, shown: Shown = ALL, *, at: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Return a task in 1.0's form; words for its owner and who may read them. `at`: as it stood then (state, time)."""
    state = State(at["state"] if at else task.state)
    with_words = caller.reads_words or caller.username == task.owner
    run = Run.objects.defer("seal").filter(id=task.run_id).first()
    told: dict[str, Any] = {
        "id": str(task.run_id),
        "contextId": task.context_id,
        "status": status_told(task, run, caller, state=state, time=at["at"] if at else None),
    }
    if shown.with_artifacts:
        artifacts = artifacts_told(run, state) if with_words else []
        told["artifacts"] = artifacts
    history = [_message_of(task)] if with_words and shown.history_length != 0 else []
    if history:
        told["history"] = history
    told["metadata"] = _metadata(task, run)
    return told


def status_told(
    task: Task, run: Run | None, caller: Caller, *, state: State, time: str | None = None
) -> dict[str, Any]:
    """Return where a task stands, with what it waits for or why it ended."""
    status: dict[str, Any] = {
        "state": STATE_NAMES[state],
        "timestamp": time or stamp_of(task.changed_at),
    }
    parts = _why(task, run, caller, state)
    if parts:
        status["message"] = _from_agent(task, f"{task.run_id}-{state.value}", parts)
    return status


def artifacts_told(run: Run | None, state: State) -> list[dict[str, Any]]:
    """Return the answer of a completed task as its one artifact; none where it cannot be opened, or of another."""
    answer = answer_of(run)["answer"] if run is not None and state is State.COMPLETED else None
    if answer is None:
        return []
    return [{"artifactId": ANSWER, "name": ANSWER, "parts": [{"text": str(answer)}]}]


def seal_message(run_id: Any, parts: list[dict[str, Any]]) -> tuple[bytes, str]:
    """Return the sealed parts of a message that begins a task, and the id of the key."""
    ring = keyring()
    sealer = ring.sealer(key_id=ring.newest, run_id=run_id, format_number=CHECKPOINT_FORMAT)
    return sealer.seal({"parts": parts}, kind=MESSAGE, number=0), ring.newest


def parts_of(task: Task) -> list[dict[str, Any]]:
    """Return the parts of the message that began a task. Raises `KeyMissing`, `SealBroken`."""
    sealer = keyring().sealer(
        key_id=task.key_id, run_id=task.run_id, format_number=CHECKPOINT_FORMAT
    )
    parts: list[dict[str, Any]] = sealer.open(bytes(task.sealed), kind=MESSAGE, number=0)["parts"]
    return parts


def in_form(told: dict[str, Any], version: Version) -> dict[str, Any]:
    """Return a task in the form of a version."""
    return told if version is Version.V10 else _task_03(told)


def status_event(
    task: Task, status: dict[str, Any], version: Version, *, metadata: dict[str, Any] | None = None
) -> dict[str, Any]:
    """Return what a stream says when a task moved, or did something."""
    event = {"taskId": str(task.run_id), "contextId": task.context_id, "status": status}
    if metadata:
        event["metadata"] = metadata
    if version is Version.V10:
        return {"statusUpdate": event}
    is_final = status["state"] not in {STATE_NAMES[State.SUBMITTED], STATE_NAMES[State.WORKING]}
    return {**event, "status": _status_03(status), "kind": "status-update", "final": is_final}


def artifact_event(task: Task, artifact: dict[str, Any], version: Version) -> dict[str, Any]:
    """Return what a stream says of an answer."""
    ids = {"taskId": str(task.run_id), "contextId": task.context_id, "lastChunk": True}
    if version is Version.V10:
        return {"artifactUpdate": {**ids, "artifact": artifact}}
    return {**ids, "artifact": _artifact_03(artifact), "append": False, "kind": "artifact-update"}


def task_event(told: dict[str, Any], version: Version) -> dict[str, Any]:
    """Return what a stream, or the answer to a message, begins with."""
    return {"task": told} if version is Version.V10 else _task_03(told)


def stamp_of(at: datetime) -> str:
    """Return a time as the protocol writes it: UTC, milliseconds."""
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.") + f"{at.microsecond // 1000:03d}Z"


def open_approvals(task: Task) -> list[Approval]:
    """Return what a task waits for, the oldest first: its own requests, and those of runs it handed work to."""
    family = Run.objects.filter(correlation_id=task.run_id).values("id")
    rows = Approval.objects.filter(run_id__in=family, status=ApprovalStatus.PENDING, run_waits=True)
    return list(rows.order_by("created_at", "id")[:MOST_APPROVALS])


def _why(task: Task, run: Run | None, caller: Caller, state: State) -> list[dict[str, Any]]:
    if state is State.INPUT_REQUIRED:
        waits_for = open_approvals(task)
        names = ", ".join(it.name for it in waits_for)
        told = [_approval_told(it, caller) for it in waits_for]
        return [{"text": f"A person has to decide about {names}. {HOW}"}, {"data": {"approvals": told}}] if told else []  # fmt: skip
    if state in {State.FAILED, State.REJECTED, State.CANCELED}:
        reason = run.reason if run is not None else _refusal(task)
        return [{"text": reason}] if reason else []
    return []


def _approval_told(approval: Approval, caller: Caller) -> dict[str, Any]:
    told: dict[str, Any] = {
        "approval": str(approval.id),
        "call": approval.name,
        "digest": approval.digest,
        "why": approval.held_reason,
        "expiresAt": stamp_of(approval.expires_at),
    }
    if caller.decides or caller.reads_words:
        try:
            told["arguments"] = arguments_of(approval)
        except LiyagentError as error:
            told["argumentsMissing"] = error.title
    return told


def _refusal(task: Task) -> str:
    reasons = Arrival.objects.filter(run_id=task.run_id).values_list("reason", flat=True)
    return str(next(iter(reasons), ""))


def _message_of(task: Task) -> dict[str, Any]:
    try:
        parts = parts_of(task)
    except LiyagentError as error:
        parts = [{"text": error.title}]
    ids = {"messageId": task.message_id, "contextId": task.context_id, "taskId": str(task.run_id)}
    return {**ids, "role": "ROLE_USER", "parts": parts}


def _from_agent(task: Task, message_id: str, parts: list[dict[str, Any]]) -> dict[str, Any]:
    ids = {"messageId": message_id, "contextId": task.context_id, "taskId": str(task.run_id)}
    return {**ids, "role": "ROLE_AGENT", "parts": parts}


def _metadata(task: Task, run: Run | None) -> dict[str, Any]:
    told = {META_KEY: run.mission} if run is not None else {}
    return {**told, TRACEPARENT: task.traceparent} if task.traceparent else told


def _task_03(told: dict[str, Any]) -> dict[str, Any]:
    old = {**told, "kind": "task", "status": _status_03(told["status"])}
    if "artifacts" in told:
        old["artifacts"] = [_artifact_03(it) for it in told["artifacts"]]
    if "history" in told:
        old["history"] = [_message_03(it) for it in told["history"]]
    return old


def _status_03(status: dict[str, Any]) -> dict[str, Any]:
    name = status["state"].removeprefix("TASK_STATE_").lower().replace("_", "-")
    old = {**status, "state": name}
    return {**old, "message": _message_03(status["message"])} if "message" in status else old


def _message_03(message: dict[str, Any]) -> dict[str, Any]:
    parts = [_part_03(it) for it in message["parts"]]
    return {**message, "kind": "message", "role": ROLES[message["role"]], "parts": parts}


def _artifact_03(artifact: dict[str, Any]) -> dict[str, Any]:
    return {**artifact, "parts": [_part_03(it) for it in artifact["parts"]]}


def _part_03(part: dict[str, Any]) -> dict[str, Any]:
    if "text" in part:
        return {"kind": "text", "text": part["text"]}
    # 0.3 knows objects alone as data; anything else is wrapped, as the SDK does it.
    if isinstance(part["data"], dict):
        return {"kind": "data", "data": part["data"]}
    return {"kind": "data", "data": {"value": part["data"]}, "metadata": {"data_part_compat": True}}
