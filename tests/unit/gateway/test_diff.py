"""What a person sees of a tool before approving it."""

from __future__ import annotations

import time

import pytest

from liyagent.core.errors import Conflict
from liyagent.gateway.approve import approve_tool, approved_form, find_tool
from liyagent.gateway.diff import changes_of, heading_of
from liyagent.gateway.models import Tool, ToolServer
from liyagent.gateway.sync import sync_server
from tests.fakes.tool_server import ToolServer as FakeServer

SCHEMA = {"type": "object", "properties": {"a": {"type": "string"}}}


def a_tool(description: str, schema: object = SCHEMA, approved: object = None) -> Tool:
    """A tool whose catalogue says this, and of which that was approved."""
    return Tool(
        server=ToolServer(key="jira"),
        name="say",
        description=description,
        schema=schema,
        approved=approved,
        fingerprint="f2",
        approved_fingerprint="f1" if approved else "",
    )


def test_a_first_approval_shows_all() -> None:
    tool = a_tool("Say it.\nTwice.")
    assert heading_of(tool) == "jira/say: never approved; all of it is shown"
    told = changes_of(tool).splitlines()
    assert {"+Say it.", "+Twice.", '+  "type": "object"'} <= set(told)
    assert not [line for line in told if line.startswith("-") and not line.startswith("---")]


def test_only_what_changed_is_shown_with_its_surroundings() -> None:
    before = approved_form("Say it.", SCHEMA)
    longer = {**SCHEMA, "required": ["a"]}
    told = changes_of(a_tool("Say it.", longer, before))
    assert heading_of(a_tool("", approved=before)) == "jira/say: changed since it was approved"
    assert '+  "required": [' in told
    assert "description" not in told
    assert changes_of(a_tool("Say it.", SCHEMA, before)) == ""


def test_the_order_of_a_schemas_names_is_no_change() -> None:
    turned = {"properties": SCHEMA["properties"], "type": "object"}
    assert changes_of(a_tool("a", turned, approved_form("a", SCHEMA))) == ""


@pytest.mark.parametrize(
    ("hostile", "shown"),
    [
        ("a\x1b[2Jb", "\\x1b[2J"),
        ("a\rb", "\\r"),
        ("a\u202eb", "\\u202e"),
        ("a\u200bb", "\\u200b"),
        ("a\u2028b", "\\u2028"),
        ("a\U000e0041b", "\\U000e0041"),
    ],
)
def test_hostile_characters_are_made_visible(hostile: str, shown: str) -> None:
    told = changes_of(a_tool(hostile, {"title": hostile}, approved_form("ab", {})))
    assert told.count(f"+a{shown}") == 1
    assert hostile not in told


def test_long_texts_are_shown_in_bounded_time() -> None:
    before = approved_form("\n".join(f"{it % 3}" for it in range(16_000)), {})
    began = time.thread_time()
    told = changes_of(a_tool("\n".join(f"{it % 2}" for it in range(16_000)), {}, before))
    assert time.thread_time() - began < 2
    assert told.count("\n+") > 15_000


@pytest.mark.usefixtures("fresh_db")
def test_what_was_approved_is_kept_by_the_first_reading_and_by_every_approval(
    tool_server: FakeServer,
) -> None:
    server = ToolServer.objects.create(key="jira", url=tool_server.url)
    sync_server(server, actor="me")
    first = find_tool("jira/create_issue")
    assert first.approved == approved_form(first.description, first.schema)
    assert changes_of(first) == ""
    assert heading_of(first) == "jira/create_issue: as it was approved"
    tool_server.descriptions["create_issue"] = "Create another"
    tool_server.restart()
    sync_server(server, actor="me")
    changed = find_tool("jira/create_issue")
    assert changed.approved == first.approved
    assert "-Create an issue\n+Create another" in changes_of(changed)
    approve_tool(changed, actor="me")
    assert changes_of(find_tool("jira/create_issue")) == ""


@pytest.mark.usefixtures("fresh_db")
def test_only_the_fingerprint_that_was_shown_is_approved() -> None:
    server = ToolServer.objects.create(key="jira", transport="local")
    tool = Tool.objects.create(server=server, name="say", fingerprint="f2")
    with pytest.raises(Conflict, match="changed while"):
        approve_tool(tool, actor="me", fingerprint="f1")
    approve_tool(tool, actor="me", fingerprint="f2")
    assert find_tool("jira/say").is_approved
    never_read = Tool.objects.create(server=server, name="old")
    with pytest.raises(Conflict, match="never read"):
        approve_tool(never_read, actor="me")
