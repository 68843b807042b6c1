"""What `servers check` finds amiss, and that it writes nothing."""

from __future__ import annotations

import dataclasses
import sys
from io import StringIO
from pathlib import Path

import pytest
from django.conf import settings
from django.core.management import call_command

from liyagent.audit.models import AuditRow
from liyagent.gateway import mcp
from liyagent.gateway.check import ServerAmiss, check_server
from liyagent.gateway.models import Tool, ToolServer
from liyagent.gateway.sync import sync_server
from tests.fakes.token_endpoint import TokenEndpoint
from tests.fakes.tool_server import ToolServer as FakeServer

pytestmark = pytest.mark.usefixtures("fresh_db")


def amiss(server: ToolServer) -> list[str]:
    """The lines that say what to do."""
    return [it for it in check_server(server).lines if it.startswith("amiss: ")]


def a_server(url: str, **columns: str) -> ToolServer:
    """A row, as it stands in the table."""
    ToolServer.objects.create(key="jira", url=url, **columns)
    return ToolServer.objects.get()


def test_a_server_that_is_as_approved_has_nothing_amiss(tool_server: FakeServer) -> None:
    server = a_server(tool_server.url)
    sync_server(server, actor="me")
    checked = check_server(server)
    assert not checked.is_amiss
    assert checked.lines[0] == "its host leads to 127.0.0.1"
    assert checked.lines[1].startswith("protocol 20")
    assert checked.lines[1].endswith(", 4 tools")


def test_what_differs_from_the_last_reading_is_told_and_nothing_is_written(
    tool_server: FakeServer,
) -> None:
    server = a_server(tool_server.url)
    sync_server(server, actor="me")
    Tool.objects.filter(name="say").update(fingerprint="other", approved_fingerprint="other")
    Tool.objects.filter(name="refuse").update(approved_fingerprint="other")
    Tool.objects.filter(name="get_issue").delete()
    Tool.objects.create(server=server, name="old", fingerprint="f", approved_fingerprint="f")
    before = list(Tool.objects.order_by("id").values()), AuditRow.objects.count()
    assert amiss(server) == [
        "amiss: new since it was read: get_issue; `manage.py servers sync jira`",
        "amiss: changed since it was read: say; `manage.py servers sync jira`",
        "amiss: gone since it was read: old; `manage.py servers sync jira`",
        "amiss: not approved as it is: refuse; `manage.py tools approve jira/NAME`",
    ]
    assert (list(Tool.objects.order_by("id").values()), AuditRow.objects.count()) == before


def test_where_nobody_answers_it_says_to_start_it() -> None:
    (line,) = amiss(a_server("http://127.0.0.1:1/mcp"))
    assert line.endswith("nothing answers there: start it, or correct its address")
    assert ToolServer.objects.get().catalogue_error == ""


@pytest.mark.parametrize("status", [401, 403])
def test_a_token_that_is_not_taken_is_named_by_its_variable(
    tool_server: FakeServer, monkeypatch: pytest.MonkeyPatch, status: int
) -> None:
    monkeypatch.setenv("JIRA_TOKEN", "secret-1")
    for method in ("server/discover", "initialize", "tools/list"):
        tool_server.next(method, refuse_status=status)
    (line,) = amiss(a_server(tool_server.url, bearer_env="JIRA_TOKEN"))
    assert "its token is not taken: renew what JIRA_TOKEN holds" in line
    assert "secret-1" not in line


def test_a_variable_that_is_not_set_is_named(tool_server: FakeServer) -> None:
    (line,) = amiss(a_server(tool_server.url, bearer_env="NOT_SET_HERE"))
    assert line.startswith("amiss: it has no token: ")
    assert "NOT_SET_HERE" in line


def test_an_address_inside_is_refused_with_the_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    conf = dataclasses.replace(settings.LIYAGENT, allowed_private_hosts=())
    monkeypatch.setattr(settings, "LIYAGENT", conf)
    (line,) = amiss(a_server("http://127.0.0.1:1/mcp"))
    assert "add it to LIYAGENT_ALLOWED_PRIVATE_HOSTS" in line


def test_a_host_that_cannot_be_resolved_is_told() -> None:
    (line,) = amiss(a_server("http://nowhere.invalid/mcp"))
    assert "nowhere.invalid cannot be resolved" in line


def test_a_server_that_speaks_no_tls_is_told(tool_server: FakeServer) -> None:
    (line,) = amiss(a_server(tool_server.url.replace("http:", "https:")))
    assert "does its address want http://" in line


def test_a_command_is_looked_for_and_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = Path(__file__).parents[2] / "fakes" / "stdio_program.py"
    file = tmp_path / "commands.yaml"
    file.write_text(
        f"commands:\n  good: {{command: {sys.executable}, args: [{program}, {tmp_path}]}}\n"
        "  bad: {command: no-such-program}\n"
    )
    conf = dataclasses.replace(settings.LIYAGENT, commands_file=file)
    monkeypatch.setattr(settings, "LIYAGENT", conf)
    for key, command in (("g", "good"), ("b", "bad"), ("u", "unknown")):
        ToolServer.objects.create(key=key, transport="stdio", command=command)
    (line,) = amiss(ToolServer.objects.get(key="b"))
    assert "there is no executable 'no-such-program'" in line
    (line,) = amiss(ToolServer.objects.get(key="u"))
    assert "no command 'unknown' is registered" in line


def test_the_life_of_a_fetched_token_is_told(
    tool_server: FakeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JIRA_SECRET", "s3")
    with TokenEndpoint() as endpoint:
        server = a_server(
            tool_server.url,
            oauth_token_url=endpoint.url,
            oauth_client_id="liyagent",
            oauth_secret_env="JIRA_SECRET",
        )
        try:
            assert "its token is fetched by OAuth and used for" in "\n".join(
                check_server(server).lines
            )
        finally:
            mcp.close_all()


def test_the_command_ends_with_an_error_where_one_is_amiss(tool_server: FakeServer) -> None:
    sync_server(a_server(tool_server.url), actor="me")
    out = StringIO()
    call_command("servers", "check", stdout=out)
    assert "jira: protocol 20" in out.getvalue()
    ToolServer.objects.create(key="gone", url="http://127.0.0.1:1/mcp")
    with pytest.raises(ServerAmiss, match="not as it should be: gone"):
        call_command("servers", "check", stdout=out)
    ToolServer.objects.filter(key="gone").update(is_enabled=False)
    call_command("servers", "check", stdout=out)
