"""`docs/workflows.md`: its commands work in their order, each of its JSON blocks can be saved, its tables name what there is."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from liyagent.agents.definitions import save_agent
from liyagent.gateway.models import Tool, ToolServer
from liyagent.workflows.check import check_definition
from liyagent.workflows.models import Workflow
from liyagent.workflows.shape import published_schema
from tests.databases import FreshDatabase
from tests.docs.walk import DOCS, Shell, commands_of

DOCUMENT = "workflows.md"
TEXT = (DOCS / DOCUMENT).read_text()
BLOCKS = [json.loads(it) for it in re.findall(r"^```json\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)]  # fmt: skip
WHOLE: dict[str, Any] = BLOCKS[0]
TOOLS = {"jira": ("create_issue", "delete_issue"), "servicenow": ("create_change", "cancel_change"), "incident": ("page_on_call",)}  # fmt: skip


def test_its_commands_work_in_their_order(fresh_db: FreshDatabase, tmp_path: Path) -> None:
    for key, names in TOOLS.items():
        server = ToolServer.objects.create(key=key, transport="local")
        Tool.objects.bulk_create(Tool(server=server, name=name) for name in names)
    agent = {"key": "triage-undo", "name": "T", "provider": "scripted", "model": "m"}
    save_agent({**agent, "tool_patterns": [f"{key}/*" for key in TOOLS]}, actor="test")
    typed = Shell(places={".liyagent/": f"{tmp_path}/"})
    for line in commands_of(DOCUMENT):
        typed.type(line)
    said = list(typed.said.values())
    assert said[0] == "docs/workflows/outage.yaml: outage: well, 4 steps\n"
    assert said[1] == said[5] == "outage version 1\n"
    assert "jira/delete_issue" in said[3]
    assert Workflow.objects.get().version == 1


@pytest.mark.parametrize("block", BLOCKS, ids=lambda it: str(it.get("id", "whole")))
def test_each_block_is_what_it_says(block: dict[str, Any]) -> None:
    """A step stands behind those of the whole one, which it may lead back to."""
    if "steps" in block:
        check_definition(block)
    elif "type" in block:
        last = {**WHOLE["steps"][-1], "next": block["id"]}
        check_definition({"steps": [*WHOLE["steps"][:-1], last, block]})
    else:
        check_definition({"steps": WHOLE["steps"], **block})


def test_it_tells_of_every_type_and_field() -> None:
    schema = published_schema()
    step = schema["$defs"]["step"]["properties"]
    shown = {it["type"] for it in BLOCKS if "type" in it} | {"tool"}
    assert shown == set(step["type"]["enum"])
    fields = {*schema["properties"], *step, *schema["properties"]["on_failure"]["properties"]}
    for name in fields:
        assert f"`{name}`" in TEXT, name
