"""Where the settings name a tool of another ticket system, its call is known from the ticket alone, and the deploy check tries it."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from django.core import checks
from pytest_django import Settings

from liyagent.core.checks import TAG
from liyagent.core.ticket_conf import TicketConf
from liyagent.gateway.models import Tool, ToolServer
from liyagent.tickets.outside import TicketFields, ticket_call
from tests.databases import FreshDatabase
from tests.unit.tickets.conftest import BODY

CONF = TicketConf(
    server="jira",
    tool="create_issue",
    args={"summary": "{{ subject }}", "fields": [{"text": "{{ priority }}, {{ queue }}: {{ body }}"}], "urgent": True},
)  # fmt: skip
FIELDS = TicketFields(
    subject="Run of\ntriage failed", body=BODY, source_kind="saga", source_id="r-1", link="https://l.example.com/x",
)  # fmt: skip
SCHEMA = {"type": "object", "properties": {"summary": {"type": "string"}}, "required": ["summary"]}


def test_the_call_is_what_the_template_makes_of_the_ticket() -> None:
    server, tool, args = ticket_call(FIELDS, CONF)
    assert (server, tool) == ("jira", "create_issue")
    assert args == {
        "summary": "Run of triage failed",
        "fields": [{"text": "P2, Service Desk L1: What failed\nstep close: 502 from the pager\n\nUndone\n- pager/open\n\nInput\nn: 1"}],
        "urgent": True,
    }  # fmt: skip
    assert ticket_call(FIELDS, CONF)[2] == args


def test_words_of_a_run_are_not_taken_for_a_template() -> None:
    fields = dataclasses.replace(FIELDS, body="{{ link }} {{ nowhere }}", subject="{{ body }}")
    _, _, args = ticket_call(fields, CONF)
    assert args["summary"] == "{{ body }}"
    assert args["fields"][0]["text"].endswith(": {{ link }} {{ nowhere }}")


def test_of_a_long_body_the_beginning_is_told_and_where_the_rest_stands() -> None:
    conf = dataclasses.replace(CONF, args={"b": "{{ body }}"})
    text = ticket_call(dataclasses.replace(FIELDS, body="x" * 40_000), conf)[2]["b"]
    assert text.startswith("x" * 30_000)
    assert text.endswith("(10,000 more characters were left out. They stand at https://l.example.com/x.)")  # fmt: skip
    assert len(text) < 30_200


@pytest.fixture
def tool(fresh_db: FreshDatabase, settings: Settings) -> Tool:
    """The tool that the settings name, as it should be."""
    settings.LIYAGENT = dataclasses.replace(settings.LIYAGENT, tickets=CONF)
    server = ToolServer.objects.create(key="jira", url="http://127.0.0.1:1/mcp")
    return Tool.objects.create(
        server=server, name="create_issue", schema=SCHEMA, fingerprint="f", approved_fingerprint="f", key_place="meta",
    )  # fmt: skip


def said() -> dict[str, str]:
    """What the checks of this room say, by id."""
    found = checks.run_checks(tags=[TAG], include_deployment_checks=True)
    assert all(it.hint for it in found)
    ours = {"liyagent.E070", "liyagent.E071", "liyagent.W072", "liyagent.W073"}
    return {str(it.id): it.msg for it in found if it.id in ours}


def test_a_tool_as_it_should_be_is_silent(tool: Tool) -> None:
    assert said() == {}


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"name": "other"}, "liyagent.E070"),
        ({"is_offered": False}, "liyagent.E070"),
        ({"schema": {**SCHEMA, "required": ["project"]}}, "liyagent.E071"),
        ({"approved_fingerprint": ""}, "liyagent.W072"),
        ({"key_place": "none"}, "liyagent.W073"),
    ],
)
def test_a_tool_that_cannot_file_tickets_is_told_of(
    tool: Tool, change: dict[str, Any], told: str
) -> None:
    Tool.objects.filter(pk=tool.pk).update(**change)
    assert set(said()) == {told}


def test_a_server_that_is_switched_off_files_no_tickets(tool: Tool) -> None:
    ToolServer.objects.update(is_enabled=False)
    assert "no enabled server jira offers create_issue" in said()["liyagent.E070"]


def test_where_tickets_are_filed_here_nothing_is_looked_at(tool: Tool, settings: Settings) -> None:
    settings.LIYAGENT = dataclasses.replace(settings.LIYAGENT, tickets=None)
    Tool.objects.all().delete()
    assert said() == {}
