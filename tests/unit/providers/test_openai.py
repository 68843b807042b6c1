"""One model step over real HTTP, in the quirks that endpoints were seen to have."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest

from liyagent.core.canonical import canonical
from liyagent.providers.openai import OpenAIClient
from liyagent.providers.types import (
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
from tests.fakes.model_server import ModelServer, Turn, call

LONG = "incident-management/" + "create_post_incident_review_with_timeline" * 2
TOOLS = (
    ToolSpec(
        name="jira/add_comment",
        description="Comment",
        schema={"type": "object", "required": ["issue"]},
    ),
    ToolSpec(name=LONG),
)
TASK = (Message(role=Role.SYSTEM, text="be brief"), Message(role=Role.USER, text="restart web-1"))


def request(**changes: Any) -> ModelRequest:
    values: dict[str, Any] = {
        "model": "small-1",
        "messages": TASK,
        "tools": TOOLS,
        "timeout_seconds": 5.0,
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
    def ask(**turn: Any) -> ModelAnswer:
        server.turns = [Turn(**turn)]
        return client.ask(request())

    return ask


def test_a_step_is_asked_in_the_format_and_read_back(
    server: ModelServer, client: OpenAIClient
) -> None:
    good = ToolCall(
        id="c1",
        name="jira/add_comment",
        arguments_text='{"issue": "OPS-7"}',
        args={"issue": "OPS-7"},
    )
    bad = ToolCall(id="c2", name="jira/gone", arguments_text='{"body":"restart o', args=None)
    history = (
        *TASK,
        Message(role=Role.ASSISTANT, text="looking", calls=(good, bad)),
        Message(role=Role.TOOL, text="added", call_id="c1"),
        Message(role=Role.TOOL, text="arguments were cut", call_id="c2", is_error=True),
        Message(role=Role.ASSISTANT, text=""),
        Message(role=Role.USER, text="go on"),
    )
    server.turns = [Turn(text="one moment", calls=[call(LONG, {"n": 1}, id="call_9f3Kq")])]
    answer = client.ask(request(messages=history))

    assert server.bodies == [
        {
            "model": "small-1",
            "messages": [
                {"role": "system", "content": "be brief"},
                {"role": "user", "content": "restart web-1"},
                {
                    "role": "assistant",
                    "content": "looking",
                    "tool_calls": [
                        {
                            "id": "c1",
                            "type": "function",
                            "function": {
                                "name": "jira__add_comment",
                                "arguments": '{"issue":"OPS-7"}',
                            },
                        },
                        {
                            "id": "c2",
                            "type": "function",
                            "function": {
                                "name": "jira__gone",
                                "arguments": '{"unreadable_arguments":"{\\"body\\":\\"restart o"}',
                            },
                        },
                    ],
                },
                {"role": "tool", "tool_call_id": "c1", "content": "added"},
                {"role": "tool", "tool_call_id": "c2", "content": "Error: arguments were cut"},
                {"role": "assistant", "content": ""},
                {"role": "user", "content": "go on"},
            ],
            "tools": [
                {
                    "type": "function",
                    "function": {
                        "name": "jira__add_comment",
                        "parameters": {"type": "object", "required": ["issue"]},
                        "description": "Comment",
                    },
                },
                {
                    "type": "function",
                    "function": {
                        "name": call(LONG)["function"]["name"],
                        "parameters": {"type": "object", "properties": {}},
                    },
                },
            ],
        }
    ]
    assert answer == ModelAnswer(
        text="one moment",
        calls=(ToolCall(id="call_9f3Kq", name=LONG, arguments_text='{"n": 1}', args={"n": 1}),),
        finish=Finish.CALLS,
        input_tokens=11,
        output_tokens=7,
        cached_tokens=3,
    )


@pytest.mark.field("FL-44")
@pytest.mark.parametrize(
    "id_",
    ["call_0", "0", "functions.add_comment:0", "add_comment", "call_00", "", "call_9f3KqZ1vX7"],
)
def test_ids_are_handed_through_unchanged(answer_to: Say, id_: str) -> None:
    twice = [call("jira/add_comment", {"n": 1}, id=id_), call("jira/add_comment", {"n": 2}, id=id_)]
    answer = answer_to(calls=twice)
    assert [(item.id, item.args) for item in answer.calls] == [(id_, {"n": 1}), (id_, {"n": 2})]


@pytest.mark.field("FL-46")
@pytest.mark.parametrize(
    "text", ['{"issue":"OPS-7","body":"restart o', "", "null", "[]", '"{}"', "{}x", "nonsense"]
)
def test_arguments_that_are_no_object_stay_text_and_are_never_repaired(
    answer_to: Say, text: str
) -> None:
    answer = answer_to(
        calls=[call("jira/add_comment", text, id="a"), call("jira/add_comment", {"n": 1}, id="b")]
    )
    assert [(item.arguments_text, item.args) for item in answer.calls] == [
        (text, None),
        ('{"n": 1}', {"n": 1}),
    ]
    assert answer.finish is Finish.CALLS


@pytest.mark.field("FL-46")
@pytest.mark.parametrize(
    ("reason", "calls", "refusal", "finish"),
    [
        ("stop", False, None, Finish.STOP),
        ("tool_calls", True, None, Finish.CALLS),
        ("stop", True, None, Finish.CALLS),
        ("tool_calls", False, None, Finish.STOP),
        ("length", True, None, Finish.CUT),
        ("length", False, "no", Finish.CUT),
        ("content_filter", False, None, Finish.REFUSED),
        ("stop", False, "I cannot help with that", Finish.REFUSED),
        ("never heard of", True, None, Finish.CALLS),
    ],
)  # fmt: skip
def test_why_the_model_stopped(
    answer_to: Say, reason: str, calls: bool, refusal: str | None, finish: Finish
) -> None:
    made = [call("jira/add_comment")] if calls else []
    answer = answer_to(text=None, finish=reason, calls=made, refusal=refusal)
    assert answer.finish is finish
    assert answer.text == (refusal or "")
    assert len(answer.calls) == len(made)


def test_a_name_that_was_not_offered_is_kept_as_it_came(answer_to: Say) -> None:
    named = [call(name) for name in ("delete_everything", "jira__drop")] + [
        {"function": {"name": "jira/x"}}
    ]
    assert [item.name for item in answer_to(calls=named).calls] == [
        "delete_everything",
        "jira__drop",
        "jira/x",
    ]


@pytest.mark.field("FL-32")
@pytest.mark.field("FL-33")
@pytest.mark.field("FL-34")
def test_all_text_of_an_answer_is_storable(answer_to: Say) -> None:
    hostile = '{"b\\u0000":"\\ud83d", "n": NaN, "big": 12345678901234567890123}'
    answer = answer_to(text="boot\x00\ud83d", calls=[call("a\x00/b", hostile, id="i\x00\ude00")])
    assert answer.text == "boot\ufffd\ufffd"
    made = answer.calls[0]
    assert made.id == "i\ufffd\ufffd"
    assert "\x00" not in made.name
    assert made.args == {"b\ufffd": "\ufffd", "n": "NaN", "big": 12345678901234567890123}
    assert canonical([made.name, made.arguments_text, made.args])


def test_other_shapes_of_text_ids_and_arguments_are_read(answer_to: Say) -> None:
    parts = [{"type": "text", "text": "two "}, {"type": "text", "text": "parts"}, "odd"]
    whole = {"id": 7, "function": {"name": "jira__add_comment", "arguments": {"n": 1}}}
    answer = answer_to(text=parts, calls=[whole, "nonsense", {"function": {"name": None}}])
    assert answer.text == "two parts"
    assert answer.calls[0] == ToolCall(
        id="7", name="jira/add_comment", arguments_text='{"n":1}', args={"n": 1}
    )
    assert [(item.name, item.args) for item in answer.calls[1:]] == [("", None), ("", None)]


@pytest.mark.parametrize("status", [400, 401, 402, 403, 404, 413, 418, 422])
def test_a_refusal_for_good_says_what_to_do_in_the_endpoints_words(
    answer_to: Say, status: int
) -> None:
    with pytest.raises(
        ModelRejected, match=rf"\(status {status}, model 'small-1'\).*the vendor's words"
    ):
        answer_to(status=status, text="the vendor's words")


@pytest.mark.parametrize(
    ("status", "advice"), [(401, "api_key_env"), (404, "base_url ends before")]
)
def test_the_advice_names_what_to_check(answer_to: Say, status: int, advice: str) -> None:
    with pytest.raises(ModelRejected, match=advice):
        answer_to(status=status)


@pytest.mark.parametrize("status", [408, 409, 425, 429, 500, 502, 503, 529])
def test_what_may_pass_is_unavailable_and_was_sent_once(
    server: ModelServer, answer_to: Say, status: int
) -> None:
    with pytest.raises(ModelUnavailable, match=f"answered {status}: busy") as later:
        answer_to(status=status, text="busy")
    assert later.value.retry_after_seconds is None
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"Retry-After": "7"}, 7.0),
        ({"Retry-After": "0.5"}, 0.5),
        ({"retry-after-ms": "250", "Retry-After": "9"}, 0.25),
        ({"Retry-After": "-3"}, 0.0),
        ({"Retry-After": "999999999"}, 3600.0),
        ({"Retry-After": "nan"}, None),
        ({"Retry-After": "soon"}, None),
        ({"Retry-After": format_datetime(datetime.now(UTC) - timedelta(hours=1))}, 0.0),
        ({"Retry-After": format_datetime(datetime.now(UTC) + timedelta(days=2))}, 3600.0),
    ],
)  # fmt: skip
def test_the_endpoints_own_wish_is_handed_on(
    answer_to: Say, headers: dict[str, str], seconds: float | None
) -> None:
    with pytest.raises(ModelUnavailable) as later:
        answer_to(status=429, headers=headers)
    assert later.value.retry_after_seconds == seconds


@pytest.mark.parametrize(
    ("raw", "error", "says"),
    [
        ("<html><h1>It works</h1></html>", ModelRejected, "is base_url right.*It works"),
        ("", ModelUnavailable, "ended early: nothing"),
        ('{"choices": [{"mess', ModelUnavailable, "ended early"),
        ("null", ModelUnavailable, "no choice"),
        ("[]", ModelUnavailable, "no choice"),
        ("{}", ModelUnavailable, "no choice"),
        ('{"choices": []}', ModelUnavailable, "no choice"),
        ('{"choices": "x"}', ModelUnavailable, "no choice"),
        ('{"choices": [7]}', ModelUnavailable, "no choice"),
        ('{"choices": [{"message": null}]}', ModelUnavailable, "no choice"),
        ("[" * 100_000, ModelUnavailable, "cannot be kept"),
        ('{"n": %s}' % ("9" * 5000), ModelUnavailable, "cannot be kept"),
        ('{"error": {"message": "no credit", "code": 402}}', ModelRejected, "no credit"),
        ('{"error": {"message": "overloaded", "code": 529}}', ModelUnavailable, "overloaded"),
        ('{"error": {"message": "slow down", "code": 429}}', ModelUnavailable, "slow down"),
        ('{"error": "out of memory"}', ModelUnavailable, "out of memory"),
    ],
    ids=range(16),
)  # fmt: skip
def test_a_nonsense_answer_is_an_ordinary_error(
    answer_to: Say, raw: str, error: type[Exception], says: str
) -> None:
    with pytest.raises(error, match=says):
        answer_to(raw=raw)


@pytest.mark.parametrize(
    "usage", ["null", "[]", '{"prompt_tokens": -1, "completion_tokens": "7"}', "{}"]
)
def test_a_nonsense_count_of_tokens_is_none(answer_to: Say, usage: str) -> None:
    choice = '{"message": {"content": "ok"}, "finish_reason": null}'
    raw = f'{{"choices": [{choice}], "usage": {usage}}}'
    answer = answer_to(raw=raw)
    assert (answer.text, answer.input_tokens, answer.output_tokens) == ("ok", 0, 0)


@pytest.mark.parametrize("status", [404, 502])
def test_an_html_error_is_shown_in_its_start(answer_to: Say, status: int) -> None:
    with pytest.raises((ModelRejected, ModelUnavailable), match="<h1>Bad Gateway") as failed:
        answer_to(status=status, raw="<h1>Bad Gateway\x00</h1>" + "x" * 10_000)
    assert len(str(failed.value)) < 600
    assert "\x00" not in str(failed.value)


def test_a_redirect_is_not_followed_and_names_its_target(
    server: ModelServer, answer_to: Say
) -> None:
    with pytest.raises(ModelRejected, match=r"moved to https://elsewhere.example/v1"):
        answer_to(status=307, headers={"Location": "https://elsewhere.example/v1"})
    assert len(server.requests) == 1


def test_an_answer_cut_by_the_network_is_unavailable_and_was_sent_once(
    server: ModelServer, answer_to: Say
) -> None:
    for cut_after in (0, 30):
        with pytest.raises(ModelUnavailable, match="cannot be reached"):
            answer_to(text="x" * 500, cut_after=cut_after)
    assert len(server.requests) == 2


def test_a_slow_answer_is_unavailable_after_the_requests_timeout(
    server: ModelServer, client: OpenAIClient
) -> None:
    server.turns = [Turn(delay_seconds=0.1)]
    with pytest.raises(ModelUnavailable, match=r"did not answer within 0.05 s"):
        client.ask(request(timeout_seconds=0.05))
    assert len(server.requests) == 1


def test_an_answer_that_trickles_in_for_ever_is_unavailable_too(
    server: ModelServer, client: OpenAIClient
) -> None:
    server.turns = [Turn(text="x" * 5000, drip_seconds=0.02)]
    with pytest.raises(ModelUnavailable, match=r"did not answer within 0.1 s"):
        client.ask(request(timeout_seconds=0.1))


def test_an_answer_larger_than_can_be_kept_is_unavailable(answer_to: Say) -> None:
    with pytest.raises(ModelUnavailable, match="answer is larger than"):
        answer_to(text="x" * (16 << 20))


def test_nobody_listening_is_unavailable() -> None:
    server = ModelServer().start()
    server.stop()
    with pytest.raises(ModelUnavailable, match="cannot be reached"):
        OpenAIClient(base_url=server.base_url, api_key_env="").ask(request())


@pytest.mark.parametrize(
    "base_url",
    [
        "ftp://models/v1",
        "models.example/v1",
        "file:///etc/passwd",
        "http://127.0.0.1:99999/v1",
        "http:///v1",
    ],
)
def test_a_wrong_url_is_rejected_by_name(base_url: str) -> None:
    with pytest.raises(ModelRejected, match="base_url"):
        OpenAIClient(base_url=base_url, api_key_env="").ask(request())


@pytest.mark.promise("ruling 35")
@pytest.mark.parametrize("host", ["127.0.0.2", "169.254.169.254", "[::1]", "10.0.0.1"])
def test_a_private_address_is_rejected_with_the_setting_that_lifts_it(host: str) -> None:
    with pytest.raises(ModelRejected, match="LIYAGENT_ALLOWED_PRIVATE_HOSTS"):
        OpenAIClient(base_url=f"http://{host}:9/v1", api_key_env="").ask(request())


@pytest.mark.promise("ruling 35")
def test_the_key_comes_from_the_named_variable_and_nothing_else_is_sent(
    server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID", "OPENAI_ADMIN_KEY"):
        monkeypatch.setenv(name, "not-this")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://not-this.example")
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "x-tenant: not-this")
    client = OpenAIClient(base_url=server.base_url, api_key_env="VENDOR_KEY")
    with pytest.raises(ModelRejected, match="VENDOR_KEY is not set"):
        client.ask(request())
    monkeypatch.setenv("VENDOR_KEY", "this")
    assert client.ask(request()).text == "done"
    sent = server.requests[0].headers
    assert sent["authorization"] == "Bearer this"
    assert "not-this" not in json.dumps(sent)


@pytest.mark.promise("ruling 35")
def test_our_own_secret_cannot_be_sent_as_a_key(server: ModelServer) -> None:
    client = OpenAIClient(base_url=server.base_url, api_key_env="LIYAGENT_SECRET_KEY")
    with pytest.raises(ModelRejected, match="cannot hold a key"):
        client.ask(request())
    assert server.requests == []


def test_a_request_that_cannot_be_stored_is_rejected_before_it_is_sent(
    server: ModelServer, client: OpenAIClient
) -> None:
    deep: Any = 1
    for _ in range(200):
        deep = [deep]
    with pytest.raises(ModelRejected, match="cannot be sent"):
        client.ask(request(tools=(ToolSpec(name="a/b", schema={"x": deep}),)))
    assert server.requests == []


def test_threads_share_one_client_and_each_gets_its_own_answer() -> None:
    gate = threading.Barrier(8, timeout=10)

    def echo(body: dict[str, Any]) -> Turn:
        gate.wait()
        return Turn(text=body["messages"][-1]["content"])

    with ModelServer(echo) as server:
        client = OpenAIClient(base_url=server.base_url, api_key_env="")

        def ask(number: int) -> str:
            return client.ask(request(messages=(Message(role=Role.USER, text=str(number)),))).text

        with ThreadPoolExecutor(8) as pool:
            assert list(pool.map(ask, range(16))) == [str(number) for number in range(16)]
