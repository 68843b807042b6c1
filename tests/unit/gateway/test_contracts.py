"""Contracts and the policy in force, read once per configuration version."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from django.db.utils import IntegrityError
from django.test.utils import CaptureQueriesContext

from liyagent.agents.models import ConfigVersion
from liyagent.gateway.active import active_policy
from liyagent.gateway.contracts import address_of, contracts_for
from liyagent.gateway.models import Policy, Tool, ToolServer
from liyagent.gateway.outcome import Effect, KeyPlace

pytestmark = pytest.mark.usefixtures("fresh_db")

READER = {"tool": "jira/find", "args": {}, "match": {"records": "", "field": "step_key"}}


def version() -> int:
    """The configuration version that stands in the database."""
    return ConfigVersion.objects.get().version


def a_tool(name: str = "create_issue", **columns: Any) -> Tool:
    """An offered, approved tool of the server jira."""
    server, _ = ToolServer.objects.get_or_create(key="jira", url="http://127.0.0.1:1/mcp")
    return Tool.objects.create(server=server, name=name, **columns)


def test_every_change_of_servers_tools_and_policies_raises_the_version() -> None:
    before = version()
    tool = a_tool()
    after_insert = version()
    Tool.objects.filter(pk=tool.pk).update(effect="read")
    Policy.objects.create(name="p", version=1, text="x")
    after_update = version()
    tool.server.delete()
    assert before < after_insert < after_update - 1
    assert version() > after_update


def test_a_contract_is_what_the_row_says() -> None:
    a_tool(
        key_place="argument",
        key_field="dedup",
        key_window_seconds=60,
        reader=READER,
        timeout_seconds=7,
        limit_bytes=9,
        fingerprint="a",
        approved_fingerprint="b",
    )
    contract = contracts_for(["jira/*"], version=version())["jira/create_issue"]
    assert contract.effect is Effect.WRITE
    assert (contract.key_place, contract.key_field) == (KeyPlace.ARGUMENT, "dedup")
    assert contract.key_window_seconds == 60
    assert contract.reader is not None
    assert contract.reader.match["field"] == "step_key"
    assert (contract.timeout_seconds, contract.limit_bytes) == (7, 9)
    assert contract.changed_since_approved


def test_only_what_is_enabled_offered_and_let_in_is_returned() -> None:
    a_tool("create_issue")
    a_tool("get_issue")
    a_tool("gone", is_offered=False)
    off = ToolServer.objects.create(key="off", url="http://127.0.0.1:1", is_enabled=False)
    Tool.objects.create(server=off, name="x")
    assert set(contracts_for(["*"], version=version())) == {"jira/create_issue", "jira/get_issue"}
    assert set(contracts_for(["jira/get_*"], version=version())) == {"jira/get_issue"}


def test_contracts_are_read_once_a_version_and_anew_after_a_change() -> None:
    tool = a_tool()
    at_first = version()
    contracts_for(["*"], version=at_first)
    with CaptureQueriesContext(
        connection,
    ) as queries:
        contracts_for(["*"], version=at_first)
        contracts_for(["jira/*"], version=at_first)
        address_of("jira")
    assert len(queries) == 0
    Tool.objects.filter(pk=tool.pk).update(effect="read")
    assert contracts_for(["*"], version=version())["jira/create_issue"].effect is Effect.READ


def test_the_address_is_that_of_the_newest_version_seen() -> None:
    a_tool()
    assert address_of("none") is None
    contracts_for(["*"], version=version())
    ToolServer.objects.update(url="http://127.0.0.1:2/mcp")
    contracts_for(["*"], version=version())
    contracts_for(["*"], version=version() - 1)
    address = address_of("jira")
    assert address is not None
    assert address.url == "http://127.0.0.1:2/mcp"


def test_a_reader_that_does_not_hold_together_is_no_reader() -> None:
    a_tool(reader={"tool": "jira/find"})
    assert contracts_for(["*"], version=version())["jira/create_issue"].reader is None


def test_with_no_policy_in_force_the_set_is_empty() -> None:
    assert active_policy(version=version()).is_empty


def test_the_policy_in_force_is_parsed_once_a_version() -> None:
    text = '@id("all") permit(principal, action, resource);'
    Policy.objects.create(name="p", version=1, text=text, is_active=True)
    assert active_policy(version=version()) is active_policy(version=version())
    assert active_policy(version=version()).text == text


def test_a_stored_policy_that_cannot_be_read_denies_with_the_reason() -> None:
    Policy.objects.create(name="p", version=1, text="permit(", is_active=True)
    policies = active_policy(version=version())
    assert policies.is_empty
    assert "p v1 cannot be read" in policies.fault


def test_two_policies_cannot_be_in_force() -> None:
    Policy.objects.create(name="p", version=1, text="x", is_active=True)
    with pytest.raises(IntegrityError, match="gateway_one_active_policy"):
        Policy.objects.create(name="p", version=2, text="x", is_active=True)


@pytest.mark.parametrize(
    "columns",
    [
        {"key_place": "argument", "key_window_seconds": 60},
        {"key_place": "argument"},
        {"key_place": "meta", "key_field": "k", "key_window_seconds": 60},
        {"key_place": "none", "key_field": "k"},
    ],
)
def test_a_key_that_does_not_hold_together_cannot_be_stored(columns: dict[str, Any]) -> None:
    with pytest.raises(IntegrityError, match="gateway_tool_key"):
        a_tool(**columns)


def test_a_key_that_a_vendor_stores_and_does_not_dedupe_on_has_no_window() -> None:
    a_tool(key_place="argument", key_field="step_key", key_window_seconds=0, reader=READER)
    contract = contracts_for(["*"], version=version())["jira/create_issue"]
    assert (contract.key_field, contract.key_window_seconds) == ("step_key", 0)
