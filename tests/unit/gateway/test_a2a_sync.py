"""What an agent's card makes of it: tools under contracts, approved, held when the card changed (rulings 21, 32)."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.core.management import call_command
from django.db import IntegrityError

from liyagent.agents.models import ConfigVersion
from liyagent.core.errors import BadInput
from liyagent.gateway import a2a
from liyagent.gateway.approve import find_tool
from liyagent.gateway.check import check_server
from liyagent.gateway.contracts import contracts_for
from liyagent.gateway.models import Tool, ToolServer
from liyagent.gateway.outcome import Contract, Effect
from liyagent.gateway.servers import load_servers, set_contract
from liyagent.gateway.states import in_doubt
from liyagent.gateway.sync import sync_server
from tests.fakes.remote_agent import RemoteAgent
from tests.fakes.token_endpoint import TokenEndpoint

pytestmark = pytest.mark.usefixtures("fresh_db")


@pytest.fixture
def agent() -> Iterator[RemoteAgent]:
    """A remote agent that speaks 1.0 and 0.3."""
    with RemoteAgent(versions=("0.3", "1.0")) as agent:
        yield agent
        a2a.close_all()


@pytest.fixture
def server(agent: RemoteAgent) -> ToolServer:
    """Its row."""
    return ToolServer.objects.create(key="disks", transport="a2a", url=agent.url)


def contract(name: str) -> Contract:
    """What calls are made under now."""
    return contracts_for(["*"], version=ConfigVersion.objects.get().version)[f"disks/{name}"]


def test_a_card_is_three_tools_of_which_one_writes(server: ToolServer) -> None:
    synced = sync_server(server, actor="cli:me")
    assert (synced.offered, synced.to_approve) == (("ask", "task", "tasks"), ())
    ask = contract("ask")
    assert "Disks" in ask.description
    assert "Looks after disks." in ask.description
    assert "Says how full one is." in ask.description
    assert ask.schema["required"] == ["message"]
    assert (ask.effect, in_doubt(ask)) == (Effect.WRITE, "read back")
    assert {contract(it).effect for it in ("task", "tasks")} == {Effect.READ}


def test_of_an_agent_whose_tasks_cannot_be_listed_a_message_in_doubt_is_told_unknown(
    server: ToolServer, agent: RemoteAgent
) -> None:
    agent.versions = ("0.3",)
    assert sync_server(server, actor="cli:me").offered == ("ask", "task")
    assert in_doubt(contract("ask")) == "told unknown"


def test_a_card_that_changed_is_held_until_it_is_approved_and_the_contract_stays(
    server: ToolServer, agent: RemoteAgent
) -> None:
    sync_server(server, actor="cli:me")
    set_contract(find_tool("disks/ask"), {"timeout_seconds": 90.0, "reader": None}, actor="cli:me")
    agent.description = "Looks after disks, and tells everybody your secrets."
    assert sync_server(server, actor="cli:me").to_approve == ("ask",)
    ask = contract("ask")
    assert ask.changed_since_approved
    assert (ask.timeout_seconds, ask.reader) == (90.0, None)
    assert not contract("task").changed_since_approved


def test_a_card_that_cannot_be_read_leaves_the_last_one_as_it_is(
    server: ToolServer, agent: RemoteAgent
) -> None:
    sync_server(server, actor="cli:me")
    agent.interface_url = "http://10.0.0.1/a2a"
    assert "leads to" in sync_server(server, actor="cli:me").error
    assert Tool.objects.filter(is_offered=True).count() == 3
    agent.description = "x" * 40_000
    agent.interface_url = ""
    assert "32000 is the most" in sync_server(server, actor="cli:me").error


KEYED = {"key_place": "message_id", "key_window_seconds": 86_400}


def test_an_agent_is_keyed_by_the_id_of_a_message_and_by_nothing_else(server: ToolServer) -> None:
    sync_server(server, actor="cli:me")
    tool = find_tool("disks/ask")
    set_contract(tool, KEYED, actor="cli:me")
    assert in_doubt(contract("ask")) == "sent again"
    with pytest.raises(BadInput, match="message_id"):
        set_contract(tool, {"key_place": "meta"}, actor="cli:me")
    with pytest.raises(BadInput, match="message_id"):
        set_contract(tool, {"key_place": "argument", "key_field": "message"}, actor="cli:me")


def test_a_tool_server_is_not_keyed_by_the_id_of_a_message(server: ToolServer) -> None:
    row = ToolServer.objects.create(key="jira", url="https://tools.example.com/mcp")
    tool = Tool.objects.create(server=row, name="create_issue")
    with pytest.raises(BadInput, match="message_id"):
        set_contract(tool, KEYED, actor="cli:me")
    # Kept before the server was reached in another way: it promises nothing there.
    sync_server(server, actor="cli:me")
    set_contract(find_tool("disks/ask"), KEYED, actor="cli:me")
    ToolServer.objects.filter(key="disks").update(transport="http")
    assert contract("ask").key_window_seconds == 0


@pytest.mark.parametrize(
    ("columns", "field"),
    [
        ({"url": ""}, "url"),
        ({"url": "ftp://x/card.json"}, "url"),
        ({"command": "git"}, "command"),
        ({"bearer_env": "no name"}, "bearer_env"),
    ],
)
def test_a_row_that_cannot_work_is_refused(columns: dict[str, Any], field: str) -> None:
    known = {"key": "disks", "transport": "a2a", "url": "https://agents.example.com/card.json"}
    ToolServer(**known).full_clean()
    with pytest.raises(ValidationError) as refused:
        ToolServer(**{**known, **columns}).full_clean()
    assert field in refused.value.message_dict


def test_the_table_itself_refuses_an_agent_without_a_card() -> None:
    with pytest.raises(IntegrityError, match="gateway_server_url_fits_transport"):
        ToolServer.objects.create(key="disks", transport="a2a")


def test_a_file_declares_an_agent_whose_token_is_fetched_by_oauth(
    agent: RemoteAgent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DISKS_SECRET", "s3cret")
    with TokenEndpoint() as endpoint:
        declared = {
            "key": "disks",
            "transport": "a2a",
            "url": agent.url,
            "oauth": {
                "token_url": endpoint.url,
                "client_id": "liyagent",
                "secret_env": "DISKS_SECRET",
            },
            "tools": {"ask": {"key": {"place": "message_id", "window": 86_400}, "timeout": 90}},
        }
        (server,) = load_servers({"servers": [declared]}, actor="cli:me")
        assert sync_server(server, actor="cli:me").error == ""
    assert contract("ask").key_window_seconds == 86_400
    (token,) = set(agent.tokens)
    assert token.startswith("Bearer ")
    assert len(token) > len("Bearer ")


def test_a_token_that_is_not_there_is_told_by_the_reading(
    server: ToolServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.bearer_env = "NOBODYS_TOKEN"
    assert "NOBODYS_TOKEN" in sync_server(server, actor="cli:me").error


def test_a_check_says_what_it_speaks_and_what_is_amiss(
    server: ToolServer, agent: RemoteAgent
) -> None:
    sync_server(server, actor="cli:me")
    checked = check_server(server)
    assert not checked.is_amiss, checked
    assert "protocol A2A 1.0, 3 tools" in checked.lines
    agent.description = "Another."
    assert any("changed since it was read: ask" in it for it in check_server(server).lines)
    agent.card_status = 404
    (*_, told) = check_server(server).lines
    assert told.startswith("amiss: disks: its card: HTTP status 404")


def test_an_agent_is_added_at_the_shell(
    agent: RemoteAgent, capsys: pytest.CaptureFixture[str]
) -> None:
    call_command("servers", "add", "disks", agent.url, "--transport=a2a")
    assert "ask" in capsys.readouterr().out
    assert ToolServer.objects.get().transport == "a2a"


def test_a_process_that_asks_no_agent_does_not_pay_for_the_sdk() -> None:
    told = "import sys; print({'a2a', 'httpx', 'mcp', 'liyagent.gateway.a2a'} & set(sys.modules))"
    command = [sys.executable, "manage.py", "shell", "--no-imports", "-c", told]
    said = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout
    assert said.strip() == "{'liyagent.gateway.a2a'}"
