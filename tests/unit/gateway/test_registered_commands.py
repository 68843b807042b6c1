"""The file of registered commands, read strictly, and the servers that may name them."""

from __future__ import annotations

import dataclasses
import re
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.core.management import call_command

from liyagent.core.errors import BadInput, BadSetting
from liyagent.core.files import parse_yaml
from liyagent.gateway import mcp
from liyagent.gateway.commands import Command, command_named, load_commands, read_commands
from liyagent.gateway.contracts import address_of
from liyagent.gateway.declare import read_declarations
from liyagent.gateway.models import Tool, ToolServer
from liyagent.gateway.oauth import Credentials
from liyagent.gateway.servers import load_servers
from liyagent.gateway.sync import sync_server
from tests.fakes.stdio_server import StdioServer

FILE = """
commands:
  git:
    command: uvx
    args: [mcp-server-git, --repository, /srv/all]
    env: [GIT_TOKEN]
    cwd: /srv
  plain: {command: /usr/bin/plain-server}
"""


@pytest.fixture
def registered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file, named by the setting."""
    path = tmp_path / "commands.yaml"
    path.write_text(FILE)
    name_file(path, monkeypatch)
    return path


def name_file(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the setting name a file."""
    conf = dataclasses.replace(settings.LIYAGENT, commands_file=path)
    monkeypatch.setattr(settings, "LIYAGENT", conf)


def test_a_file_registers_commands_by_name(registered: Path) -> None:
    assert command_named("git") == Command(
        name="git",
        command="uvx",
        args=("mcp-server-git", "--repository", "/srv/all"),
        env=("GIT_TOKEN",),
        cwd="/srv",
    )
    assert command_named("plain") == Command(name="plain", command="/usr/bin/plain-server")


def test_without_a_file_none_is_registered() -> None:
    assert load_commands(None) == {}
    with pytest.raises(BadInput, match=r"no command 'git' is registered.*none is"):
        command_named("git")


@pytest.mark.parametrize(
    ("old", "new", "wanted"),
    [
        ("commands:", "command:", "the file: wants an object with commands"),
        ("  git:\n", "  git hub:\n", "commands.git hub: wants a name"),
        ("command: uvx", "command: ./uvx", r"commands.git.command: is './uvx'; it wants"),
        ("command: uvx", "command: ''", "commands.git.command: is ''; it wants"),
        ("    command: uvx\n", "", "commands.git.command: is 'None'; it wants text"),
        ("args: [mcp-server-git", "args: [7", r"commands.git.args\[0\]: is '7'; it wants text"),
        (
            "args: [mcp-server-git, --repository, /srv/all]",
            "args: serve",
            "commands.git.args: wants a list",
        ),
        ("[GIT_TOKEN]", "[LIYAGENT_SEAL_KEYS]", r"commands.git.env\[0\]: is 'LIYAGENT_SEAL_KEYS'"),
        ("[GIT_TOKEN]", "[DATABASE_URL]", r"commands.git.env\[0\]: is 'DATABASE_URL'"),
        ("[GIT_TOKEN]", "['GIT_TOKEN=s3cret']", r"commands.git.env\[0\]: .*name of an environment"),
        ("cwd: /srv", "cwd: srv", "commands.git.cwd: is 'srv'; it wants the full path"),
        ("cwd: /srv", "shell: true", "commands.git: does not know 'shell'; it wants args"),
        ("cwd: /srv", "cwd: [", "is no YAML that can be used: .*line"),
        ("cwd: /srv", "cwd: /srv\n    cwd: /", "stands twice.*line"),
    ],
)
def test_a_slip_is_named_by_file_and_place(tmp_path: Path, old: str, new: str, wanted: str) -> None:
    path = tmp_path / "commands.yaml"
    path.write_text(FILE.replace(old, new, 1))
    with pytest.raises(BadSetting, match=f"{re.escape(str(path))}: .*{wanted}"):
        load_commands(path)


def test_a_long_file_is_refused() -> None:
    many = {f"c{n}": {"command": "x"} for n in range(201)}
    with pytest.raises(BadInput, match="at most 200"):
        read_commands({"commands": many})


def test_the_commands_are_listed(registered: Path) -> None:
    out = StringIO()
    call_command("servers", "commands", stdout=out)
    rows = [re.split(r" {2,}", line) for line in out.getvalue().splitlines()]
    assert rows == [
        ["COMMAND", "STARTS", "VARIABLES", "DIRECTORY"],
        ["git", "uvx mcp-server-git --repository /srv/all", "GIT_TOKEN", "/srv"],
        ["plain", "/usr/bin/plain-server", "-", "-"],
    ]


SERVERS = """
servers:
  - key: git
    transport: stdio
    command: git
    vendor: github
  - key: jira
    transport: http
    url: http://127.0.0.1:1/mcp
    oauth: {token_url: "http://127.0.0.1:1/token", client_id: us, secret_env: JIRA_SECRET, scope: tools}
"""


