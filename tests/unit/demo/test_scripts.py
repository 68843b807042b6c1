"""The demo's scripts fit its catalogue, and every write of theirs can be counted."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import yaml

from liyagent.agents.sub_agents import SUB_AGENTS
from liyagent.demo import seed
from liyagent.demo.judge import MARKER
from liyagent.gateway.gates.allow_list import is_allowed
from liyagent.providers.script import read_script

SCRIPTS = Path(seed.__file__).parent / "scripts"
SERVERS = yaml.safe_load((seed.CATALOGUE / "servers.yaml").read_text())["servers"]
AGENTS = {
    agent["key"]: agent
    for name in ("agents.yaml", "undone.yaml")
    for agent in yaml.safe_load((seed.CATALOGUE / name).read_text())["agents"]
}
CONTRACTS: dict[str, dict[str, Any]] = {
    f"{server['key']}/{name}": contract
    for server in SERVERS
    for name, contract in server["tools"].items()
}
# It writes nothing itself: it hands work to others.
LEAD = "triage-lead"
RUN = "0198c1d2-0000-7000-8000-000000000001"


def calls_of(agent: str) -> list[tuple[str, str]]:
    """Return each call's tool and its arguments as text, with the run's id filled in."""
    script = read_script(SCRIPTS / f"{AGENTS[agent]['model']}.yaml")
    return [
        (call.tool, str(call.args).replace("{{ run }}", RUN))
        for step in script.steps
        for call in step.calls
    ]


@pytest.mark.parametrize("agent", AGENTS)
def test_every_call_of_a_script_has_a_contract_and_is_allowed_to_its_agent(agent: str) -> None:
    for tool, _ in calls_of(agent):
        assert tool in CONTRACTS or tool.removeprefix(SUB_AGENTS) in AGENTS
        assert is_allowed(tool, AGENTS[agent]["tool_patterns"])


@pytest.mark.parametrize("agent", [it for it in AGENTS if it != LEAD])
def test_every_write_of_a_script_carries_a_marker_of_its_own(agent: str) -> None:
    texts = [args for tool, args in calls_of(agent) if CONTRACTS[tool]["effect"] == "write"]
    markers = Counter(found for text in texts for found in MARKER.findall(text))

    assert len(texts) >= 5
    assert markers == Counter(f"{RUN}/{number}" for number in range(1, len(texts) + 1))


@pytest.mark.parametrize("agent", AGENTS)
def test_no_script_needs_the_result_of_a_write_that_can_stay_unknown(agent: str) -> None:
    calls = calls_of(agent)
    needed = {int(number) for _, args in calls for number in re.findall(r"results\.(\d+)", args)}

    for number in needed:
        tool = calls[number][0]
        if tool.startswith(SUB_AGENTS):
            # However a child ends, its parent is told.
            continue
        contract = CONTRACTS[tool]
        assert contract["effect"] == "read" or "key" in contract


def test_the_example_tasks_name_every_agent() -> None:
    assert set(seed.TASKS) == set(AGENTS)
