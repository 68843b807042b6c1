"""`docs/agents.md`: its commands work in their order, its hook can be registered, its tables name what there is."""

from __future__ import annotations

import json
import re
from pathlib import Path

from liyagent.agents.channels import ANY, CHANNELS
from liyagent.agents.definitions import save_agent, save_compensations
from liyagent.agents.hooks import HOOKS, Hook
from liyagent.agents.models import Agent, ConfigVersion
from liyagent.gateway.models import Tool, ToolServer
from runs.endings import EndError
from tests.databases import FreshDatabase
from tests.docs.walk import DOCS, Shell, commands_of

DOCUMENT = "agents.md"
PYTHON = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


def test_its_commands_work_in_their_order(fresh_db: FreshDatabase, tmp_path: Path) -> None:
    typed = Shell(places={".liyagent/": f"{tmp_path}/"})
    for line in commands_of(DOCUMENT):
        typed.type(line)
    said = list(typed.said.values())
    assert said[0] == "disk-keeper: would be new\n"
    assert said[1] == said[5] == "disk-keeper version 1\n"
    assert "version 1, enabled" in said[3]
    agent = Agent.objects.get()
    assert (agent.version, agent.is_contained) == (1, False)
    assert not ConfigVersion.objects.get().is_contained


def test_its_hook_is_registered_as_it_is_written() -> None:
    (module,) = PYTHON.findall((DOCS / DOCUMENT).read_text())
    exec(compile(module, DOCUMENT, "exec"), {})  # noqa: S102 - what a reader is told to write
    assert isinstance(HOOKS.pop("working_dir_only"), Hook)


def test_its_map_of_undos_is_taken_where_the_tools_are_there(fresh_db: FreshDatabase) -> None:
    (body,) = re.findall(r"^PUT /api/agents/triage/compensations\n\n(.*?)^```", (DOCS / DOCUMENT).read_text(), re.MULTILINE | re.DOTALL)  # fmt: skip
    for server, tools in {"jira": ("create_issue", "delete_issue"), "mail": ("send", "recall")}.items():  # fmt: skip
        row = ToolServer.objects.create(key=server, transport="local")
        Tool.objects.bulk_create(Tool(server=row, name=name) for name in tools)
    words = {"name": "Triage", "provider": "scripted", "model": "m", "tool_patterns": ["*"]}
    save_agent({"key": "triage", **words}, actor="ada")
    undos = json.loads(body)["compensations"]
    assert save_compensations("triage", undos, expected_version=1, actor="ada").version == 2


def test_it_names_the_channels_and_codes_there_are() -> None:
    text = (DOCS / DOCUMENT).read_text()
    for name in (*CHANNELS, f'"{ANY}"'):
        assert f"`{name}`" in text, name
    codes = {it.value for it in EndError}
    named = re.findall(r"`((?:cap|guardrail|hook|channel)\.\w+)`", text)
    assert set(named) <= codes
    assert {it for it in codes if it.startswith("cap.")} <= set(named)
