"""`docs/delegation.md`: its commands work in their order, its example runs to its end as typed, its agents are as it says."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from django.contrib.auth.models import User

from liyagent.agents.models import Agent
from liyagent.approvals.models import Approval
from liyagent.gateway.active import forget_policies
from liyagent.gateway.contracts import forget_contracts
from liyagent.gateway.local import LOCAL_TOOLS, local_tool
from liyagent.gateway.models import Policy, Tool, ToolServer
from runs.await_end import wait_for_end
from runs.models import Call, Run
from tests.databases import FreshDatabase
from tests.docs.walk import Shell, commands_of
from tests.flows.carrying import carrying

# What the demo's vendors offer, as far as the example uses it.
USED = {"incident/list_incidents": "read", "jira/create_issue": "write"}
LINES = list(commands_of("delegation.md"))
STARTS = next(at for at, line in enumerate(LINES) if line.startswith("liyagent runs start"))


@pytest.fixture
def shell(fresh_db: FreshDatabase, tmp_path: Path) -> Iterator[Shell]:
    """A shell in which the set-up of the document was typed, beside vendors with the demo's tools."""
    forget_contracts()
    forget_policies()
    for name, effect in USED.items():
        server, _, tool = name.partition("/")
        row, _ = ToolServer.objects.get_or_create(key=server, transport="local")
        Tool.objects.create(server=row, name=tool, effect=effect)
        local_tool(name)(lambda call: {"id": "OPS-1"})
    User.objects.create_superuser("admin")
    typed = Shell(places={".liyagent/": f"{tmp_path}/"})
    for line in LINES[:STARTS]:
        typed.type(line)
    yield typed
    for name in USED:
        LOCAL_TOOLS.pop(name, None)


def test_its_commands_work_in_their_order(shell: Shell) -> None:
    said = list(shell.said.values())
    assert said[0].count("would be new") == 3
    assert "warning" not in "".join(said)
    assert "is in force with" in said[2]
    assert 'Server::"agents"' in Policy.objects.get(is_active=True).text
    assert set(Agent.objects.get(key="desk-lead").tool_patterns) == {
        "agents/desk-reader",
        "agents/desk-writer",
    }


@pytest.mark.timeout(60)
def test_its_example_runs_to_its_end_as_typed(shell: Shell) -> None:
    start, *lines = LINES[STARTS:]
    shell.type(start)
    lead = Run.objects.get()
    with carrying():
        assert not wait_for_end(lead.id, seconds=0.1)
        waited = _wait_for_request(lead)
        listed, inbox, approve, *after = lines
        shell.type(listed)
        assert f"approval {waited.id} of jira/create_issue, asked for by run" in shell.said[listed]
        shell.type(inbox)
        assert str(waited.id) in shell.said[inbox]
        shell.places = {**shell.places, "REQUEST": str(waited.id), "RUN": str(lead.id)}
        shell.type(approve)
        assert wait_for_end(lead.id, seconds=20)
    for line in after:
        shell.type(line)
    assert set(Run.objects.values_list("agent_key", "status")) == {
        ("desk-lead", "answered"),
        ("desk-reader", "answered"),
        ("desk-writer", "answered"),
    }
    assert set(Call.objects.values_list("fate", flat=True)) == {"done"}
    assert "agents/desk-writer" in shell.said[f"liyagent runs show {lead.id}"]


def _wait_for_request(lead: Run) -> Approval:
    for _ in range(200):
        if Approval.objects.exists():
            break
        wait_for_end(lead.id, seconds=0.1)
    return Approval.objects.get()
