"""One model step, with the loop's own retries: nothing below retries (ruling 22)."""

from __future__ import annotations

import random
import time
from collections.abc import Callable

from liyagent.core.errors import LiyagentError
from liyagent.providers.client import client_for
from liyagent.providers.types import (
    Message,
    ModelAnswer,
    ModelRequest,
    ModelUnavailable,
    ToolSpec,
)
from runs.authority import AgentNow

MOST_TRIES = 6
FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 0.5, 30.0
SLICE_SECONDS = 0.1


class NotAsked(LiyagentError):
    """The process drains, or the run is no longer its own: the model is asked elsewhere."""

    code = "model.not_asked"


def ask_model(
    agent: AgentNow,
    *,
    messages: list[Message],
    tools: tuple[ToolSpec, ...],
    steps_taken: int,
    run_id: str,
    is_unwanted: Callable[[], bool],
) -> ModelAnswer:
    """Ask the agent's model for the next step; again, with growing pauses, while it is unavailable.

    Raises `ModelRejected` or `BadInput` for good, `ModelUnavailable` after six tries, `NotAsked` where
    `is_unwanted` turned true between two tries.
    """
    client = client_for(
        provider=agent.provider, base_url=agent.base_url, api_key_env=agent.api_key_env
    )
    request = ModelRequest(
        model=agent.model,
        messages=tuple(messages),
        tools=tools,
        steps_taken=steps_taken,
        timeout_seconds=agent.model_timeout_seconds,
        run_id=run_id,
    )
    for tries in range(1, MOST_TRIES):
        try:
            return client.ask(request)
        except ModelUnavailable as error:
            _pause(_seconds(tries, error.retry_after_seconds), is_unwanted)
    return client.ask(request)


def _seconds(tries: int, wished: float | None) -> float:
    """Grow, spread over a crowd of resumes, and heed what the endpoint wished for, within a bound."""
    grown: float = FIRST_PAUSE_SECONDS * 2 ** (tries - 1) * random.uniform(0.7, 1.3)  # noqa: S311 - a spread
    return min(max(grown, wished or 0.0), LONGEST_PAUSE_SECONDS)


def _pause(seconds: float, is_unwanted: Callable[[], bool]) -> None:
    until = time.monotonic() + seconds
    while (left := until - time.monotonic()) > 0:
        if is_unwanted():
            raise NotAsked
        time.sleep(min(left, SLICE_SECONDS))
