"""What an operator types, and how a slip is answered."""

from __future__ import annotations

import re
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import call_command

from liyagent.audit.models import AuditRow
from liyagent.core.errors import BadInput, NotFound
from liyagent.gateway.approve import approve_tool, find_tool
from liyagent.gateway.mcp_session import CatalogueUnreadable
from liyagent.gateway.models import Policy, Tool, ToolServer
from liyagent.gateway.servers import set_contract
from liyagent.gateway.sync import sync_server
from tests.databases import FreshDatabase
from tests.fakes.tool_server import ToolServer as FakeServer

pytestmark = pytest.mark.usefixtures("fresh_db")

FILE = """
servers:
  - key: jira
    transport: http
    url: URL
    bearer_env: JIRA_TOKEN
    tools:
      create_issue:
        key: {place: argument, field: step_key, window: 86400}
        reader: {tool: jira/find, args: {key: "{{ key }}"}, match: {records: issues, field: step_key}}
        timeout: 12.5
        limit: 2048
      get_issue: {effect: read}
"""
PERMIT = '@id("all") permit(principal, action, resource);'


def run(*words: str) -> str:
    """What the command prints."""
    out = StringIO()
    call_command(*words, stdout=out, stderr=out)
    return out.getvalue()


def words_of(first: str, *words: str) -> list[str]:
    """The cells of the row that begins with `first` in the table that the command prints."""
    rows = [re.split(r" {2,}", line) for line in run(*words).splitlines()]
    (row,) = [row for row in rows if row[0] == first]
    return row


def written(tmp_path: Path, text: str) -> str:
    """The path of a file with that text."""
    path = tmp_path / "file"
    path.write_text(text)
    return str(path)


