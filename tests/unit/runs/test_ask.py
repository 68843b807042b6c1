"""The loop's own retries of a model step: how often, how long, and how a crowd comes apart."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from liyagent.providers.client import client_for
from liyagent.providers.pace import pace_of
from liyagent.providers.types import Message, ModelAnswer, ModelRejected, ModelUnavailable, Role
from runs import ask
from runs.ask import NotAsked, ask_model
from runs.authority import AgentNow
from tests.fakes.anthropic_server import AnthropicServer
from tests.fakes.model_server import ModelServer, Turn

FACTS: dict[str, Any] = dict.fromkeys(AgentNow.__dataclass_fields__, "")


def asked(server: ModelServer, **facts: Any) -> ModelAnswer:
    """Ask through the loop's own retries."""
    is_unwanted = facts.pop("is_unwanted", lambda: False)
    agent = {
        **FACTS,
        "key": "triage",
        "provider": "anthropic" if isinstance(server, AnthropicServer) else "openai",
        "base_url": server.base_url,
        "model": "small-1",
        "model_timeout_seconds": 5.0,
        "is_streaming": False,
        "max_answer_tokens": 0,
        **facts,
    }
    return ask_model(
        AgentNow(**agent),
        messages=[Message(role=Role.USER, text="restart web-1")],
        tools=(),
        steps_taken=0,
        run_id="r1",
        is_unwanted=is_unwanted,
    )


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    client_for.cache_clear()
    pace_of.cache_clear()
    monkeypatch.setattr(ask, "FIRST_PAUSE_SECONDS", 0.001)


@pytest.fixture(params=[ModelServer, AnthropicServer])
def server(request: pytest.FixtureRequest) -> Iterator[ModelServer]:
    with request.param() as running:
        yield running


@pytest.mark.promise("CR-15")
@pytest.mark.parametrize("is_streaming", [False, True])
def test_a_step_is_asked_until_it_is_answered_and_not_again(
    server: ModelServer, is_streaming: bool
) -> None:
    server.turns = [
        Turn(status=429, headers={"Retry-After": "0.01"}),
        Turn(status=529),
        Turn(text="x" * 500, cut_after=30),
        Turn(raw=""),
        Turn(text="well"),
    ]
    assert asked(server, is_streaming=is_streaming).text == "well"
    assert len(server.requests) == 5


@pytest.mark.parametrize("status", [429, 500, 529])
def test_the_end_says_how_often_and_how_long_it_was_tried_in_the_endpoints_words(
    server: ModelServer, status: int
) -> None:
    server.turns = [Turn(status=status, text="come back later")] * 9
    with pytest.raises(
        ModelUnavailable, match=rf"answered {status}: come back later \(tried 6 times in \d+ s\)"
    ):
        asked(server)
    assert len(server.requests) == 6


def test_a_refusal_for_good_is_not_tried_again(server: ModelServer) -> None:
    server.turns = [Turn(status=401, text="bad key")]
    with pytest.raises(ModelRejected, match="bad key"):
        asked(server)
    assert len(server.requests) == 1


def test_the_endpoints_wish_is_honoured(server: ModelServer) -> None:
    server.turns = [Turn(status=503, headers={"retry-after-ms": "150"})]
    began = time.monotonic()
    assert asked(server).text == "done"
    assert time.monotonic() - began >= 0.15


def test_a_wish_beyond_all_patience_ends_the_step_at_once(server: ModelServer) -> None:
    server.turns = [Turn(status=429, text="quota", headers={"Retry-After": "3000"})]
    began = time.monotonic()
    with pytest.raises(
        ModelUnavailable, match=r"quota \(tried once in \d+ s; the next try would be 300\d s away\)"
    ):
        asked(server)
    assert time.monotonic() - began < 15


def test_a_wish_of_an_hour_holds_the_other_runs_back_for_a_minute_at_most(
    server: ModelServer,
) -> None:
    server.turns = [Turn(status=429, text="quota", headers={"Retry-After": "3000"})]
    with pytest.raises(ModelUnavailable, match="quota"):
        asked(server)
    provider = "anthropic" if isinstance(server, AnthropicServer) else "openai"
    pace = pace_of(provider=provider, base_url=server.base_url, api_key_env="")
    assert 30 < pace.turn() <= 61


def test_patience_counts_from_the_first_try(
    server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ask, "PATIENCE_SECONDS", 0.2)
    server.turns = [Turn(status=500, headers={"Retry-After": "0.09"}, text="no")] * 9
    with pytest.raises(ModelUnavailable, match=r"no \(tried .* in \d+ s; the next try"):
        asked(server)


def test_pauses_grow_and_lie_anywhere_within(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ask, "FIRST_PAUSE_SECONDS", 0.5)
    tries = ask._Tries(None, None, None, "none")  # type: ignore[arg-type]  # it asks nobody here
    most = []
    for count in range(1, ask.MOST_TRIES):
        tries._count = count
        pauses = [tries._pause_after(ModelUnavailable("x")) for _ in range(2000)]
        most.append(max(pauses))
        assert min(pauses) < most[-1] / 10
    assert most == pytest.approx([0.5, 1, 2, 4, 8], rel=0.1)


def test_a_drain_ends_a_pause(server: ModelServer) -> None:
    server.turns = [Turn(status=429, headers={"Retry-After": "30"})]
    began = time.monotonic()
    with pytest.raises(NotAsked):
        asked(server, is_unwanted=lambda: bool(server.requests))
    assert time.monotonic() - began < 15
    assert len(server.requests) == 1


def test_a_drain_breaks_a_stream_off(server: ModelServer) -> None:
    server.turns = [Turn(events=[": on\n\n", 30.0])]
    began = time.monotonic()
    with pytest.raises(NotAsked):
        asked(
            server,
            is_streaming=True,
            is_unwanted=lambda: bool(server.requests),
            model_timeout_seconds=60.0,
        )
    assert time.monotonic() - began < 15
    assert len(server.requests) == 1


def test_a_crowd_of_resumes_is_spread_after_the_first_refusal(server: ModelServer) -> None:
    came: list[float] = []
    lock = threading.Lock()

    def answer(_body: dict[str, Any]) -> Turn:
        with lock:
            came.append(time.monotonic())
            is_crowd = len(came) <= 16
        return Turn(status=429, headers={"Retry-After": "0.2"}) if is_crowd else Turn(text="done")

    server.turns = answer
    with ThreadPoolExecutor(16) as pool:
        texts = list(pool.map(lambda _n: asked(server).text, range(16)))
    assert texts == ["done"] * 16
    again = sorted(came)[16:]
    assert again[0] - came[0] >= 0.2
    assert again[-1] - again[0] > 0.4, "they came in one burst"
