"""What there is to mend in the contracts of tools, and what a vendor's facts would allow."""

from __future__ import annotations

import json
from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command

from liyagent.core.errors import NotFound
from liyagent.core.files import parse_yaml
from liyagent.gateway import report as report_module
from liyagent.gateway.models import Tool, ToolServer
from liyagent.gateway.report import ToolReport, report_of
from liyagent.gateway.report_text import ToMend
from liyagent.gateway.servers import load_servers

pytestmark = pytest.mark.usefixtures("fresh_db")

READER = {"tool": "jira/find", "args": {}, "match": {"records": "issues", "field": "key"}}
KEYED = {"key_place": "argument", "key_field": "idempotency_key"}


def a_tool(name: str, *, server: str = "jira", vendor: str = "", **columns: Any) -> Tool:
    """An offered tool, approved as it is."""
    row, _ = ToolServer.objects.get_or_create(
        key=server, defaults={"transport": "local", "vendor": vendor}
    )
    return Tool.objects.create(
        server=row, **{"name": name, "fingerprint": "f", "approved_fingerprint": "f", **columns}
    )


def of(name: str) -> ToolReport:
    """The report on one tool."""
    (found,) = [it for it in report_of().tools if it.tool == name]
    return found


def test_a_write_without_key_reader_and_undo_is_to_mend() -> None:
    a_tool("say")
    assert of("jira/say").mend == ("it has no key, no reader and no undo",)
    assert of("jira/say").in_doubt == "told unknown"


@pytest.mark.parametrize(
    ("columns", "in_doubt"),
    [
        ({**KEYED, "key_window_seconds": 86400}, "sent again"),
        ({"undo": {"tool": "jira/unsay"}}, "told unknown"),
        ({"effect": "read"}, ""),
    ],
)
def test_nothing_is_to_mend_of_what_can_be_settled_or_taken_back(
    columns: dict[str, Any], in_doubt: str
) -> None:
    a_tool("say", **columns)
    assert of("jira/say").mend == ()
    assert of("jira/say").in_doubt == in_doubt


@pytest.mark.promise("CR-26")
def test_a_window_that_is_shorter_than_a_resume_may_take_is_to_mend() -> None:
    a_tool("say", **KEYED, key_window_seconds=300)
    (mend,) = of("jira/say").mend
    assert "deduped for 300 s only" in mend
    assert "declare window 0" in mend


def test_a_tool_that_waits_for_approval_is_to_mend() -> None:
    a_tool("look", effect="read", fingerprint="f2")
    assert of("jira/look").mend == ("it waits for approval: its calls are held",)


@pytest.mark.parametrize(
    ("columns", "wanted"),
    [
        (None, "its reader jira/find is gone"),
        ({"is_offered": False}, "its reader jira/find is gone: the server no longer offers it"),
        ({"effect": "write", "undo": {}}, "its reader jira/find is a write"),
        ({"effect": "read"}, ""),
    ],
)
def test_a_reader_that_is_gone_or_a_write_is_to_mend(
    columns: dict[str, Any] | None, wanted: str
) -> None:
    a_tool("say", reader=READER)
    if columns is not None:
        a_tool("find", **columns)
    assert of("jira/say").in_doubt == "read back"
    assert "".join(of("jira/say").mend).startswith(wanted)
    assert bool(of("jira/say").mend) == bool(wanted)


def test_tools_of_a_server_that_is_disabled_are_not_looked_at() -> None:
    a_tool("say")
    ToolServer.objects.update(is_enabled=False)
    assert report_of().tools == ()


@pytest.mark.field("FL-08")
def test_a_vendor_named_its_facts_are_proposed_where_the_tool_passes_the_field_on() -> None:
    schema = {"type": "object", "properties": {"idempotency_key": {"type": "string"}}}
    a_tool("create_incident", server="inc", vendor="incident-io", schema=schema)
    a_tool("incident_update", server="inc", schema={"type": "object"})
    (proposal,) = of("inc/create_incident").proposals
    pasted = parse_yaml("\n".join(proposal.lines))
    assert pasted == {
        "create_incident": {
            "key": {"place": "argument", "field": "idempotency_key", "window": 86400}
        }
    }
    assert of("inc/create_incident").in_doubt == "told unknown"
    (other,) = of("inc/incident_update").proposals
    assert (other.lines, other.but) == (
        (),
        "this tool takes no idempotency_key: the server does not pass it on",
    )


@pytest.mark.promise("CR-26")
def test_a_short_window_is_proposed_as_stored_only() -> None:
    schema: dict[str, Any] = {"properties": {"MessageDeduplicationId": {}}}
    a_tool("send_message", server="queue", vendor="sqs", schema=schema)
    (proposal,) = of("queue/send_message").proposals
    assert "window: 0}" in proposal.lines[1]


def test_what_is_proposed_can_be_pasted_and_the_reader_is_found_by_name() -> None:
    schema: dict[str, Any] = {"properties": {"incident_key": {}}}
    a_tool("create_incident", server="pager", vendor="pagerduty", schema=schema)
    a_tool("list_incidents", server="pager", effect="read")
    (proposal,) = of("pager/create_incident").proposals
    tools = parse_yaml("\n".join(proposal.lines))
    load_servers({"servers": [{"key": "pager", "tools": tools}]}, actor="me")
    assert (of("pager/create_incident").in_doubt, of("pager/create_incident").mend) == (
        "read back",
        (),
    )


def test_a_key_that_does_not_fit_is_not_proposed() -> None:
    a_tool("send_message", server="chat", vendor="discord", schema={"properties": {"nonce": {}}})
    (proposal,) = of("chat/send_message").proposals
    assert proposal.lines == ()
    assert "holds 25 characters" in proposal.but


def test_the_command_ends_with_an_error_only_where_something_is_to_mend() -> None:
    look = a_tool("look", effect="read")
    out = StringIO()
    call_command("tools", "report", stdout=out)
    assert out.getvalue().splitlines()[-1] == "0 writes, 1 reads, 0 to mend"
    Tool.objects.filter(pk=look.pk).update(effect="write")
    out = StringIO()
    with pytest.raises(ToMend, match="1 tools have something to mend"):
        call_command("tools", "report", "jira", "--json", stdout=out)
    told = json.loads(out.getvalue())
    assert (told["writes"], told["to_mend"], told["tools"][0]["tool"]) == (1, 1, "jira/look")
    with pytest.raises(NotFound, match="no server 'jria'"):
        call_command("tools", "report", "jria", stdout=out)


def test_a_long_report_is_cut_and_says_so_with_what_is_to_mend_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(report_module, "MOST_TOLD", 2)
    for name in ("a", "b", "c"):
        a_tool(name, effect="read")
    a_tool("z")
    report = report_of()
    assert [it.tool for it in report.tools] == ["jira/z", "jira/a"]
    assert (report.reads, report.writes, report.left_out) == (3, 1, 2)