def test_a_file_sets_contracts_that_the_catalogue_then_completes(
    tmp_path: Path, tool_server: FakeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JIRA_TOKEN", "t-1")
    file = written(tmp_path, FILE.replace("URL", tool_server.url))
    assert "offers create_issue, get_issue, refuse, say" in run("servers", "load", file, "--sync")
    tool = find_tool("jira/create_issue")
    assert (tool.key_place, tool.key_field, tool.key_window_seconds) == (
        "argument",
        "step_key",
        86400,
    )
    assert (tool.timeout_seconds, tool.limit_bytes, tool.is_offered) == (12.5, 2048, True)
    assert tool.reader == {
        "tool": "jira/find",
        "args": {"key": "{{ key }}"},
        "match": {"records": "issues", "field": "step_key"},
    }
    assert find_tool("jira/get_issue").effect == "read"
    assert run("servers", "load", file) == "kept: jira\n"
    assert words_of("jira", "servers", "list")[:2] == ["jira", "enabled"]
    assert words_of("jira/create_issue", "tools", "list")[:3] == [
        "jira/create_issue",
        "write",
        "argument:step_key",
    ]


@pytest.mark.parametrize(
    ("old", "new", "wanted"),
    [
        (
            "effect: read",
            "effect: rread",
            r"servers\[0\].tools.get_issue.effect: is 'rread'.*read, write",
        ),
        ("timeout: 12.5", "timeout: soon", r"create_issue.timeout: is 'soon'; it wants seconds"),
        ("limit: 2048", "size: 2048", r"create_issue: does not know 'size'; it wants .*limit"),
        (
            "place: argument, ",
            "place: body, ",
            r"key.place: is 'body'; it wants one of none, argument",
        ),
        ("field: step_key, window", "window", r"create_issue: A key wants place"),
        ("records: issues, field: step_key", "records: issues", r"create_issue.reader: .*match"),
        ("url: URL", "url: jira.example.com", r"servers\[0\]: url: wants http"),
        (
            "bearer_env: JIRA_TOKEN",
            "bearer_env: s3cret!",
            r"servers\[0\]: bearer_env: .*never the token",
        ),
        ("key: jira", "name: jira", r"servers\[0\].key: is missing"),
        ("servers:", "server:", "does not know 'server'; it wants servers"),
        ("servers:", "servers: [", "is no YAML"),
    ],
)
def test_a_slip_is_named_by_file_and_path_and_nothing_is_kept(
    tmp_path: Path, old: str, new: str, wanted: str
) -> None:
    file = written(tmp_path, FILE.replace(old, new).replace("URL", "http://127.0.0.1:1/mcp"))
    with pytest.raises(BadInput, match=f"(?s){file}.*{wanted}"):
        run("servers", "load", file)
    assert not ToolServer.objects.exists()
    assert not AuditRow.objects.exists()


def test_a_server_is_added_read_and_read_again(tool_server: FakeServer) -> None:
    assert "jira: offers create_issue" in run("servers", "add", "jira", tool_server.url)
    tool_server.descriptions["say"] = "unused"
    tool_server.descriptions["create_issue"] = "Create another"
    tool_server.restart()
    assert "held until `manage.py tools approve jira/create_issue`" in run(
        "servers", "sync", "jira"
    )
    assert "to approve" in run("tools", "list")
    assert "+Create another" in run("tools", "approve", "jira/create_issue", "--yes")
    assert "to approve" not in run("tools", "list")


def test_a_server_that_cannot_be_read_is_listed_with_since_when() -> None:
    with pytest.raises(CatalogueUnreadable) as unread:
        run("servers", "add", "jira", "http://127.0.0.1:1/mcp")
    assert str(unread.value).startswith("added, but its catalogue could not be read: jira: ")
    assert "the last catalogue stands" not in str(unread.value)
    assert "unreadable since" in run("servers", "list")


def test_a_server_that_was_read_before_keeps_its_last_catalogue_and_says_so(
    jira: str, tool_server: FakeServer
) -> None:
    ToolServer.objects.update(url="http://127.0.0.1:1/mcp")
    with pytest.raises(CatalogueUnreadable, match=r"^its catalogue .*; the last catalogue stands$"):
        run("servers", "sync", "jira")
    assert find_tool("jira/say").is_offered


@pytest.mark.usefixtures("jira")
def test_a_removed_server_is_gone_with_its_tools_and_audited() -> None:
    assert run("servers", "remove", "jira").startswith("jira: removed")
    assert not ToolServer.objects.exists()
    assert not Tool.objects.exists()
    detail = AuditRow.objects.get(action="server.removed").detail
    assert detail == {
        "server": "jira",
        "tools": ["create_issue", "get_issue", "refuse", "say"],
        "lost": [],
    }


@pytest.mark.usefixtures("jira")
def test_removing_an_unknown_server_is_refused_and_changes_nothing() -> None:
    with pytest.raises(NotFound, match="no server 'jria'; there are: jira"):
        run("servers", "remove", "jria")
    assert ToolServer.objects.get().key == "jira"
    assert not AuditRow.objects.filter(action="server.removed").exists()


def test_an_unknown_server_is_answered_with_those_there_are() -> None:
    ToolServer.objects.create(key="jira", url="http://127.0.0.1:1/mcp")
    with pytest.raises(NotFound, match="there are: jira"):
        run("servers", "sync", "jria")


@pytest.mark.usefixtures("jira")
def test_a_contract_is_set_from_the_command_line() -> None:
    run(
        "tools",
        "set",
        "jira/say",
        "--effect",
        "read",
        "--timeout",
        "3",
        "--key",
        "{place: meta, window: 60}",
    )
    tool = find_tool("jira/say")
    assert (tool.effect, tool.timeout_seconds, tool.key_place) == ("read", 3, "meta")
    assert AuditRow.objects.get(action="tool.set").detail["tool"] == "jira/say"


@pytest.mark.usefixtures("jira")
def test_setting_a_contract_says_what_changed() -> None:
    assert run("tools", "set", "jira/say", "--effect", "read", "--timeout", "30") == (
        "jira/say: effect write -> read\n"
    )
    assert run("tools", "set", "jira/say", "--effect", "read") == "jira/say: nothing changed\n"
    keyed = run("tools", "set", "jira/say", "--key", "{place: meta, window: 60}")
    assert keyed == "jira/say: key_place none -> meta, key_window_seconds 0 -> 60\n"


@pytest.mark.usefixtures("jira")
def test_tools_are_listed_with_what_becomes_of_a_write_in_doubt() -> None:
    reader = "{tool: jira/get_issue, args: {}, match: {records: issues, field: key}}"
    run("tools", "set", "jira/get_issue", "--effect", "read")
    run("tools", "set", "jira/create_issue", "--key", "{place: meta, window: 60}")
    run("tools", "set", "jira/create_issue", "--reader", reader)
    run("tools", "set", "jira/say", "--reader", reader, "--key", "{place: meta, window: 0}")
    lines = [re.split(r" {2,}", line) for line in run("tools", "list").splitlines()]
    assert lines == [
        ["TOOL", "EFFECT", "KEY", "IN DOUBT", "STATE"],
        ["jira/create_issue", "write", "meta", "sent again", "offered"],
        ["jira/get_issue", "read", "none", "-", "offered"],
        ["jira/refuse", "write", "none", "told unknown", "offered"],
        ["jira/say", "write", "meta", "read back", "offered"],
    ]


@pytest.mark.usefixtures("jira")
def test_servers_are_listed_under_a_header() -> None:
    heads, row = (re.split(r" {2,}", line) for line in run("servers", "list").splitlines())
    assert heads == ["SERVER", "STATE", "WHERE", "TOOLS", "CATALOGUE"]
    assert (row[0], row[1], row[3]) == ("jira", "enabled", "4")
    assert row[4].startswith("read 20")


@pytest.mark.usefixtures("jira")
@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        (["--effect", "maybe"], "effect: is 'maybe'"),
        ([], "nothing to set"),
        (["--key", "{"], "no YAML"),
    ],
)
def test_a_contract_that_cannot_be_is_refused(given: list[str], wanted: str) -> None:
    with pytest.raises(BadInput, match=wanted):
        run("tools", "set", "jira/say", *given)


