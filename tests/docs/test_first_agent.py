"""`docs/first-agent.md`: what it tells a reader to type works, as far as no other program is needed."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from mcp.server.mcpserver import MCPServer
from starlette.types import ASGIApp

from liyagent.demo.seed import keep_policy
from liyagent.gateway import wire
from liyagent.gateway.models import Policy, Tool
from liyagent.providers.script import read_script
from tests.databases import FreshDatabase
from tests.docs.walk import DOCS, Shell, commands_of
from tests.fakes.model_server import ModelServer, from_script
from tests.fakes.tool_server import ToolServer
from tests.flows.carrying import carrying
from tests.flows.conftest import Api

DOCUMENT = "first-agent.md"
MODEL_URL = "http://127.0.0.1:8099/v1"
# The lines up to the first start of a run; what comes after needs processes to kill.
SET_UP = [
    line
    for line in commands_of(DOCUMENT)
    if line.split(" ")[0] in {"liyagent", "cat"} and "$" not in line
]


class Everything(ToolServer):
    """The tools that the document uses, as the reference server has them."""

    def _app(self) -> ASGIApp:
        server = MCPServer("everything", log_level="CRITICAL")

        @server.tool(name="echo", structured_output=False)
        def echo(message: str) -> str:
            return f"Echo: {message}"

        @server.tool(name="get-sum", structured_output=False)
        def get_sum(a: float, b: float) -> str:
            return f"The sum of {a:g} and {b:g} is {a + b:g}."

        @server.tool(name="trigger-long-running-operation", structured_output=False)
        def operate(duration: float, steps: float) -> str:
            return f"Duration: {duration:g} seconds, Steps: {steps:g}."

        return server.streamable_http_app(streamable_http_path="/mcp", json_response=True)


@pytest.fixture
def shell(fresh_db: FreshDatabase, tmp_path: Path) -> Any:
    """A seeded installation with the document's servers, and a shell in which its set-up was typed."""
    User.objects.create_superuser("admin")
    keep_policy()
    model = from_script(read_script(DOCS / "first-agent" / "script.yaml"))
    with Everything() as tools, ModelServer(model) as endpoint:
        agent = (DOCS / "first-agent" / "agent.yaml").read_text()
        assert MODEL_URL in agent
        (tmp_path / "agent.yaml").write_text(agent.replace(MODEL_URL, endpoint.base_url))
        places = {
            "http://127.0.0.1:3001/mcp": tools.url,
            "docs/first-agent/agent.yaml": str(tmp_path / "agent.yaml"),
            "docs/first-agent/policy.cedar": str(DOCS / "first-agent" / "policy.cedar"),
            ".liyagent/": f"{tmp_path}/",
        }
        typed = Shell(places=places)
        # Without the last change of the document: there the operation is said to read, for a second run.
        for line in SET_UP[:-1]:
            typed.type(line)
        try:
            yield typed
        finally:
            wire.close_all()


def run_first(token_file: Path) -> Any:
    """Start a run as the document does, carry it, and return it ended."""
    api = Api(token=token_file.read_text().strip())
    started = api.post("/api/agents/first/runs", {"task": "Say hello"})
    assert started.status == 202, started.data
    with carrying():
        until = time.monotonic() + 30
        while time.monotonic() < until:
            shown = api.get(started.data["url"]).data
            if shown["ended_at"]:
                return shown
            time.sleep(0.05)
    raise AssertionError(shown)


def test_the_set_up_of_the_document_is_what_this_test_types() -> None:
    assert [line.split(" ")[1] for line in SET_UP if line.startswith("liyagent")] == [
        *(
            "servers",
            "tools",
            "tools",
            "tools",
            "agents",
            "policies",
            "policies",
            "apikeys",
            "tools",
        )
    ]
    assert SET_UP[-1].startswith("liyagent tools set everything/trigger-long-running-operation")


@pytest.mark.timeout(90)
def test_the_documents_agent_answers_with_what_its_tools_said(shell: Shell, tmp_path: Path) -> None:
    run = run_first(tmp_path / "api-key")

    assert (run["status"], run["reason"]) == ("answered", "")
    assert run["answer"] == (
        "The sum of 40 and 2 is 42. Of the operation I was told: Duration: 9 seconds, Steps: 3."
    )
    assert [(it["tool"], it["effect"], it["fate"]) for it in run["calls"]] == [
        ("echo", "read", "done"),
        ("get-sum", "read", "done"),
        ("trigger-long-running-operation", "write", "done"),
    ]


@pytest.mark.timeout(90)
def test_the_documents_policy_refuses_a_longer_operation(shell: Shell, tmp_path: Path) -> None:
    policies = tmp_path / "policies.cedar"
    policies.write_text(policies.read_text().replace('["3", "6", "9"]', '["3", "6"]'))
    shell.type(f"liyagent policies load {policies} --name mine")

    run = run_first(tmp_path / "api-key")

    assert run["calls"][-1]["fate"] == "refused"
    assert "no policy permits agent first to call" in run["answer"]


def test_the_demos_policy_stays_in_force_beside_the_documents(shell: Shell) -> None:
    text = Policy.objects.get(is_active=True).text
    assert "demo-agents-use-demo-vendors" in text
    assert "first-agent-reads" in text


@pytest.mark.parametrize("was_there", [False, True])
def test_the_key_s_file_is_its_owner_s_alone(tmp_path: Path, was_there: bool) -> None:
    """Typed in a real shell, whatever its mask is, and where an older file is there."""
    (tmp_path / ".liyagent").mkdir()
    kept = tmp_path / ".liyagent" / "api-key"
    if was_there:
        kept.write_text("old")
        kept.chmod(0o644)
    lines = [it for it in commands_of(DOCUMENT) if it.endswith(".liyagent/api-key")]
    script = "\n".join(["umask 000", "liyagent() { echo secret; }", *lines])
    subprocess.run(["/bin/sh", "-ec", script], cwd=tmp_path, check=True)
    assert (kept.stat().st_mode & 0o777, kept.read_text()) == (0o600, "secret\n")


def test_the_last_change_of_the_document_makes_the_operation_a_read(shell: Shell) -> None:
    tool = Tool.objects.filter(server__key="everything", name="trigger-long-running-operation")
    assert tool.get().effect == "write"
    shell.type(SET_UP[-1])
    assert tool.get().effect == "read"
