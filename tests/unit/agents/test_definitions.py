"""Save, contain and release agents."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command

from liyagent.agents.containment import contain_agent, release_agent
from liyagent.agents.definitions import save_agent
from liyagent.agents.errors import AgentNotContained, AgentUnknown
from liyagent.agents.load import load_agents, load_agents_file
from liyagent.agents.models import Agent, AgentVersion, ConfigVersion
from liyagent.audit.models import AuditRow
from liyagent.core.errors import BadInput, Conflict
from tests.databases import FreshDatabase

BASE: dict[str, Any] = {"key": "triage", "name": "Triage", "provider": "scripted", "model": "m"}


def save(**fields: Any) -> Agent:
    return save_agent({**BASE, **fields}, actor="ada")


def test_an_agent_is_saved_with_its_version_and_audit_row(fresh_db: FreshDatabase) -> None:
    agent = save(tool_patterns=["jira/*"], max_steps=7)
    assert (agent.version, agent.tool_patterns, agent.max_steps) == (1, ["jira/*"], 7)
    assert (agent.write_posture, agent.recording) == ("hold", "metadata")
    version = AgentVersion.objects.get()
    assert (version.number, version.created_by) == (1, "ada")
    assert version.definition["tool_patterns"] == ["jira/*"]
    row = AuditRow.objects.get()
    assert (row.action, row.actor) == ("agent.saved", "ada")
    assert row.detail["agent"] == "triage"


def test_the_version_rises_only_where_something_changed(fresh_db: FreshDatabase) -> None:
    save(max_steps=7)
    config = ConfigVersion.objects.get().version
    assert save(max_steps=7).version == 1
    assert ConfigVersion.objects.get().version == config
    assert AuditRow.objects.count() == 1
    changed = save(max_steps=8)
    assert (changed.version, Agent.objects.get().max_steps) == (2, 8)
    assert AuditRow.objects.first().detail == {  # type: ignore[union-attr]
        "agent": "triage",
        "version": 2,
        "changed": ["max_steps"],
    }
    assert [it.definition["max_steps"] for it in AgentVersion.objects.all()] == [8, 7]
    assert ConfigVersion.objects.get().version > config


def test_a_version_that_knew_fewer_fields_is_not_raised_over_their_defaults(
    fresh_db: FreshDatabase,
) -> None:
    save(max_steps=7)
    kept = AgentVersion.objects.get()
    for name in ("guardrails", "hooks", "channels", "max_calls"):
        del kept.definition[name]
    AgentVersion.objects.update(definition=kept.definition)
    assert save(max_steps=7).version == 1


def test_what_a_definition_leaves_out_has_its_default(fresh_db: FreshDatabase) -> None:
    save(write_posture="allow", instructions="Act.")
    agent = save()
    assert (agent.write_posture, agent.instructions) == ("hold", "")


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"key": "a b"}, "key is 'a b'; it wants 1 to 80 letters"),
    ({"key": ""}, "key is ''"),
    ({"name": ""}, "name is ''; it wants text of 1 to 200"),
    ({"name": 7}, "name is 7"),
    ({"provider": "Open AI"}, "provider is 'Open AI'"),
    ({"base_url": "ftp://x"}, "base_url is 'ftp://x'; it wants http(s)://"),
    ({"base_url": "https://user:pw@x"}, "base_url"),
    ({"base_url": "https://x/\n"}, "base_url"),
    ({"base_url": "http://[::1"}, "base_url"),
    ({"api_key_env": "sk-secret-1"}, "api_key_env is something else"),
    ({"model": None}, "model is None"),
    ({"model_timeout_seconds": 0}, "model_timeout_seconds is 0; it wants seconds"),
    ({"model_timeout_seconds": float("nan")}, "model_timeout_seconds"),
    ({"model_timeout_seconds": True}, "model_timeout_seconds"),
    ({"tool_patterns": "jira/*"}, "tool_patterns is 'jira/*'; it wants a list"),
    ({"tool_patterns": ["jira"]}, "'jira' is none"),
    ({"tool_patterns": [7]}, "7 is none"),
    ({"write_posture": "ask"}, "one of allow, hold, refuse"),
    ({"write_posture": []}, "one of allow, hold, refuse"),
    ({"may_wait": "yes"}, "may_wait is 'yes'; it wants true or false"),
    ({"recording": "all"}, "one of full, metadata"),
    ({"max_steps": 0}, "max_steps is 0; it wants a whole number from 1 to 1000"),
    ({"max_steps": 1001}, "max_steps"),
    ({"max_steps": True}, "max_steps"),
    ({"max_steps": 1.0}, "max_steps"),
    ({"run_as": "ghost"}, "run_as is 'ghost'; it wants the name of an active user"),
    ({"run_as": "a\x00"}, "run_as"),
    ({"is_enabled": 1}, "is_enabled"),
    ({"is_streaming": 1}, "is_streaming is 1; it wants true or false"),
    ({"max_answer_tokens": -1}, "a whole number of tokens from 0 to 1000000, 0 for no cap"),
    ({"max_calls": 0}, "max_calls is 0; it wants a whole number from 1 to 100000"),
    ({"max_tokens": "9"}, "a whole number of tokens from 0"),
    ({"max_seconds": 1.5}, "a whole number of seconds from 0"),
    ({"owner": "ghost"}, "owner is 'ghost'; it wants the name of an active user, or nothing"),
    ({"channels": []}, "at least one of api, cli, seed"),
    ({"channels": "api"}, "a list of ways in"),
    ({"channels": ["api", "fax"]}, "'fax' is none"),
    ({"channels": [{}]}, "'{}' is none"),
    ({"hooks": "log_calls"}, "a list of at most 20 names of hooks; those of this process are"),
    ({"hooks": [7]}, "a list of at most 20 names of hooks"),
    ({"hooks": ["log_calls", "gone"]}, "'gone' is none of them"),
    ({"guardrails": []}, "an object of `input` and `output`"),
    ({"guardrails": {"both": []}}, "an object of `input` and `output`"),
    ({"guardrails": {"input": {}}}, "input: a list of at most 50 checks"),
    ({"guardrails": {"input": [{"kind": "size"}]}}, "input[0]: an object whose kind is one of"),
    ({"guardrails": {"input": [{"kind": "length"}]}}, "input[0].most: characters"),
    (
        {"guardrails": {"output": [{"kind": "length", "most": 9, "action": "mask"}]}},
        "output[0].action: refuse",
    ),
    (
        {"guardrails": {"output": [{"kind": "length", "most": 9, "least": 1}]}},
        "no 'least'; length takes kind, action, most",
    ),
    (
        {"guardrails": {"input": [{"kind": "personal_data", "what": ["passport"]}]}},
        "input[0].what: a list of email, iban, card, phone",
    ),
    (
        {"guardrails": {"input": [{"kind": "pattern", "pattern": "x"}]}},
        "input[0].name: 1 to 80 letters",
    ),
    (
        {"guardrails": {"input": [{"kind": "pattern", "name": "n", "pattern": "("}]}},
        "input[0].pattern: a regular expression; this one",
    ),
    (
        {"guardrails": {"input": [{"kind": "pattern", "name": "secret", "pattern": "secret"}]}},
        "input[0].name: a name that the pattern itself does not find",
    ),
    ({"tool_patterns": ["a/b\x00"]}, "is none"),
    ({"owner": "a\ud83d"}, "it wants the name of an active user"),
    (
        {"guardrails": {"input": [{"kind": "pattern", "name": "n", "pattern": "a\x00"}]}},
        "input[0].pattern: a regular expression, written in text that can be stored",
    ),
    ({"instruction": "x"}, "instruction is not known; the known fields are key, name"),
]


def test_every_field_that_is_wrong_is_named_with_what_it_wants(fresh_db: FreshDatabase) -> None:
    for fields, says in WRONG:
        with pytest.raises(BadInput) as caught:
            save(**fields)
        assert says in str(caught.value), fields
    assert not Agent.objects.exists()
    assert not AuditRow.objects.exists()


def test_all_that_is_wrong_is_named_at_once(fresh_db: FreshDatabase) -> None:
    with pytest.raises(BadInput) as caught:
        save_agent({"key": "x", "max_steps": 0}, actor="ada")
    for part in ("name is missing", "provider is missing", "model is missing", "max_steps is 0"):
        assert part in str(caught.value)


def test_a_secret_put_where_its_variables_name_belongs_is_not_repeated(
    fresh_db: FreshDatabase,
) -> None:
    with pytest.raises(BadInput) as caught:
        save(api_key_env="sk-secret-1")
    assert "sk-secret-1" not in str(caught.value)


@pytest.mark.field("FL-32")
def test_a_name_that_cannot_be_stored_is_made_storable(fresh_db: FreshDatabase) -> None:
    save(name="Tri\x00age \ud83d", instructions="a\x00b")
    agent = Agent.objects.get()
    assert (agent.name, agent.instructions) == ("Tri\ufffdage \ufffd", "a\ufffdb")


def test_run_as_is_an_active_user(fresh_db: FreshDatabase) -> None:
    User.objects.create_user("service")
    assert save(run_as="service").run_as == "service"
    User.objects.update(is_active=False)
    with pytest.raises(BadInput, match="active user"):
        save(run_as="service", max_steps=9)


def test_containing_and_releasing_are_audited_and_said_once(fresh_db: FreshDatabase) -> None:
    save()
    contain_agent("triage", actor="ada", reason="odd \x00calls")
    agent = Agent.objects.get()
    assert (agent.is_contained, agent.contained_by) == (True, "ada")
    assert agent.contained_reason == "odd \ufffdcalls"
    with pytest.raises(Conflict, match="already"):
        contain_agent("triage", actor="ada", reason="again")
    release_agent("triage", actor="bob")
    assert Agent.objects.get().is_contained is False
    with pytest.raises(AgentNotContained):
        release_agent("triage", actor="bob")
    actions = list(AuditRow.objects.order_by("id").values_list("action", "actor"))
    assert actions == [
        ("agent.saved", "ada"),
        ("agent.contained", "ada"),
        ("agent.released", "bob"),
    ]


def test_a_definition_does_not_release_a_contained_agent(fresh_db: FreshDatabase) -> None:
    save()
    contain_agent("triage", actor="ada", reason="odd")
    save(max_steps=3)
    assert Agent.objects.get().is_contained is True


def test_containing_wants_an_agent_and_a_reason(fresh_db: FreshDatabase) -> None:
    save()
    for reason in ("", "  ", "x" * 501):
        with pytest.raises(BadInput, match="reason"):
            contain_agent("triage", actor="ada", reason=reason)
    with pytest.raises(AgentUnknown):
        contain_agent("nobody", actor="ada", reason="r")
    with pytest.raises(AgentUnknown):
        release_agent("nobody", actor="ada")


def test_a_file_is_saved_as_a_whole_or_not_at_all(fresh_db: FreshDatabase, tmp_path: Path) -> None:
    path = tmp_path / "agents.yaml"
    path.write_text(
        "agents:\n"
        "- {key: one, name: One, provider: scripted, model: m}\n"
        "- {key: two, name: Two, provider: scripted, model: m, max_steps: 0}\n"
    )
    with pytest.raises(BadInput) as caught:
        load_agents_file(str(path), actor="ada")
    assert str(caught.value).startswith(f"{path}: line 3: agents[1].max_steps is 0; it wants")
    assert not Agent.objects.exists()
    path.write_text(path.read_text().replace("max_steps: 0", "max_steps: 1"))
    assert [it.key for it in load_agents_file(str(path), actor="ada")] == ["one", "two"]


def test_a_file_of_another_shape_is_refused_with_what_was_meant(
    fresh_db: FreshDatabase, tmp_path: Path
) -> None:
    path = tmp_path / "agents.yaml"
    for text, says in (
        ("", "wants `agents:`"),
        ("agents: {}", "wants `agents:`"),
        ("agents: []\nmore: 1", "nothing beside it"),
        ("agents: [x]", "agents[0] wants an object"),
        ("agents: [[]", "is no YAML"),
        ("agents: [!!python/name:os.system]", "is no YAML"),
        ("[" * 5000, "is no YAML"),
        (
            "agents:\n- {key: a, name: A, provider: scripted, model: m}\n- {key: a, name: A, provider: scripted, model: m}\n",
            "agents[1].key is 'a', as of an agent before",
        ),
    ):
        path.write_text(text)
        with pytest.raises(BadInput) as caught:
            load_agents_file(str(path), actor="ada")
        assert str(caught.value).startswith(f"{path}: ")
        assert says in str(caught.value), text
    with pytest.raises(BadInput, match="cannot be read"):
        load_agents_file(str(tmp_path / "none.yaml"), actor="ada")


def test_a_document_without_agents_saves_none(fresh_db: FreshDatabase) -> None:
    assert load_agents({"agents": []}, actor="ada") == []


def test_the_command_loads_lists_contains_and_releases(
    fresh_db: FreshDatabase, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "agents.yaml"
    path.write_text("agents:\n- {key: one, name: One, provider: scripted, model: m}\n")
    call_command("agents", "load", str(path))
    assert capsys.readouterr().out == "one version 1\n"
    call_command("agents", "contain", "one", "--reason", "odd")
    call_command("agents", "list")
    assert "contained by cli:" in capsys.readouterr().out
    call_command("agents", "release", "one")
    call_command("agents", "list")
    last = capsys.readouterr().out.splitlines()[-1].split()
    assert last == ["one", "1", "scripted", "m", "hold", "metadata", "enabled"]
