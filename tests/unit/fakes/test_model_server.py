"""The fake refuses what real providers refuse, and plays the scripts of provider `scripted`."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from liyagent.providers.openai import OpenAIClient
from liyagent.providers.script import parse_script
from liyagent.providers.types import (
    Finish,
    Message,
    ModelAnswer,
    ModelRejected,
    ModelRequest,
    ModelUnavailable,
    Role,
    ToolSpec,
)
from tests.fakes.model_server import ModelServer, from_script, pairing_fault

STORY = """
steps:
  - {text: looking, calls: [{tool: jira/get, args: {t: "{{ task }}"}}, {tool: jira/get, id: call_0}]}
  - {error: unavailable}
  - {text: "was {{ results.0.id }}"}
"""


def assistant(*ids: str) -> dict[str, Any]:
    return {"role": "assistant", "tool_calls": [{"id": id_} for id_ in ids]}


def result(id_: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": id_, "content": "ok"}


USER = {"role": "user", "content": "go on"}


@pytest.mark.field("FL-49")
@pytest.mark.parametrize(
    "messages",
    [
        [USER],
        [USER, assistant("a", "b"), result("a"), result("b")],
        [USER, assistant("0", "0"), result("0"), result("0"), assistant("0"), result("0"), USER],
    ],
)
def test_one_result_per_call_in_order_is_taken(messages: list[Any]) -> None:
    assert pairing_fault({"messages": messages}) == ""


@pytest.mark.field("FL-49")
@pytest.mark.parametrize(
    "messages",
    [
        [USER, assistant("a")],
        [USER, assistant("a", "b"), result("a")],
        [USER, assistant("a", "b"), result("a"), USER],
        [USER, assistant("a", "b"), result("b"), result("a")],
        [USER, assistant("a"), result("a"), result("a")],
        [USER, assistant("a"), USER, result("a")],
        [USER, result("a")],
    ],
    ids=["missing", "one missing", "broken off", "out of order", "doubled", "late", "unasked"],
)
def test_results_that_do_not_pair_are_refused(messages: list[Any]) -> None:
    assert pairing_fault({"messages": messages})


@pytest.mark.field("FL-49")
def test_a_strict_server_refuses_with_400_and_a_lax_one_answers() -> None:
    unpaired = (Message(role=Role.USER, text="x"), Message(role=Role.TOOL, text="ok", call_id="a"))
    request = ModelRequest(model="m", messages=unpaired)
    with ModelServer() as strict, pytest.raises(ModelRejected, match=r"status 400.*expected None"):
        OpenAIClient(base_url=strict.base_url, api_key_env="").ask(request)
    with ModelServer(strict=False) as lax:
        assert OpenAIClient(base_url=lax.base_url, api_key_env="").ask(request).text == "done"


def ask(base_url: str, *history: Message) -> ModelAnswer:
    messages = (Message(role=Role.USER, text="OPS-7"), *history)
    request = ModelRequest(model="m", messages=messages, tools=(ToolSpec(name="jira/get"),))
    return OpenAIClient(base_url=base_url, api_key_env="").ask(request)


def test_a_script_is_played_step_by_step() -> None:
    with ModelServer(from_script(parse_script(STORY, name="story"))) as server:
        first = ask(server.base_url)
        assert (first.text, first.finish) == ("looking", Finish.CALLS)
        assert [call.name for call in first.calls] == ["jira/get", "jira/get"]
        assert first.calls[0].args == {"t": "OPS-7"}
        assert first.calls[1].id == "call_0"
        said = Message(role=Role.ASSISTANT, text=first.text, calls=first.calls)
        results = [
            Message(role=Role.TOOL, text='{"id": 7}', call_id=call.id) for call in first.calls
        ]
        with pytest.raises(ModelUnavailable, match="503"):
            ask(server.base_url, said, *results)
        again = Message(role=Role.ASSISTANT, text="hm")
        assert ask(server.base_url, said, *results, again).text == "was 7"
        assert ask(server.base_url, said, *results, again, again).text == "done"


def test_a_template_that_finds_nothing_is_refused_with_its_place() -> None:
    script = parse_script("steps: [{text: '{{ results.0 }}'}]", name="story")
    with (
        ModelServer(from_script(script)) as server,
        pytest.raises(ModelRejected, match=r"steps\[0\].text"),
    ):
        ask(server.base_url)


def test_the_command_line_serves_a_script(tmp_path: Path) -> None:
    script = tmp_path / "story.yaml"
    script.write_text("steps: [{text: hello}]")
    command = [
        sys.executable,
        "-m",
        "tests.fakes.model_server",
        "--port",
        "0",
        "--script",
        str(script),
    ]
    root = Path(__file__).parents[3]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=root) as process:
        try:
            assert process.stdout is not None
            announced = process.stdout.readline()
            assert announced.startswith("playing story.yaml at http://127.0.0.1:")
            assert ask(announced.split()[-1]).text == "hello"
        finally:
            process.send_signal(signal.SIGKILL)
