"""One model step, with the loop's own retries: nothing below retries (ruling 22)."""

from __future__ import annotations

import random
import time
from collections.abc import Callable

from liyagent.core.errors import BadInput, LiyagentError
from liyagent.core.metrics import MODEL_CALLS
from liyagent.providers.client import client_for
from liyagent.providers.pace import BUSY, Pace, pace_of
from liyagent.providers.types import (
    AnswerUnwanted,
    Message,
    ModelAnswer,
    ModelClient,
    ModelRejected,
    ModelRequest,
    ModelUnavailable,
    ToolSpec,
)
from liyagent.telemetry.spans import current_span
from runs.authority import AgentNow

MOST_TRIES = 6
# No try begins later after the first one; a step takes this and one model timeout at most.
PATIENCE_SECONDS = 300.0
FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 0.5, 30.0
# An endpoint's wish beyond it counts for the one run alone, and not for all of the process.
LONGEST_HOLD_SECONDS = 60.0
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

    Raises `ModelRejected` or `BadInput` for good, and `NotAsked` where `is_unwanted` turned true between
    two tries, or while the answer streamed. Raises `ModelUnavailable` after six tries, or where the next
    one could not begin within five minutes of the first; it says how often and how long it was tried.
    """
    endpoint = {
        "provider": agent.provider,
        "base_url": agent.base_url,
        "api_key_env": agent.api_key_env,
    }
    request = ModelRequest(
        model=agent.model,
        messages=tuple(messages),
        tools=tools,
        steps_taken=steps_taken,
        timeout_seconds=agent.model_timeout_seconds,
        run_id=run_id,
        is_streaming=agent.is_streaming,
        max_answer_tokens=agent.max_answer_tokens,
        is_unwanted=is_unwanted,
    )
    return _Tries(client_for(**endpoint), pace_of(**endpoint), request, agent.provider).answer()


class _Tries:
    """The tries of one step."""

    def __init__(
        self, client: ModelClient, pace: Pace, request: ModelRequest, provider: str
    ) -> None:
        self._client = client
        self._provider = provider
        self._pace = pace
        self._request = request
        self._began = time.monotonic()
        self._count = 0

    def answer(self) -> ModelAnswer:
        error: ModelUnavailable | None = None
        while True:
            wait = 0.0 if error is None else self._pause_after(error)
            wait = max(wait, self._pace.turn())
            if error is not None:
                self._check_patience(error, wait)
            self._pause(wait)
            self._count += 1
            asked_at = time.monotonic()
            try:
                answer = self._client.ask(self._request)
            except AnswerUnwanted:
                self._tell("unwanted", asked_at)
                raise NotAsked from None
            except ModelUnavailable as unavailable:
                self._tell("unavailable", asked_at)
                error = unavailable
                self._slow_down(error, asked_at)
            except (ModelRejected, BadInput):
                self._tell("rejected", asked_at)
                raise
            else:
                self._tell("answered", asked_at)
                self._pace.answered()
                return answer

    def _tell(self, outcome: str, asked_at: float) -> None:
        MODEL_CALLS.of(self._provider, outcome).observe(time.monotonic() - asked_at)
        if asking := current_span():
            asking.tell(tries=self._count)

    def _slow_down(self, error: ModelUnavailable, asked_at: float) -> None:
        if error.status in BUSY:
            wished = min(error.retry_after_seconds or 0.0, LONGEST_HOLD_SECONDS)
            self._pace.refused(asked_at=asked_at, wait_seconds=wished)

    def _pause_after(self, error: ModelUnavailable) -> float:
        """Anywhere within a growing pause, so that a crowd comes apart; and behind what the endpoint wished for."""
        if self._count >= MOST_TRIES:
            raise self._given_up(error) from error
        most = min(FIRST_PAUSE_SECONDS * 2 ** (self._count - 1), LONGEST_PAUSE_SECONDS)
        return (error.retry_after_seconds or 0.0) + random.uniform(0, most)  # noqa: S311 - a spread

    def _check_patience(self, error: ModelUnavailable, wait: float) -> None:
        if time.monotonic() + wait > self._began + PATIENCE_SECONDS:
            raise self._given_up(error, f"; the next try would be {wait:.0f} s away") from error

    def _given_up(self, error: ModelUnavailable, more: str = "") -> ModelUnavailable:
        times = "once" if self._count == 1 else f"{self._count} times"
        seconds = time.monotonic() - self._began
        return ModelUnavailable(
            f"{error} (tried {times} in {seconds:.0f} s{more})", status=error.status
        )

    def _pause(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            if self._request.is_unwanted():
                raise NotAsked
            time.sleep(min(left, SLICE_SECONDS))
