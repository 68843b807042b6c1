"""How the cap of an answer is called: each endpoint knows one of two names."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from liyagent.providers.openai import OpenAIClient
from liyagent.providers.types import Message, ModelAnswer, ModelRejected, ModelRequest, Role
from tests.fakes.model_server import ModelServer, Turn

TASK = (Message(role=Role.USER, text="restart web-1"),)


def request(**changes: Any) -> ModelRequest:
    return ModelRequest(**{"model": "small-1", "messages": TASK, "timeout_seconds": 5.0, **changes})


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer() as running:
        yield running


@pytest.fixture
def client(server: ModelServer) -> OpenAIClient:
    return OpenAIClient(base_url=server.base_url, api_key_env="")


Say = Callable[..., ModelAnswer]


@pytest.fixture
def answer_to(server: ModelServer, client: OpenAIClient) -> Say:
    def ask(**turn: Any) -> ModelAnswer:
        server.turns = [Turn(**turn)]
        return client.ask(request())

    return ask


@pytest.mark.parametrize(
    ("not_taken", "sent"),
    [
        ((), ["max_tokens"]),
        (("max_tokens",), ["max_tokens", "max_completion_tokens", "max_completion_tokens"]),
    ],
)
def test_the_cap_of_an_answer_is_called_as_the_endpoint_calls_it(
    server: ModelServer,
    client: OpenAIClient,
    caplog: pytest.LogCaptureFixture,
    not_taken: tuple[str, ...],
    sent: list[str],
) -> None:
    server.not_taken = not_taken
    for _ in range(2 if not_taken else 1):
        client.ask(request(max_answer_tokens=77))
    assert [[name for name in body if "max" in name] for body in server.bodies] == [
        [name] for name in sent
    ]
    assert all(77 in body.values() for body in server.bodies)
    assert [
        it.getMessage() for it in caplog.records if "does not take max_tokens" in it.message
    ] == (
        [
            f"model small-1 of {server.base_url} does not take max_tokens; it is asked otherwise from here on"
        ]
        if not_taken
        else []
    )


def test_an_endpoint_that_takes_neither_name_of_the_cap_says_so(
    server: ModelServer, client: OpenAIClient
) -> None:
    server.not_taken = ("max_tokens", "max_completion_tokens")
    with pytest.raises(ModelRejected, match="'max_completion_tokens' is not supported"):
        client.ask(request(max_answer_tokens=77))
    assert len(server.requests) == 2


def test_a_cap_that_is_too_large_is_no_cause_to_ask_again(answer_to: Say) -> None:
    with pytest.raises(ModelRejected, match="too large"):
        answer_to(status=400, text="max_tokens is too large: 99999")


def test_openai_itself_is_told_the_cap_by_its_newer_name() -> None:
    client = OpenAIClient(base_url="", api_key_env="")
    body = client._request_body(request(max_answer_tokens=5))
    assert body["max_completion_tokens"] == 5


def test_no_cap_is_sent_that_nobody_set(server: ModelServer, client: OpenAIClient) -> None:
    client.ask(request())
    assert not [name for name in server.bodies[0] if "max" in name or "stream" in name]