@pytest.mark.usefixtures("fresh_db", "registered")
def test_servers_are_declared_by_stdio_and_with_oauth() -> None:
    load_servers(parse_yaml(SERVERS), actor="test")
    git, jira = address_of("git"), address_of("jira")
    assert git is not None
    assert (git.transport, git.command, git.url, git.oauth) == ("stdio", "git", "", None)
    assert ToolServer.objects.get(key="git").vendor == "github"
    assert jira is not None
    assert jira.oauth == Credentials(
        token_url="http://127.0.0.1:1/token",
        client_id="us",
        secret_env="JIRA_SECRET",
        scope="tools",
    )


@pytest.mark.usefixtures("fresh_db", "registered")
def test_oauth_is_taken_off_a_server_by_writing_nothing() -> None:
    load_servers(parse_yaml(SERVERS), actor="test")
    load_servers({"servers": [{"key": "jira", "oauth": None, "bearer_env": "JIRA"}]}, actor="test")
    row = ToolServer.objects.get(key="jira")
    assert (row.oauth_token_url, row.oauth_scope, row.bearer_env) == ("", "", "JIRA")


@pytest.mark.usefixtures("fresh_db", "registered")
@pytest.mark.parametrize(
    ("old", "new", "wanted"),
    [
        ("command: git", "command: gti", r"servers\[0\].command: no command 'gti' .* git, plain"),
        (
            "command: git",
            "command: uvx mcp-server-git",
            r"servers\[0\].command: .*never a command line",
        ),
        ("    command: git\n", "", r"servers\[0\]: command: wants a registered name"),
        ("transport: stdio", "transport: http", r"servers\[0\]: url: wants"),
        ("vendor: github", "url: 'http://127.0.0.1:1/'", r"servers\[0\]: url: only an HTTP"),
        ("vendor: github", "bearer_env: TOKEN", r"servers\[0\]: bearer_env: only an HTTP"),
        ("client_id: us, ", "", r"servers\[1\].oauth.client_id: is missing"),
        ("client_id: us", "client: us", r"servers\[1\].oauth: does not know 'client'"),
        ('"http://127.0.0.1:1/token"', "file:///token", r"servers\[1\].oauth.token_url: is 'file"),
        ("JIRA_SECRET", "LIYAGENT_X", r"servers\[1\].oauth.secret_env: wants the name"),
        ("JIRA_SECRET", "s3cret", r"servers\[1\].oauth.secret_env: .*never the secret itself"),
        (
            "    oauth:",
            "    bearer_env: JIRA\n    oauth:",
            r"servers\[1\]: OAuth wants a token URL",
        ),
    ],
)
def test_a_slip_in_a_declaration_is_named_by_its_path(old: str, new: str, wanted: str) -> None:
    with pytest.raises(BadInput, match=wanted):
        load_servers(parse_yaml(SERVERS.replace(old, new, 1)), actor="test")
    assert not ToolServer.objects.exists()


@pytest.mark.usefixtures("registered")
def test_a_secret_that_is_written_in_place_of_its_name_is_not_repeated() -> None:
    oauth: dict[str, Any] = {"token_url": "http://h/", "client_id": "us", "secret_env": "s3cret"}
    with pytest.raises(BadInput) as refused:
        read_declarations({"servers": [{"key": "jira", "oauth": oauth}]})
    assert "s3cret" not in str(refused.value)


@pytest.mark.usefixtures("fresh_db")
def test_a_catalogue_by_stdio_that_cannot_be_read_leaves_the_last_one_and_says_since_when(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake = StdioServer(tmp_path / "fake")
    command = fake.command
    file = tmp_path / "commands.yaml"
    file.write_text(
        f"commands: {{fake: {{command: {command.command!r}, args: {list(command.args)!r}}}}}"
    )
    name_file(file, monkeypatch)
    (server,) = load_servers(
        {"servers": [{"key": "jira", "transport": "stdio", "command": "fake"}]}, actor="test"
    )
    assert "create_issue" in sync_server(server, actor="test").offered
    before = list(
        Tool.objects.order_by("name").values("name", "approved_fingerprint", "is_offered")
    )
    fake.next("tools/list", die_before=True)
    fake.next("start", exit=3, say_stderr="no licence\n")
    assert "the command ended" in sync_server(server, actor="test").error
    server.refresh_from_db()
    since = server.catalogue_error_since
    assert since is not None
    assert "no licence" in sync_server(server, actor="test").error
    server.refresh_from_db()
    assert server.catalogue_error_since == since
    after = list(Tool.objects.order_by("name").values("name", "approved_fingerprint", "is_offered"))
    assert after == before
    assert sync_server(server, actor="test").error == ""
    assert ToolServer.objects.get().catalogue_error_since is None
    mcp.close_all()


@pytest.mark.usefixtures("registered")
def test_every_file_that_the_guide_shows_is_read() -> None:
    guide = (settings.BASE_DIR / "docs" / "tool-servers.md").read_text()
    shown = [parse_yaml(block) for block in re.findall(r"```yaml\n(.*?)```", guide, re.DOTALL)]
    assert len(shown) == 5
    for document in shown:
        read = read_commands if "commands" in document else read_declarations
        assert read(document)
