"""`docs/delegation.md`: its commands work in their order, and its agents are as it says."""

from __future__ import annotations

from pathlib import Path

from liyagent.agents.models import Agent
from liyagent.gateway.models import Policy
from tests.databases import FreshDatabase
from tests.docs.walk import Shell, commands_of


def test_its_commands_work_in_their_order(fresh_db: FreshDatabase, tmp_path: Path) -> None:
    typed = Shell(places={".liyagent/": f"{tmp_path}/"})
    for line in commands_of("delegation.md"):
        typed.type(line)
    said = list(typed.said.values())
    assert said[0].count("would be new") == 3
    assert "warning" not in "".join(said)
    assert "is in force with" in said[2]
    assert 'Server::"agents"' in Policy.objects.get(is_active=True).text
    assert set(Agent.objects.get(key="desk-lead").tool_patterns) == {
        "agents/desk-reader",
        "agents/desk-writer",
    }
