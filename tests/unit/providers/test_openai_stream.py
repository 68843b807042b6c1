"""A streamed answer is the very answer that would have come in one piece, in whatever pieces it comes."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from liyagent.providers import endpoint, patience
from liyagent.providers.openai import OpenAIClient
from liyagent.providers.types import (
    AnswerUnwanted,
    Finish,
    Message,
    ModelAnswer,
    ModelRejected,
    ModelRequest,
    ModelUnavailable,
    Role,
    ToolSpec,
)
from tests.fakes.model_server import DONE, USAGE, ModelServer, Turn, call, chunk

TOOLS = (ToolSpec(name="jira/add_comment"),)


def request(**changes: Any) -> ModelRequest:
    values: dict[str, Any] = {
        "model": "small-1",
        "messages": (Message(role=Role.USER, text="restart web-1"),),
        "tools": TOOLS,
        "timeout_seconds": 5.0,
        "is_streaming": True,
    }
    return ModelRequest(**{**values, **changes})


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
    def ask(*events: Any, **turn: Any) -> ModelAnswer:
        server.turns = [Turn(events=events or None, **turn)]
        return client.ask(request())

    return ask


def comment(n: Any, index: int | None = None, id_: str | None = None) -> dict[str, Any]:
    """A whole call as one chunk may hold it."""
    asked = call("jira/add_comment", {"n": n})
    del asked["id"]
    numbered = {} if index is None else {"index": index}
    named = {} if id_ is None else {"id": id_}
    return {**numbered, **named, **asked}


def piece(arguments: str, index: int | None = None) -> dict[str, Any]:
    numbered = {} if index is None else {"index": index}
    return {**numbered, "function": {"arguments": arguments}}


def calls(*asked: Any) -> dict[str, Any]:
    return chunk({"tool_calls": list(asked)})


END = (chunk({}, finish="tool_calls"), DONE)
SAID = chunk({"content": "hello"})


@pytest.mark.parametrize(
    "turn",
    [
        {"text": "all is well"},
        {"text": ""},
        {"text": "boot\x00\ud83d\ude00 ☃ done"},
        {"text": "one moment", "calls": [call("jira/add_comment", {"n": 1}, id="call_9f3Kq")]},
        {"calls": [call("jira/add_comment", {"n": n}, id=f"c{n}") for n in range(3)]},
        {"calls": [call("jira/add_comment", {"n": n}, id="call_0") for n in range(3)]},
        {"calls": [call("jira/add_comment", {"n": 1}, id="") for _ in range(2)]},
        {"calls": [call("jira/gone", {}, id=7)]},
        {"calls": [call("jira/add_comment", "")]},
        {"calls": [call("jira/add_comment", '{"issue":"OPS-7","body":"restart o')]},
        {"calls": [call("jira/add_comment", '{"b":"restart o"}')], "finish": "length"},
        {"text": "half a", "finish": "length"},
        {"text": "", "refusal": "I cannot help with that"},
        {"text": "x", "finish": "content_filter"},
        {"calls": [call("jira/add_comment", {"n": 1})], "finish": "stop"},
    ],
)  # fmt: skip
@pytest.mark.field("FL-44")
@pytest.mark.field("FL-46")
def test_a_streamed_answer_is_the_answer_in_one_piece(
    server: ModelServer, client: OpenAIClient, turn: dict[str, Any]
) -> None:
    server.turns = [Turn(**turn), Turn(**turn)]
    whole = client.ask(request(is_streaming=False))
    streamed = client.ask(request())
    assert streamed == whole
    assert streamed.input_tokens == 11
    assert server.bodies[1]["stream_options"] == {"include_usage": True}


A, B, C = (comment(n, index, f"call_{n}xyz") for index, n in enumerate((1, 2, 3)))


@pytest.mark.field("FL-45")
@pytest.mark.promise("CR-09")
@pytest.mark.parametrize(
    "chunks",
    [
        [[A], [A, B], [A, B, C]],
        [[A], [A], [B], [B], [C], [C]],
        [[A, B, C], [A, B, C]],
        [[A], [B], [C]],
        [[comment(n, 0, f"call_{n}xyz")] for n in (1, 2, 3)],
        [[comment(n, 0, f"call_{n}xyz") for n in range(1, most)] for most in (2, 3, 4)],
        [[comment(n, None, f"call_{n}xyz") for n in range(1, most)] for most in (2, 3, 4)],
        [[comment(n, None, f"call_{n}xyz")] for n in (1, 2, 3)],
        [[comment(n, index) for index, n in enumerate(range(1, most))] for most in (2, 3, 4)],
        [[comment(n) for n in range(1, most)] for most in (2, 3, 4)],
        [[comment(n)] for n in (1, 2, 3)],
        [[comment(n, 0)] for n in (1, 2, 3)],
        [[comment(n, index, f"fresh{most}{n}") for index, n in enumerate(range(1, most))] for most in (2, 3, 4)],
    ],
    ids=[
        "cumulative", "each twice", "all twice", "one a chunk", "all at index 0", "cumulative at index 0",
        "cumulative without index", "without index", "cumulative without id", "cumulative without both",
        "without both", "at index 0 without id", "cumulative under fresh ids",
    ],
)  # fmt: skip
def test_three_calls_are_three_however_often_they_are_told(
    answer_to: Say, chunks: list[list[Any]]
) -> None:
    answer = answer_to(*(calls(*told) for told in chunks), *END)
    assert [it.args for it in answer.calls] == [{"n": 1}, {"n": 2}, {"n": 3}]
    assert {it.name for it in answer.calls} == {"jira/add_comment"}


@pytest.mark.field("FL-45")
def test_arguments_that_grow_from_chunk_to_chunk_are_told_once(answer_to: Say) -> None:
    def told(text: str) -> dict[str, Any]:
        return {"index": 0, "id": "a", "function": {"name": "jira__add_comment", "arguments": text}}

    answer = answer_to(calls(told('{"n"')), calls(told('{"n": 1')), calls(told('{"n": 1}')), *END)
    assert [it.args for it in answer.calls] == [{"n": 1}]


def test_an_id_and_a_name_in_each_fragment_are_one_call(answer_to: Say) -> None:
    def told(text: str) -> dict[str, Any]:
        return {"index": 0, "id": "a", "function": {"name": "jira__add_comment", "arguments": text}}

    answer = answer_to(*(calls(told(text)) for text in ('{"n"', ": 1", "}", "")), *END)
    assert [(it.id, it.args) for it in answer.calls] == [("a", {"n": 1})]


def test_fragments_of_two_calls_may_be_mixed(answer_to: Say) -> None:
    start = calls({**comment(1, 0, "a"), "function": {"name": "jira__add_comment"}})
    other = calls(
        {**comment(1, 1, "b"), "function": {"name": "jira__add_comment", "arguments": None}}
    )
    parts = [("{", 0), ("{", 1), ('"n":', 0), ('"n":', 1), ("7}", 1), ("1}", 0)]
    answer = answer_to(start, other, *(calls(piece(text, at)) for text, at in parts), *END)
    assert [(it.id, it.args) for it in answer.calls] == [("a", {"n": 1}), ("b", {"n": 7})]


def test_fragments_without_a_number_go_on_with_the_last_call(answer_to: Say) -> None:
    start = calls({"index": 0, "id": "a", "function": {"name": "jira__add_comment"}})
    answer = answer_to(start, calls(piece('{"n":')), calls(piece("1}")), *END)
    assert [it.args for it in answer.calls] == [{"n": 1}]


@pytest.mark.field("FL-46")
def test_a_repeated_fragment_is_no_repaired_call(answer_to: Say) -> None:
    start = calls({"index": 0, "id": "a", "function": {"name": "jira__add_comment"}})
    twice = calls(piece('{"n":', 0))
    answer = answer_to(start, twice, twice, calls(piece("1}", 0)), *END)
    assert [it.args for it in answer.calls] == [None]


def test_what_comes_behind_the_finish_is_not_added(answer_to: Say) -> None:
    answer = answer_to(SAID, chunk({"content": "!"}, finish="stop"), SAID, calls(B), DONE)
    assert (answer.text, answer.calls, answer.finish) == ("hello!", (), Finish.STOP)


@pytest.mark.parametrize(
    "events",
    [
        (": keep-alive\n\n", SAID, ": keep-alive\n\n", chunk({}, finish="stop"), DONE),
        (SAID, chunk({}, finish="stop")),
        (SAID, chunk({}, finish="stop"), "data: [DONE]"),
        ("\ufeffevent: x\r\nid: 7\r\ndata: " + json.dumps(SAID) + "\r\n\r\n", *END),
        ("data:" + json.dumps(SAID, indent=1).replace("\n", "\ndata:") + "\n\n", *END),
        ("data: " + json.dumps(SAID) + "\r\rdata: " + json.dumps(END[0]) + "\r\r", "data:[DONE]\r\r"),
        (SAID, {"choices": []}, {"choices": None}, {"choices": [None, 7]}, {}, *END),
        (chunk({"content": [{"type": "text", "text": "hello"}]}), chunk(None), *END),
        ({"choices": [{"index": 1, "delta": {"content": "other"}}]}, SAID, *END),
        ({"error": None, **SAID}, *END),
    ],
)  # fmt: skip
def test_other_ways_to_frame_and_to_end_are_read(answer_to: Say, events: tuple[Any, ...]) -> None:
    assert answer_to(*events).text == "hello"


def test_every_byte_may_come_alone(server: ModelServer, client: OpenAIClient) -> None:
    text = "".join(f"data: {json.dumps(it)}\n\n" for it in (SAID, calls(A), END[0]))
    server.turns = [Turn(events=list(text))]
    answer = client.ask(request())
    assert (answer.text, answer.calls[0].args) == ("hello", {"n": 1})


@pytest.mark.parametrize(
    ("events", "counts"),
    [
        ((SAID, chunk({}, finish="stop"), {"choices": [], "usage": USAGE}, DONE), (11, 7, 3)),
        ((SAID, chunk({}, finish="stop", usage=USAGE), DONE), (11, 7, 3)),
        ((chunk({"content": "hello"}, usage={"prompt_tokens": 1}), chunk({}, finish="stop", usage=USAGE)), (11, 7, 3)),
        ((SAID, chunk({}, finish="stop", usage=None), DONE), (0, 0, 0)),
        ((SAID, chunk({}, finish="stop", usage="many"), DONE), (0, 0, 0)),
    ],
)  # fmt: skip
def test_tokens_are_counted_where_they_are_told(
    answer_to: Say, events: tuple[Any, ...], counts: tuple[int, ...]
) -> None:
    answer = answer_to(*events)
    assert (answer.input_tokens, answer.output_tokens, answer.cached_tokens) == counts


@pytest.mark.parametrize(
    ("events", "error", "says"),
    [
        ((SAID, calls(A)), ModelUnavailable, "did not say why the model stopped"),
        ((SAID, calls(A), DONE), ModelUnavailable, "did not say why the model stopped"),
        ((": nothing\n\n",), ModelUnavailable, "did not say why"),
        ((SAID, "data: <html>busy</html>\n\n", *END), ModelUnavailable, "cannot be read: <html>busy"),
        ((SAID, "data: " + "[" * 100_000 + "\n\n", *END), ModelUnavailable, "cannot be read"),
        ((SAID, "data: 7\n\n", *END), ModelUnavailable, "no shape: 7"),
        ((SAID, "data: {\"choi", ), ModelUnavailable, "cannot be read"),
        ((SAID, {"error": {"message": "overloaded", "code": 529}}, *END), ModelUnavailable, "overloaded"),
        ((SAID, {"error": {"message": "no credit", "code": 402}}, *END), ModelRejected, "no credit"),
        ((SAID, {"error": "out of memory"}, *END), ModelUnavailable, "out of memory"),
        ((SAID, {"error": {"message": "slow", "code": "rate_limit_exceeded"}}), ModelUnavailable, "slow"),
        (("event: error\ndata: {\"error\": {\"type\": \"authentication_error\"}}\n\n",), ModelRejected, "api_key_env"),
        ((calls(*[comment(n, n, f"c{n}") for n in range(1001)]), *END), ModelUnavailable, "1001 calls"),
    ],
)  # fmt: skip
def test_a_stream_that_is_no_answer_is_an_ordinary_error(
    server: ModelServer,
    answer_to: Say,
    events: tuple[Any, ...],
    error: type[Exception],
    says: str,
) -> None:
    with pytest.raises(error, match=says):
        answer_to(*events)
    assert len(server.requests) == 1


@pytest.mark.parametrize("status", [401, 429, 500])
def test_a_refusal_is_the_same_as_without_streaming(answer_to: Say, status: int) -> None:
    with pytest.raises((ModelRejected, ModelUnavailable), match="the vendor's words"):
        answer_to(status=status, text="the vendor's words")


@pytest.mark.parametrize(
    ("raw", "error", "says"),
    [
        ("<h1>It works</h1>", ModelRejected, "is base_url right.*It works"),
        ("", ModelUnavailable, "ended early"),
        ('{"hello": 1}', ModelUnavailable, "no choice"),
    ],
)
def test_a_page_instead_of_a_stream_is_told_apart(
    answer_to: Say, raw: str, error: type[Exception], says: str
) -> None:
    with pytest.raises(error, match=says):
        answer_to(raw=raw)


def test_an_endpoint_that_does_not_stream_is_read_all_the_same(
    server: ModelServer, answer_to: Say
) -> None:
    whole = server.body_of(Turn(text="hello", calls=[call("jira/add_comment", {"n": 1})]), "m")
    answer = answer_to(raw=json.dumps(whole))
    assert (answer.text, answer.finish, answer.input_tokens) == ("hello", Finish.CALLS, 11)


def test_an_endpoint_that_does_not_tell_usage_is_asked_without(
    server: ModelServer, client: OpenAIClient
) -> None:
    server.not_taken = ("stream_options", "max_tokens")
    server.turns = [Turn(text="hello")]
    assert client.ask(request(max_answer_tokens=9)).text == "hello"
    assert client.ask(request(max_answer_tokens=9)).text == "done"
    assert ["stream_options" in it for it in server.bodies] == [True, False, False, False]
    assert [it.get("max_completion_tokens") for it in server.bodies] == [None, None, 9, 9]


@pytest.mark.parametrize("cut_after", [0, 30, 400])
def test_a_stream_cut_by_the_network_is_unavailable(answer_to: Say, cut_after: int) -> None:
    with pytest.raises(ModelUnavailable, match="cannot be reached"):
        answer_to(text="x" * 500, cut_after=cut_after)


def test_a_stream_that_stalls_is_unavailable_after_the_idle_limit(
    answer_to: Say, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(patience, "IDLE_SECONDS", 0.05)
    with pytest.raises(ModelUnavailable, match=r"stalled for 0.05 s"):
        answer_to(SAID, 3.0, *END)


def test_a_stream_larger_than_can_be_kept_is_unavailable(
    answer_to: Say, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(endpoint, "MOST_STREAM_BYTES", 10_000)
    with pytest.raises(ModelUnavailable, match="larger than 10000 bytes"):
        answer_to(*[SAID] * 1000, *END)


def test_the_first_piece_may_take_the_whole_time_of_the_step(
    answer_to: Say, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(patience, "IDLE_SECONDS", 0.01)
    assert answer_to(0.1, SAID, *END).text == "hello"


def test_a_stream_that_trickles_on_for_ever_ends_with_the_steps_time(
    server: ModelServer, client: OpenAIClient
) -> None:
    server.turns = [Turn(events=[": on\n\n"] * 500, drip_seconds=0.02)]
    began = time.monotonic()
    with pytest.raises(ModelUnavailable, match=r"did not answer within 0.15 s"):
        client.ask(request(timeout_seconds=0.15))
    assert time.monotonic() - began < 8


@pytest.mark.promise("CR-09")
@pytest.mark.parametrize("silence", ["before the head", "in the middle", "between pieces"])
def test_an_unwanted_answer_is_broken_off_at_once(
    server: ModelServer, client: OpenAIClient, silence: str
) -> None:
    turn = {
        "before the head": Turn(delay_seconds=30),
        "in the middle": Turn(events=[SAID, 30.0, *END]),
        "between pieces": Turn(events=[SAID] * 1000, drip_seconds=0.03),
    }[silence]
    server.turns = [turn]
    began = time.monotonic()
    with pytest.raises(AnswerUnwanted):
        client.ask(request(is_unwanted=lambda: bool(server.requests), timeout_seconds=60.0))
    assert time.monotonic() - began < 15
    while silence != "before the head" and not server.broken_off:
        assert time.monotonic() - began < 20
        time.sleep(0.01)


def test_without_streaming_an_answer_under_way_is_waited_for(
    server: ModelServer, client: OpenAIClient
) -> None:
    server.turns = [Turn(text="hello", delay_seconds=0.1)]
    answer = client.ask(request(is_streaming=False, is_unwanted=lambda: True))
    assert answer.text == "hello"


def test_a_connection_serves_one_stream_after_the_other(
    server: ModelServer, client: OpenAIClient
) -> None:
    server.turns = [Turn(text=f"{n}") for n in range(5)]
    assert [client.ask(request()).text for _ in range(5)] == ["0", "1", "2", "3", "4"]
    assert server.connections == 1


def test_an_end_that_never_comes_does_not_keep_the_answer(
    server: ModelServer, client: OpenAIClient
) -> None:
    server.turns = [Turn(events=[SAID, *END, 30.0])]
    began = time.monotonic()
    assert client.ask(request()).text == "hello"
    assert time.monotonic() - began < 15
