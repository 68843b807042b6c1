"""`manage.py providers`: each fault of an endpoint is one clear line of what to do."""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as django_settings
from django.core.management import call_command

from liyagent.agents.models import Agent
from liyagent.core.errors import BadInput
from liyagent.core.outbound import guarded_client
from liyagent.providers.check import TOOL, CheckFailed
from liyagent.providers.client import client_for
from liyagent.providers.wire_names import wire_name
from tests.databases import FreshDatabase
from tests.fakes.anthropic_server import AnthropicServer, use
from tests.fakes.model_server import ModelServer, Turn, call
from tests.unit.core.test_outbound import RecordingServer, tls_contexts

ROOT = Path(__file__).resolve().parents[3]
ECHO = {"word": "blue"}


@pytest.fixture(autouse=True)
def fresh() -> None:
    client_for.cache_clear()


@pytest.fixture(params=[ModelServer, AnthropicServer])
def server(request: pytest.FixtureRequest) -> Iterator[ModelServer]:
    with request.param() as running:
        yield running


def echo(server: ModelServer) -> Any:
    if isinstance(server, AnthropicServer):
        return use(wire_name(TOOL.name), ECHO)
    return call(TOOL.name, ECHO)


def check(server: ModelServer, *turns: Turn, **options: Any) -> None:
    server.turns = list(turns)
    provider = "anthropic" if isinstance(server, AnthropicServer) else "openai"
    given = {"provider": provider, "model": "small-1", "base_url": server.base_url, **options}
    call_command("providers", "check", **given)


def said(capsys: pytest.CaptureFixture[str]) -> dict[str, str]:
    """The lines: what was looked at, and what came of it."""
    lines = capsys.readouterr().out.splitlines()
    return {line[:20].strip(): line[20:].strip() for line in lines}


def test_a_good_endpoint_is_good_in_every_line(
    server: ModelServer, capsys: pytest.CaptureFixture[str], settings: Any, tmp_path: Path
) -> None:
    path = tmp_path / "prices.yaml"
    path.write_text("currency: EUR\nmodels: {small-*: {input: 0.5, output: 2}}")
    settings.LIYAGENT = dataclasses.replace(django_settings.LIYAGENT, prices_file=path)
    check(server, *[Turn(calls=[echo(server)])] * 2)
    assert said(capsys) == {
        "reachable": "yes",
        "key accepted": "yes",
        "model known": "yes",
        "answers tool calls": "yes",
        "streaming works": "yes",
        "tokens counted": "yes  11 in, 7 out",
        "price": "yes  EUR 0.5 in, 0.5 in again, 2 out, for a million tokens",
    }
    assert [body.get("stream", False) for body in server.bodies] == [False, True]
    assert [len(body["tools"]) for body in server.bodies] == [1, 1]


@pytest.mark.parametrize(
    ("turn", "about", "says"),
    [
        (Turn(status=401, text="bad key"), "key accepted", "check the variable named by api_key_env.*bad key"),
        (Turn(status=403, text="not yours"), "key accepted", "check its rights.*not yours"),
        (Turn(status=404, text="no small-1"), "model known", "check model, and that base_url ends before.*no small-1"),
        (Turn(status=429, text="slow down"), "answers", "answered 429: slow down"),
        (Turn(status=400, text="no tools"), "answers", "does not take this request.*no tools"),
        (Turn(raw="<h1>It works</h1>"), "answers", "is base_url right.*It works"),
        (Turn(raw="{}"), "answers", "holds no"),
        (Turn(status=307, headers={"Location": "https://else.example/"}), "reachable", "moved to https://else.example/"),
        (Turn(text="x", cut_after=5), "reachable", "cannot be reached"),
    ],
)  # fmt: skip
def test_each_fault_is_one_line_of_what_to_do(
    server: ModelServer,
    capsys: pytest.CaptureFixture[str],
    turn: Turn,
    about: str,
    says: str,
) -> None:
    with pytest.raises(CheckFailed, match=f"^{about}: no; .*{says}") as failed:
        check(server, turn)
    assert len(str(failed.value).splitlines()) == 1
    shown = said(capsys)
    assert shown[about].startswith("no ")
    assert list(shown.values())[:-1] == ["yes"] * (len(shown) - 1)
    assert len(server.requests) == 1


def test_a_wrong_path_is_told(server: ModelServer) -> None:
    with pytest.raises(CheckFailed, match=r"model known: no; .*ends before.*no such path: /v9"):
        check(server, base_url=server.base_url.removesuffix("/v1") + "/v9")


