"""`docs/mcp.md`, typed as it stands, by a shell with curl."""

from __future__ import annotations

import json
import re

import yaml

from liyagent.gateway.declare import read_declarations
from tests.conformance.scenarios import APPLIES, DOES_NOT_APPLY
from tests.docs.test_a2a_document import base, typed
from tests.docs.walk import DOCS, Shell, commands_of
from tests.flows.carrying import carrying
from tests.unit.runs.carrying import conftest as world_of
from tests.unit.runs.carrying.conftest import World, says

world = world_of.world
__all__ = ["base"]


def answer_in(said: str) -> dict[str, object]:
    """What was answered, be it alone or the last event of a stream."""
    events = [it.removeprefix("data: ") for it in said.splitlines() if it.startswith("data: ")]
    result: dict[str, object] = json.loads(events[-1] if events else said)["result"]
    return result


def test_each_line_of_the_document_does_what_it_says(world: World, base: str) -> None:
    world.model.steps = [says("it is full")]
    create, listing, call, conformance = commands_of("mcp.md")
    shell = Shell(places={})
    shell.type(create)
    key = next(it for it in shell.said[create].split() if it.startswith("liy_"))
    assert "triage" in str(answer_in(typed(listing, base, KEY=key)))
    with carrying():
        told = [answer_in(typed(call, base, KEY=key)) for _ in range(2)]
    assert told[0]["content"] == [{"type": "text", "text": "it is full"}]
    assert told[0]["structuredContent"] == told[1]["structuredContent"]
    assert conformance == "make test-conformance"


def test_what_another_instance_declares_can_be_declared() -> None:
    (block,) = re.findall(
        r"^```yaml\n(.*?)^```", (DOCS / "mcp.md").read_text(), re.MULTILINE | re.DOTALL
    )
    (peer,) = read_declarations(yaml.safe_load(block))
    assert peer.key == "peer"


def test_it_names_what_of_the_suite_applies_and_what_does_not() -> None:
    text = (DOCS / "mcp.md").read_text()
    said = set(re.findall(r"`([\w-]+\*?)`", text))
    wanted = {*APPLIES, *(f"{it}*" if it.endswith("-") else it for it in DOES_NOT_APPLY)}
    assert wanted - said == set()
