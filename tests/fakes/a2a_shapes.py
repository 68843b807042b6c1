"""The shapes of the protocol's answers, written by hand from its own files: strict, so that no member is ours alone."""

from __future__ import annotations

from typing import Any

from jsonschema import Draft202012Validator

TEXT = {"type": "string", "minLength": 1}
METADATA = {"type": "object"}
STATES = ("submitted", "working", "completed", "failed", "canceled", "input-required", "rejected")
TIME = {"type": "string", "pattern": r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$"}


def closed(*, required: tuple[str, ...] = (), **members: Any) -> dict[str, Any]:
    """An object of these members and no others."""
    known = {name.rstrip("_"): it for name, it in members.items()}
    return {
        "type": "object",
        "properties": known,
        "required": list(required),
        "additionalProperties": False,
    }


def a_list(of: dict[str, Any], *, least: int = 0) -> dict[str, Any]:
    """A list of such things."""
    return {"type": "array", "items": of, "minItems": least}


# 1.0, as specification/a2a.proto has it, in its JSON form.
PART = {
    "oneOf": [
        closed(required=("text",), text={"type": "string"}, metadata=METADATA, mediaType=TEXT),
        closed(required=("data",), data={}, metadata=METADATA, mediaType=TEXT),
    ]
}
MESSAGE = closed(
    required=("messageId", "role", "parts"),
    messageId=TEXT,
    contextId=TEXT,
    taskId=TEXT,
    role={"enum": ["ROLE_USER", "ROLE_AGENT"]},
    parts=a_list(PART, least=1),
    metadata=METADATA,
)
STATUS = closed(
    required=("state",),
    state={"enum": [f"TASK_STATE_{it.upper().replace('-', '_')}" for it in STATES]},
    message=MESSAGE,
    timestamp=TIME,
)
ARTIFACT = closed(
    required=("artifactId", "parts"), artifactId=TEXT, name=TEXT, parts=a_list(PART, least=1)
)
TASK = closed(
    required=("id", "status"),
    id=TEXT,
    contextId=TEXT,
    status=STATUS,
    artifacts=a_list(ARTIFACT),
    history=a_list(MESSAGE),
    metadata=METADATA,
)
STATUS_UPDATE = closed(
    required=("taskId", "contextId", "status"),
    taskId=TEXT,
    contextId=TEXT,
    status=STATUS,
    metadata=METADATA,
)
ARTIFACT_UPDATE = closed(
    required=("taskId", "contextId", "artifact"),
    taskId=TEXT,
    contextId=TEXT,
    artifact=ARTIFACT,
    append={"type": "boolean"},
    lastChunk={"type": "boolean"},
)
STREAMED = {
    "oneOf": [
        closed(required=("task",), task=TASK),
        closed(required=("statusUpdate",), statusUpdate=STATUS_UPDATE),
        closed(required=("artifactUpdate",), artifactUpdate=ARTIFACT_UPDATE),
    ]
}
PUSH = closed(
    required=("url",),
    id=TEXT,
    taskId=TEXT,
    url=TEXT,
    token=TEXT,
    authentication=closed(required=("scheme",), scheme=TEXT, credentials={"type": "string"}),
)
PAGE = closed(
    required=("tasks", "nextPageToken", "pageSize", "totalSize"),
    tasks=a_list(TASK),
    nextPageToken={"type": "string"},
    pageSize={"type": "integer"},
    totalSize={"type": "integer"},
)

# 0.3, as its JSON schema has it: each thing says what kind it is.
OLD_PART = {
    "oneOf": [
        closed(required=("kind", "text"), kind={"const": "text"}, text={"type": "string"}),
        closed(
            required=("kind", "data"),
            kind={"const": "data"},
            data={"type": "object"},
            metadata=METADATA,
        ),
    ]
}
OLD_MESSAGE = closed(
    required=("kind", "messageId", "role", "parts"),
    kind={"const": "message"},
    messageId=TEXT,
    contextId=TEXT,
    taskId=TEXT,
    role={"enum": ["user", "agent"]},
    parts=a_list(OLD_PART, least=1),
)
OLD_STATUS = closed(
    required=("state",), state={"enum": list(STATES)}, message=OLD_MESSAGE, timestamp=TIME
)
OLD_ARTIFACT = closed(
    required=("artifactId", "parts"), artifactId=TEXT, name=TEXT, parts=a_list(OLD_PART, least=1)
)
OLD_TASK = closed(
    required=("kind", "id", "contextId", "status"),
    kind={"const": "task"},
    id=TEXT,
    contextId=TEXT,
    status=OLD_STATUS,
    artifacts=a_list(OLD_ARTIFACT),
    history=a_list(OLD_MESSAGE),
    metadata=METADATA,
)
OLD_STREAMED = {
    "oneOf": [
        OLD_TASK,
        closed(
            required=("kind", "taskId", "contextId", "status", "final"),
            kind={"const": "status-update"},
            taskId=TEXT,
            contextId=TEXT,
            status=OLD_STATUS,
            final={"type": "boolean"},
            metadata=METADATA,
        ),
        closed(
            required=("kind", "taskId", "contextId", "artifact"),
            kind={"const": "artifact-update"},
            taskId=TEXT,
            contextId=TEXT,
            artifact=OLD_ARTIFACT,
            append={"type": "boolean"},
            lastChunk={"type": "boolean"},
        ),
    ]
}
OLD_PUSH = closed(
    required=("taskId", "pushNotificationConfig"),
    taskId=TEXT,
    pushNotificationConfig=closed(
        required=("url",),
        id=TEXT,
        url=TEXT,
        token=TEXT,
        authentication=closed(
            required=("schemes",), schemes=a_list(TEXT), credentials={"type": "string"}
        ),
    ),
)
NOTHING = {"type": "null"}
RESULTS: dict[str, dict[str, Any]] = {
    "SendMessage": closed(required=("task",), task=TASK),
    "SendStreamingMessage": STREAMED,
    "SubscribeToTask": STREAMED,
    "GetTask": TASK,
    "CancelTask": TASK,
    "ListTasks": PAGE,
    "CreateTaskPushNotificationConfig": PUSH,
    "GetTaskPushNotificationConfig": PUSH,
    "ListTaskPushNotificationConfigs": closed(required=("configs",), configs=a_list(PUSH)),
    "DeleteTaskPushNotificationConfig": NOTHING,
    "message/send": OLD_TASK,
    "message/stream": OLD_STREAMED,
    "tasks/resubscribe": OLD_STREAMED,
    "tasks/get": OLD_TASK,
    "tasks/cancel": OLD_TASK,
    "tasks/pushNotificationConfig/set": OLD_PUSH,
    "tasks/pushNotificationConfig/get": OLD_PUSH,
    "tasks/pushNotificationConfig/list": a_list(OLD_PUSH),
    "tasks/pushNotificationConfig/delete": NOTHING,
}
ERROR = closed(required=("code", "message"), code={"type": "integer"}, message=TEXT, data={})


def check_result(method: str, result: Any) -> None:
    """Raise where what a method answered is not what the protocol says of it, or more."""
    if method in RESULTS:
        Draft202012Validator(RESULTS[method]).validate(result)


def check_error(error: Any) -> None:
    """Raise where an error is none of the protocol's."""
    Draft202012Validator(ERROR).validate(error)