def test_a_model_that_calls_no_tool_is_told_apart(
    server: ModelServer, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(CheckFailed, match=r"answers tool calls: no; it answered 'Blue!'"):
        check(server, Turn(text="Blue!"), Turn(text="Blue!"))
    assert said(capsys)["streaming works"] == "yes"


def test_arguments_that_lack_what_is_wanted_are_told(server: ModelServer) -> None:
    made = {**echo(server)}
    if isinstance(server, AnthropicServer):
        made["input"] = {}
    else:
        made["function"] = {**made["function"], "arguments": "{}"}
    with pytest.raises(CheckFailed, match="lack `word`"):
        check(server, Turn(calls=[made]), Turn(calls=[made]))


def test_a_cut_answer_is_told(server: ModelServer) -> None:
    finish = "max_tokens" if isinstance(server, AnthropicServer) else "length"
    with pytest.raises(CheckFailed, match="cut at 2048 tokens"):
        check(server, *[Turn(text="hm", finish=finish)] * 2)


def test_an_endpoint_that_does_not_stream_well_is_told(
    server: ModelServer, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(
        CheckFailed, match=r"streaming works: no; leave is_streaming off.*cannot be read"
    ):
        check(server, Turn(calls=[echo(server)]), Turn(events=["data: oops\n\n"]))
    assert said(capsys)["answers tool calls"] == "yes"
    with pytest.raises(CheckFailed, match="streamed, it makes no tool calls"):
        check(server, Turn(calls=[echo(server)]), Turn(text="blue"))


def test_tokens_that_are_not_counted_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    with ModelServer() as server:
        whole = server.body_of(Turn(calls=[call(TOOL.name, ECHO)]), "m")
        del whole["usage"]
        streamed = Turn(calls=[call(TOOL.name, ECHO)])
        with pytest.raises(CheckFailed, match="tokens counted: no; it tells no usage"):
            check(server, Turn(raw=json.dumps(whole)), streamed)
    assert said(capsys)["streaming works"] == "yes"


@pytest.mark.parametrize(
    ("base_url", "says"),
    [
        ("http://models.invalid/v1", "models.invalid cannot be resolved.*check base_url"),
        ("http://127.0.0.1:1/v1", "cannot be reached.*check base_url, and that the endpoint runs"),
        ("http://10.0.0.1/v1", "LIYAGENT_ALLOWED_PRIVATE_HOSTS"),
        ("models.example/v1", "wants http:// or https://"),
    ],
)
@pytest.mark.parametrize("provider", ["openai", "anthropic"])
def test_an_endpoint_that_is_not_reached_is_told(provider: str, base_url: str, says: str) -> None:
    with pytest.raises(CheckFailed, match=f"^reachable: no; .*{says}"):
        call_command("providers", "check", provider=provider, model="m", base_url=base_url)


def test_tls_that_is_not_trusted_or_not_there_is_told(tmp_path: Path) -> None:
    server_context, _ = tls_contexts("127.0.0.1", tmp_path)
    with RecordingServer(tls=server_context) as running:
        url = f"https://127.0.0.1:{running.port}"
        with pytest.raises(CheckFailed, match=r"reachable: no; .*certificate is not trusted here"):
            call_command("providers", "check", provider="openai", model="m", base_url=url)
    with ModelServer() as plain:
        url = plain.base_url.replace("http", "https", 1)
        with pytest.raises(
            CheckFailed, match=r"reachable: no; .*no TLS there: check http or https"
        ):
            call_command("providers", "check", provider="anthropic", model="m", base_url=url)


def test_a_key_that_is_not_set_here_is_told(server: ModelServer) -> None:
    with pytest.raises(CheckFailed, match=r"key found here: no; .*VENDOR_KEY is not set"):
        check(server, api_key_env="VENDOR_KEY")
    assert server.requests == []


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({}, "give an agent, or --provider and --model"),
        ({"provider": "openai"}, "give an agent, or --provider and --model"),
        ({"agent": "triage", "model": "m"}, "not both"),
        ({"provider": "mystery", "model": "m"}, "is not known; it wants one of"),
        ({"provider": "scripted", "model": "m"}, "no endpoint that could be checked"),
    ],
)
def test_what_was_asked_for_wrongly_is_refused(options: dict[str, str], says: str) -> None:
    with pytest.raises(BadInput, match=says):
        call_command("providers", "check", **options)


@pytest.mark.usefixtures("fresh_db")
def test_an_agent_is_checked_with_what_it_uses(
    server: ModelServer, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    provider = "anthropic" if isinstance(server, AnthropicServer) else "openai"
    Agent.objects.create(
        key="triage",
        provider=provider,
        model="small-1",
        base_url=server.base_url,
        api_key_env="VENDOR_KEY",
    )
    Agent.objects.create(key="played", provider="scripted", model="triage-keyed")
    call_command("providers", "list")
    listed = capsys.readouterr().out
    assert "https://api.anthropic.com" in listed
    assert "VENDOR_KEY (not set here)" in listed
    monkeypatch.setenv("VENDOR_KEY", "this")
    server.turns = [Turn(calls=[echo(server)])] * 2
    call_command("providers", "check", "triage")
    assert said(capsys)["streaming works"] == "yes"
    assert "this" in server.requests[0].headers["authorization"]
    with pytest.raises(BadInput, match="there is no agent 'gone'"):
        call_command("providers", "check", "gone")


def test_at_the_shell_it_is_one_line_and_exit_code_1(fresh_db: FreshDatabase) -> None:
    command = ("providers", "check", "--provider", "openai", "--model", "m", "--base-url")
    ended = subprocess.run(
        [sys.executable, "manage.py", *command, "http://127.0.0.1:1/v1"],
        cwd=ROOT,
        env={**os.environ, "DATABASE_URL": fresh_db.url},
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert ended.returncode == 1
    (line,) = ended.stderr.decode().splitlines()
    assert line.startswith("provider.unfit: reachable: no; ")


def test_the_guarded_client_waits_over_tls_and_asks_meanwhile(tmp_path: Path) -> None:
    server_context, client_context = tls_contexts("127.0.0.1", tmp_path)
    asked: list[int] = []
    with (
        RecordingServer(tls=server_context, tls_delay=0.1) as running,
        guarded_client(ssl_context=client_context, while_reading=lambda: asked.append(1)) as client,
    ):
        assert client.get(f"https://127.0.0.1:{running.port}/").text == "ok"
    assert asked
