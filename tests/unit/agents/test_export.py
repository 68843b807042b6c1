"""Agents go out as a document that comes in again unchanged; a file is checked without being loaded."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from django.contrib.auth.models import User
from django.core.management import call_command

from liyagent.agents.definitions import save_agent
from liyagent.agents.errors import AgentUnknown
from liyagent.agents.export import export_agents
from liyagent.agents.load import load_agents_file
from liyagent.agents.models import Agent, AgentVersion, ConfigVersion
from liyagent.core.errors import BadInput
from tests.databases import FreshDatabase

EXAMPLE = Path(__file__).resolve().parents[3] / "docs" / "agents" / "example.yaml"
MINIMAL = {"key": "b", "name": "B", "provider": "scripted", "model": "m"}


@pytest.fixture
def agents(fresh_db: FreshDatabase) -> None:
    """The example, and one whose words are hard to write down."""
    User.objects.create_user("olga")
    load_agents_file(str(EXAMPLE), actor="ada")
    hard = " lead: # no\n\ttab \x85 \u2028 end \n\n'\"|> é 🙂  "
    save_agent({**MINIMAL, "instructions": hard, "owner": "olga", "name": "no"}, actor="ada")


def test_loading_an_export_changes_nothing(agents: None, tmp_path: Path) -> None:
    config = ConfigVersion.objects.get().version
    before = list(AgentVersion.objects.values_list("agent", "number", "definition"))
    path = tmp_path / "out.yaml"
    path.write_text(export_agents())
    assert [it.version for it in load_agents_file(str(path), actor="ada")] == [1, 1]
    assert list(AgentVersion.objects.values_list("agent", "number", "definition")) == before
    assert ConfigVersion.objects.get().version == config
    Agent.objects.all().delete()
    load_agents_file(str(path), actor="ada")
    assert export_agents() == path.read_text()


def test_some_can_be_exported_and_a_missing_one_is_named(agents: None) -> None:
    assert [it["key"] for it in yaml.safe_load(export_agents(["b"]))["agents"]] == ["b"]
    with pytest.raises(AgentUnknown, match="there is no agent 'zz'"):
        export_agents(["b", "zz"])


def test_the_example_names_every_field_but_those_that_say_nothing_new(agents: None) -> None:
    agent = Agent.objects.get(key="disk-keeper")
    assert agent.channels == ["api", "cli", "webhook"]
    assert [it["kind"] for it in agent.guardrails["input"]] == ["length", "personal_data"]
    assert (agent.max_seconds, agent.hooks) == (3600, ["log_calls", "refuse_deletes"])


def test_a_check_says_line_and_path_of_all_that_is_wrong_and_writes_nothing(
    fresh_db: FreshDatabase, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "agents.yaml"
    path.write_text(
        "agents:\n"
        "- key: one\n"
        "  name: One\n"
        "  provider: scripted\n"
        "  model: m\n"
        "  max_steps: 0\n"
        "  guardrails:\n"
        "    input: [{kind: size}]\n"
        "- {key: two, name: Two, provider: scripted}\n"
        "- nothing\n"
    )
    with pytest.raises(BadInput, match="cannot be loaded as it is"):
        call_command("agents", "check", str(path))
    told = capsys.readouterr().out.splitlines()
    assert [line.partition(": it wants")[0][:70] for line in told] == [
        f"{path}: line 6: agents[0].max_steps is 0; it wants a whole number from"[:70],
        f"{path}: line 8: agents[0].guardrails is {{'input': [{{'kind'"[:70],
        f"{path}: line 9: agents[1].model is missing"[:70],
        f"{path}: line 10: agents[2] wants an object with key, name"[:70],
    ]
    assert not Agent.objects.exists()


def test_a_check_tells_what_a_load_would_do(
    agents: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "agents.yaml"
    kept, changed = export_agents(["b"]), export_agents(["disk-keeper"])
    changed = changed.replace("agents:\n", "").replace("max_steps: 20", "max_steps: 21")
    new = "- {key: new, name: N, provider: scripted, model: m}\n"
    path.write_text(kept + changed + new)
    call_command("agents", "check", str(path))
    assert capsys.readouterr().out.splitlines() == [
        "b: would stay as it is",
        "disk-keeper: would change max_steps",
        "new: would be new",
    ]
    assert Agent.objects.count() == 2


def test_a_fault_of_yaml_names_its_line(fresh_db: FreshDatabase, tmp_path: Path) -> None:
    path = tmp_path / "agents.yaml"
    path.write_text("agents:\n- key: a\n  key: b\n")
    with pytest.raises(BadInput, match=r"'key' stands twice in one object.*line 3"):
        call_command("agents", "check", str(path))
