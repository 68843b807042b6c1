"""Neutral words of a conversation with a model. They are stored, so a field is only ever added."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol

from liyagent.core.errors import LiyagentError


class Role(StrEnum):
    """Who said a message."""

    SYSTEM = "system"
    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"


class Finish(StrEnum):
    """Why a model stopped. CUT: at a token limit, so nothing in the answer may be acted upon."""

    STOP = "stop"
    CALLS = "calls"
    CUT = "cut"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSpec:
    """A tool as the model is told of it. `name` is `server/tool`; `schema` is JSON Schema of its arguments."""

    name: str
    description: str = ""
    schema: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """A call that a model asked for.

    `id` is the provider's, unchanged (it may be empty, positional or repeated: ruling 20 decides
    later). `arguments_text` is the raw text; `args` is None where it does not parse to an object.
    """

    id: str
    name: str
    arguments_text: str
    args: dict[str, Any] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One message. An assistant's may carry `calls`; a tool's answers the call at `call_index` of the last step."""

    role: Role
    text: str = ""
    calls: tuple[ToolCall, ...] = ()
    call_id: str = ""
    is_error: bool = False


def never() -> bool:
    """Say no: the answer is wanted until it is there."""
    return False


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRequest:
    """All that one model step is asked. `steps_taken` counts the model steps before this one.

    `timeout_seconds` bounds the whole step. `max_answer_tokens` is the most of one answer; 0: the
    provider's own limit. While an answer streams, `is_unwanted` is asked ten times a second.
    """

    model: str
    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...] = ()
    steps_taken: int = 0
    timeout_seconds: float = 120.0
    run_id: str = ""
    is_streaming: bool = False
    max_answer_tokens: int = 0
    is_unwanted: Callable[[], bool] = field(default=never, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelAnswer:
    """What a model step came back with. Text is storable (ruling 19) and may stand beside calls.

    `cached_tokens` are those of `input_tokens` that the provider had at hand.
    """

    text: str = ""
    calls: tuple[ToolCall, ...] = ()
    finish: Finish = Finish.STOP
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0


class ModelClient(Protocol):
    """One provider. Subclass it by name, so that a search for `(ModelClient)` finds all."""

    def ask(self, request: ModelRequest) -> ModelAnswer:
        """Make one model step, never retried here.

        Raises `ModelUnavailable`, `ModelRejected`, or `AnswerUnwanted` where `is_unwanted` turned true.
        """
        ...


class ModelUnavailable(LiyagentError):
    """The model endpoint could not answer now; the same request may be made again."""

    code = "model.unavailable"
    http_status = 502

    def __init__(
        self, detail: str = "", *, retry_after_seconds: float | None = None, status: int = 0
    ) -> None:
        """`retry_after_seconds` is the endpoint's own wish, `status` its HTTP status, where it named one."""
        super().__init__(detail)
        self.retry_after_seconds = retry_after_seconds
        self.status = status


class ModelRejected(LiyagentError):
    """The model endpoint refused the request for good: wrong key, model, URL or request."""

    code = "model.rejected"
    http_status = 502

    def __init__(self, detail: str = "", *, status: int = 0) -> None:
        """`status` is the endpoint's HTTP status, 0 where none came."""
        super().__init__(detail)
        self.status = status


class AnswerUnwanted(LiyagentError):
    """Nobody waits for the model's answer any more; the request was broken off, and nothing of it counts."""

    code = "model.unwanted"