@pytest.mark.usefixtures("jira")
def test_what_changed_is_shown_and_not_approved_where_nobody_can_be_asked(
    tool_server: FakeServer,
) -> None:
    Tool.objects.filter(name="say").update(description="another", fingerprint="f2")
    told = run("tools", "diff", "jira/say")
    assert "jira/say: changed since it was approved" in told
    assert "-Answer with a text." in told
    assert "+another" in told
    with pytest.raises(BadInput, match="add --yes"):
        run("tools", "approve", "jira/say")
    assert not find_tool("jira/say").is_approved


@pytest.mark.usefixtures("jira")
def test_a_server_is_switched_off_and_on_and_that_is_audited_once() -> None:
    assert run("servers", "disable", "jira") == "jira: disabled\n"
    run("servers", "disable", "jira")
    assert words_of("jira", "servers", "list")[1] == "disabled"
    assert run("servers", "enable", "jira") == "jira: enabled\n"
    told = AuditRow.objects.filter(action__in=["server.enabled", "server.disabled"])
    assert [it.action for it in told.order_by("id")] == ["server.disabled", "server.enabled"]


def test_a_tool_whose_server_was_removed_meanwhile_is_refused_cleanly(jira: str) -> None:
    say = find_tool("jira/say")
    server = ToolServer.objects.get()
    run("servers", "remove", "jira")
    with pytest.raises(NotFound, match="jira/say is gone"):
        set_contract(say, {"effect": "read"}, actor="me")
    with pytest.raises(NotFound, match="jira/say is gone"):
        approve_tool(say, actor="me")
    with pytest.raises(NotFound, match="server jira was removed while"):
        sync_server(server, actor="me")
    server.url = "http://127.0.0.1:1/mcp"
    with pytest.raises(NotFound, match="server jira was removed while"):
        sync_server(server, actor="me")


def test_policies_are_loaded_shown_and_versioned(tmp_path: Path) -> None:
    assert "every call is refused" in run("policies", "show")
    file = written(tmp_path, PERMIT)
    assert run("policies", "load", file, "--name", "base") == "base v1 is in force\n"
    assert run("policies", "load", file, "--name", "base") == "base v1 is in force\n"
    again = written(tmp_path, f"{PERMIT}\n// changed\n")
    assert run("policies", "load", again, "--name", "base") == "base v2 is in force\n"
    assert PERMIT in run("policies", "show")
    assert [policy.is_active for policy in Policy.objects.all()] == [True, False]


def test_a_bad_policy_is_refused_with_file_and_line_and_the_last_one_stays(tmp_path: Path) -> None:
    run("policies", "load", written(tmp_path, PERMIT))
    bad = written(tmp_path, f"{PERMIT}\npermit(principal, action, resource);")
    with pytest.raises(BadInput, match=f"{bad}: policy at line 2"):
        run("policies", "load", bad)
    assert Policy.objects.get(is_active=True).text == PERMIT


def test_a_file_that_is_not_there_is_named() -> None:
    with pytest.raises(BadInput, match="/nowhere: cannot be read"):
        run("policies", "load", "/nowhere")


@pytest.fixture
def jira(fresh_db: FreshDatabase, tool_server: FakeServer) -> str:
    """The fake server, added and read."""
    return run("servers", "add", "jira", tool_server.url)
