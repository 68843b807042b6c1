"""One model step in Anthropic's messages over real HTTP, against a server that refuses what the vendor refuses."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from liyagent.core.canonical import canonical
from liyagent.providers.anthropic import AnthropicClient
from liyagent.providers.types import (
    AnswerUnwanted,
    Finish,
    Message,
    ModelAnswer,
    ModelRejected,
    ModelRequest,
    ModelUnavailable,
    Role,
    ToolCall,
    ToolSpec,
)
from liyagent.providers.wire_names import wire_name
from tests.fakes.anthropic_server import AnthropicServer, block_events, use
from tests.fakes.model_server import Turn

LONG = "incident-management/" + "create_post_incident_review_with_timeline" * 2
TOOLS = (
    ToolSpec(name="jira/add_comment", description="Comment", schema={"required": ["issue"]}),
    ToolSpec(name=LONG),
)
TASK = (Message(role=Role.SYSTEM, text="be brief"), Message(role=Role.USER, text="restart web-1"))
COMMENT = "jira__add_comment"


def request(**changes: Any) -> ModelRequest:
    values: dict[str, Any] = {
        "model": "small-1",
        "messages": TASK,
        "tools": TOOLS,
        "timeout_seconds": 5.0,
    }
    return ModelRequest(**{**values, **changes})


def asked(id_: str, name: str = "jira/add_comment", **args: Any) -> ToolCall:
    return ToolCall(id=id_, name=name, arguments_text=json.dumps(args), args=args)


def said(*calls: ToolCall, text: str = "") -> Message:
    return Message(role=Role.ASSISTANT, text=text, calls=calls)


def result(id_: str, text: str = "ok", **facts: Any) -> Message:
    return Message(role=Role.TOOL, text=text, call_id=id_, **facts)


@pytest.fixture
def server() -> Iterator[AnthropicServer]:
    with AnthropicServer() as running:
        yield running


@pytest.fixture
def client(server: AnthropicServer) -> AnthropicClient:
    return AnthropicClient(base_url=server.base_url, api_key_env="")


Say = Callable[..., ModelAnswer]


@pytest.fixture
def answer_to(server: AnthropicServer, client: AnthropicClient) -> Say:
    def ask(*, is_streaming: bool = False, **turn: Any) -> ModelAnswer:
        server.turns = [Turn(**turn)]
        return client.ask(request(is_streaming=is_streaming))

    return ask


@pytest.mark.field("FL-49")
def test_a_step_is_asked_in_the_format_and_read_back(
    server: AnthropicServer, client: AnthropicClient
) -> None:
    bad = ToolCall(id="c2", name="jira/gone", arguments_text='{"body":"restart o', args=None)
    history = (
        *TASK,
        said(asked("c1", issue="OPS-7"), bad, text="looking"),
        result("c1", "added"),
        result("c2", "arguments were cut", is_error=True),
        said(),
        Message(role=Role.USER, text="go on"),
        Message(role=Role.USER, text=" "),
        said(text="fine"),
        Message(role=Role.USER, text="more"),
    )
    server.turns = [Turn(text="one moment", calls=[use(wire_name(LONG), {"n": 1})])]
    answer = client.ask(request(messages=history, max_answer_tokens=77))

    assert server.bodies == [
        {
            "model": "small-1",
            "max_tokens": 77,
            "system": "be brief",
            "messages": [
                {"role": "user", "content": [{"type": "text", "text": "restart web-1"}]},
                {
                    "role": "assistant",
                    "content": [
                        {"type": "text", "text": "looking"},
                        {
                            "type": "tool_use",
                            "id": "c1",
                            "name": COMMENT,
                            "input": {"issue": "OPS-7"},
                        },
                        {
                            "type": "tool_use",
                            "id": "c2",
                            "name": "jira__gone",
                            "input": {"unreadable_arguments": '{"body":"restart o'},
                        },
                    ],
                },
                {
                    "role": "user",
                    "content": [
                        {"type": "tool_result", "tool_use_id": "c1", "content": "added"},
                        {
                            "type": "tool_result",
                            "tool_use_id": "c2",
                            "content": "arguments were cut",
                            "is_error": True,
                        },
                        {"type": "text", "text": "go on"},
                        {"type": "text", "text": "(no words)"},
                    ],
                },
                {"role": "assistant", "content": [{"type": "text", "text": "fine"}]},
                {"role": "user", "content": [{"type": "text", "text": "more"}]},
            ],
            "tools": [
                {
                    "name": COMMENT,
                    "input_schema": {"type": "object", "required": ["issue"]},
                    "description": "Comment",
                },
                {"name": wire_name(LONG), "input_schema": {"type": "object", "properties": {}}},
            ],
        }
    ]
    assert answer == ModelAnswer(
        text="one moment",
        calls=(
            ToolCall(id="toolu_9f3KqZ1vX7", name=LONG, arguments_text='{"n":1}', args={"n": 1}),
        ),
        finish=Finish.CALLS,
        input_tokens=11,
        output_tokens=7,
        cached_tokens=3,
    )


def test_a_cap_is_always_told(server: AnthropicServer, client: AnthropicClient) -> None:
    client.ask(request())
    assert server.bodies[0]["max_tokens"] == 8192
    assert "stream" not in server.bodies[0]


@pytest.mark.field("FL-44")
@pytest.mark.field("FL-49")
@pytest.mark.parametrize(
    "ids",
    [
        ["call_0", "call_0"],
        ["", ""],
        ["0", "functions.add_comment:0"],
        ["a", "b"],
        ["x" * 300, "ü"],
    ],
)
def test_results_pair_with_their_calls_whatever_the_ids_were(
    server: AnthropicServer, client: AnthropicClient, ids: list[str]
) -> None:
    step = (said(*(asked(id_) for id_ in ids)), *(result(id_, f"of {id_}") for id_ in ids))
    assert client.ask(request(messages=(*TASK, *step, *step))).text == "done"
    turns = server.bodies[0]["messages"]
    for calls, results in ((turns[1], turns[2]), (turns[3], turns[4])):
        uses = [it["id"] for it in calls["content"]]
        assert [it["tool_use_id"] for it in results["content"]] == uses
        assert [it["content"] for it in results["content"]] == [f"of {id_}" for id_ in ids]


@pytest.mark.field("FL-47")
def test_a_conversation_goes_on_when_its_tools_are_gone(client: AnthropicClient) -> None:
    history = (*TASK, said(asked("a", "jira/delete_everything")), result("a", is_error=True))
    assert client.ask(request(messages=history, tools=())).text == "done"


@pytest.mark.field("FL-49")
@pytest.mark.parametrize(
    "history",
    [
        (said(asked("a"), asked("b")), result("a")),
        (said(asked("a")), result("a"), result("a")),
        (said(asked("a")), Message(role=Role.USER, text="x")),
        (result("a"),),
    ],
    ids=["one missing", "doubled", "none", "unasked"],
)
def test_the_fake_refuses_what_does_not_pair(
    server: AnthropicServer, client: AnthropicClient, history: tuple[Message, ...]
) -> None:
    with pytest.raises(ModelRejected, match=r"status 400.*expected"):
        client.ask(request(messages=(*TASK, *history)))
    assert len(server.requests) == 1


TURNS: list[dict[str, Any]] = [
    {"text": "all is well"},
    {"text": ""},
    {"text": "boot\x00\ud83d\ude00 ☃ done"},
    {"text": "one moment", "calls": [use(COMMENT, {"n": 1, "big": 12345678901234567890123})]},
    {"calls": [use(COMMENT, {"n": n}, id=f"toolu_{n}") for n in range(3)]},
    {"calls": [use(COMMENT, {"n": n}, id="call_0") for n in range(3)]},
    {"calls": [use(COMMENT), use("delete_everything", {}, id="x")]},
    {"calls": [use(COMMENT, {"b": "restart o"})], "finish": "max_tokens"},
    {"text": "half a", "finish": "max_tokens"},
    {"text": "I cannot", "finish": "refusal"},
    {"text": "", "finish": "refusal"},
    {"text": "wait", "finish": "pause_turn"},
    {"text": "so far", "finish": "stop_sequence"},
    {"calls": [use(COMMENT, {"n": 1})], "finish": "end_turn"},
]


@pytest.mark.field("FL-44")
@pytest.mark.field("FL-46")
@pytest.mark.parametrize("turn", TURNS, ids=range(len(TURNS)))
def test_a_streamed_answer_is_the_answer_in_one_piece(
    server: AnthropicServer, client: AnthropicClient, turn: dict[str, Any]
) -> None:
    server.turns = [Turn(**turn), Turn(**turn)]
    whole = client.ask(request())
    streamed = client.ask(request(is_streaming=True))
    assert streamed == whole
    assert (streamed.input_tokens, streamed.output_tokens, streamed.cached_tokens) == (11, 7, 3)


@pytest.mark.field("FL-46")
@pytest.mark.parametrize("is_streaming", [False, True])
@pytest.mark.parametrize(
    ("reason", "has_call", "finish"),
    [
        ("end_turn", False, Finish.STOP),
        ("tool_use", True, Finish.CALLS),
        ("end_turn", True, Finish.CALLS),
        ("tool_use", False, Finish.STOP),
        ("max_tokens", True, Finish.CUT),
        ("max_tokens", False, Finish.CUT),
        ("model_context_window_exceeded", True, Finish.CUT),
        ("refusal", False, Finish.REFUSED),
        ("pause_turn", False, Finish.CUT),
        ("stop_sequence", False, Finish.STOP),
        ("never heard of", True, Finish.CALLS),
    ],
)
def test_why_the_model_stopped(
    answer_to: Say, reason: str, has_call: bool, finish: Finish, is_streaming: bool
) -> None:
    calls = [use(COMMENT)] if has_call else []
    answer = answer_to(text="x", finish=reason, calls=calls, is_streaming=is_streaming)
    assert answer.finish is finish


@pytest.mark.field("FL-46")
@pytest.mark.parametrize("text", ['{"issue":"OPS-7","body":"restart o', "[]", "nonsense", '"{}"'])
def test_input_that_is_no_object_stays_text_and_is_never_repaired(
    answer_to: Say, text: str
) -> None:
    calls = [use(COMMENT, text, id="a"), use(COMMENT, {"n": 1}, id="b")]
    answer = answer_to(calls=calls, is_streaming=True)
    assert [(it.args, it.arguments_text) for it in answer.calls] == [
        (None, text),
        ({"n": 1}, '{"n":1}'),
    ]


START = {"type": "message_start", "message": {"usage": {"input_tokens": 5}}}
TEXT = block_events(0, {"type": "text", "text": "hello"})
FINISH = {
    "type": "message_delta",
    "delta": {"stop_reason": "tool_use"},
    "usage": {"output_tokens": 7},
}
STOP = {"type": "message_stop"}


def told(n: int, index: int, id_: str | None = None) -> list[Any]:
    return block_events(index, use(COMMENT, {"n": n}, id=id_ or f"toolu_{n}"))


@pytest.mark.field("FL-45")
@pytest.mark.parametrize(
    "events",
    [
        [*told(1, 0), *told(2, 1), *told(3, 2)],
        [*told(1, 0), *told(1, 0), *told(2, 1), *told(1, 0), *told(2, 1), *told(3, 2)],
        [*told(1, 0), *told(2, 0), *told(3, 0)],
        [*told(1, 0, "same"), *told(2, 1, "same"), *told(3, 2, "same")],
    ],
    ids=["once", "cumulative", "all at index 0", "one id"],
)
def test_three_calls_are_three_however_often_they_are_told(
    answer_to: Say, events: list[Any]
) -> None:
    answer = answer_to(events=[START, *events, FINISH, STOP], is_streaming=True)
    assert [it.args for it in answer.calls] == [{"n": 1}, {"n": 2}, {"n": 3}]


@pytest.mark.parametrize(
    "events",
    [
        [*TEXT, FINISH, STOP],
        [START, {"type": "ping"}, ": beat\n\n", {"type": "new"}, {}, *TEXT, FINISH],
        [
            *TEXT[:-1],
            {"type": "content_block_delta", "index": 9, "delta": {"text": "!"}},
            FINISH,
            *TEXT,
            STOP,
        ],
        [*TEXT, {"type": "message_delta", "delta": None}, FINISH, STOP, *told(1, 4)],
        [
            {"type": "message_start", "message": None},
            *TEXT,
            {"type": "content_block_start"},
            FINISH,
            STOP,
        ],
    ],
)
def test_other_streams_are_read(answer_to: Say, events: list[Any]) -> None:
    answer = answer_to(events=events, is_streaming=True)
    assert (answer.text, answer.calls) == ("hello", ())


OVERLOADED = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}


@pytest.mark.parametrize(
    ("events", "error", "says"),
    [
        ([START, *TEXT, *told(1, 1)], ModelUnavailable, "did not say why the model stopped"),
        ([START, *TEXT, STOP], ModelUnavailable, "did not say why the model stopped"),
        ([START, *TEXT, OVERLOADED, FINISH, STOP], ModelUnavailable, "Overloaded"),
        ([{"error": {"type": "not_found_error", "message": "no m"}}], ModelRejected, "before /v1/messages.*no m"),
        (["data: <html>\n\n"], ModelUnavailable, "cannot be read: <html>"),
        ([*(event for n in range(1001) for event in told(n, n)), FINISH], ModelUnavailable, "1001 calls"),
    ],
)  # fmt: skip
def test_a_stream_that_is_no_answer_is_an_ordinary_error(
    answer_to: Say, events: list[Any], error: type[Exception], says: str
) -> None:
    with pytest.raises(error, match=says):
        answer_to(events=events, is_streaming=True)


@pytest.mark.parametrize(
    ("status", "error", "says"),
    [
        (400, ModelRejected, "does not take this request"),
        (401, ModelRejected, "api_key_env"),
        (403, ModelRejected, "may not use this model"),
        (404, ModelRejected, "base_url ends before /v1/messages"),
        (413, ModelRejected, "too large"),
        (429, ModelUnavailable, "answered 429"),
        (500, ModelUnavailable, "answered 500"),
        (529, ModelUnavailable, "answered 529"),
    ],
)
def test_a_refusal_is_told_in_the_vendors_words(
    server: AnthropicServer,
    answer_to: Say,
    status: int,
    error: type[ModelRejected | ModelUnavailable],
    says: str,
) -> None:
    with pytest.raises(error, match=rf"{says}.*the vendor's words") as refused:
        answer_to(
            status=status,
            text="the vendor's words",
            headers={"Retry-After": "7"},
            is_streaming=True,
        )
    told = refused.value
    assert isinstance(told, ModelRejected | ModelUnavailable)
    assert told.status == status
    assert isinstance(told, ModelRejected) or told.retry_after_seconds == 7.0
    assert len(server.requests) == 1


@pytest.mark.parametrize("is_streaming", [False, True])
@pytest.mark.parametrize(
    ("raw", "error", "says"),
    [
        ("<html><h1>It works</h1></html>", ModelRejected, "not with Anthropic's messages.*It works"),
        ("", ModelUnavailable, "ended early: nothing"),
        ('{"content": [{"ty', ModelUnavailable, "ended early"),
        ("null", ModelUnavailable, "no content"),
        ('{"choices": []}', ModelUnavailable, "no content"),
        ('{"content": "x"}', ModelUnavailable, "no content"),
        ("[" * 100_000, ModelUnavailable, "cannot be kept"),
        (json.dumps(OVERLOADED), ModelUnavailable, "Overloaded"),
    ],
    ids=range(8),
)  # fmt: skip
def test_a_nonsense_answer_is_an_ordinary_error(
    answer_to: Say, raw: str, error: type[Exception], says: str, is_streaming: bool
) -> None:
    with pytest.raises(error, match=says):
        answer_to(raw=raw, is_streaming=is_streaming)


def test_content_of_any_shape_is_read_as_far_as_it_goes(answer_to: Say) -> None:
    blocks = [
        7,
        {"type": "thinking", "thinking": "hm"},
        {"type": "text", "text": None},
        {"type": "text", "text": "hello"},
        {"type": "tool_use", "id": 5, "name": None, "input": [1]},
        {"type": "tool_use", "name": "x" * 1000, "input": {"b\x00": "\ud83d"}},
    ]
    answer = answer_to(raw=json.dumps({"content": blocks, "stop_reason": 7, "usage": [1]}))
    assert (answer.text, answer.finish, answer.input_tokens) == ("hello", Finish.CALLS, 0)
    assert [(it.id, it.name[:5], it.args) for it in answer.calls] == [
        ("5", "", None),
        ("", "xxxxx", {"b\ufffd": "\ufffd"}),
    ]
    assert canonical([[it.name, it.arguments_text] for it in answer.calls])


@pytest.mark.parametrize("is_streaming", [False, True])
def test_an_answer_cut_by_the_network_is_unavailable_and_was_sent_once(
    server: AnthropicServer, answer_to: Say, is_streaming: bool
) -> None:
    with pytest.raises(ModelUnavailable, match="cannot be reached"):
        answer_to(text="x" * 500, cut_after=300, is_streaming=is_streaming)
    assert len(server.requests) == 1


@pytest.mark.promise("ruling 35")
def test_the_key_comes_from_the_named_variable_and_nothing_else_is_sent(
    server: AnthropicServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("API_KEY", "AUTH_TOKEN", "PROFILE", "WEBHOOK_SIGNING_KEY"):
        monkeypatch.setenv(f"ANTHROPIC_{name}", "not-this")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://not-this.example")
    monkeypatch.setenv("ANTHROPIC_CUSTOM_HEADERS", "x-tenant: not-this")
    client = AnthropicClient(base_url=server.base_url, api_key_env="VENDOR_KEY")
    with pytest.raises(ModelRejected, match="VENDOR_KEY is not set"):
        client.ask(request())
    monkeypatch.setenv("VENDOR_KEY", "this")
    assert client.ask(request()).text == "done"
    without = AnthropicClient(base_url=server.base_url, api_key_env="")
    assert without.ask(request()).text == "done"
    assert [it.headers["authorization"] for it in server.requests] == ["Bearer this", "Bearer none"]
    assert "not-this" not in json.dumps([it.headers for it in server.requests])


@pytest.mark.promise("ruling 35")
@pytest.mark.parametrize("host", ["127.0.0.2", "169.254.169.254", "[::1]"])
def test_a_private_address_is_rejected_with_the_setting_that_lifts_it(host: str) -> None:
    with pytest.raises(ModelRejected, match="LIYAGENT_ALLOWED_PRIVATE_HOSTS"):
        AnthropicClient(base_url=f"http://{host}:9", api_key_env="").ask(request())


def test_an_unwanted_answer_is_broken_off_at_once(
    server: AnthropicServer, client: AnthropicClient
) -> None:
    server.turns = [Turn(events=[START, *TEXT, 30.0, FINISH])]
    began = time.monotonic()
    with pytest.raises(AnswerUnwanted):
        client.ask(
            request(
                is_streaming=True, is_unwanted=lambda: bool(server.requests), timeout_seconds=60.0
            )
        )
    assert time.monotonic() - began < 15
