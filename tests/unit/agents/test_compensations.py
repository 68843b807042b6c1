"""An agent's map says how its writes are undone: looked up when it is said, versioned, audited, never half written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from django.db import connection

from liyagent.agents.compensations import clean_compensations
from liyagent.agents.definitions import save_agent, save_compensations
from liyagent.agents.errors import AgentInvalid, AgentUnknown, VersionMoved
from liyagent.agents.export import export_agents
from liyagent.agents.load import load_agents_file, read_agents_file
from liyagent.agents.models import Agent, AgentVersion, ConfigVersion
from liyagent.audit.models import AuditRow
from liyagent.gateway.models import Tool, ToolServer
from runs.authority import agent_now
from sagas.declare import declare, resolve
from tests.databases import FreshDatabase
from tests.unit.agents.undoing import AGENT, KEY, MAP, UNDO, a_catalogue

CREATE = '$.compensations["jira/create_issue"]'


@pytest.fixture(autouse=True)
def catalogue(fresh_db: FreshDatabase) -> None:
    a_catalogue()


def save(**fields: Any) -> Agent:
    return save_agent({**AGENT, **fields}, actor="ada")


def errors_of(compensations: Any, **fields: Any) -> dict[str, str]:
    """What is said of a map by its JSON path, and that nothing was kept."""
    with pytest.raises(AgentInvalid) as raised:
        save(compensations=compensations, **fields)
    assert not Agent.objects.exists()
    return {it["field"]: it["detail"] for it in raised.value.errors}


@pytest.mark.promise("SG-02")
def test_the_map_is_part_of_the_agent_its_version_and_what_runs_go_by() -> None:
    save(compensations=MAP)
    assert Agent.objects.get().compensations == MAP
    assert AgentVersion.objects.get().definition["compensations"] == MAP
    now = agent_now("triage", config=ConfigVersion.objects.get().version)
    assert now is not None
    undo = declare(now.compensations["jira/create_issue"], server="jira", own="result", scope={"args": {}})  # fmt: skip
    sent = resolve(undo, {"key": "OPS-7"})
    assert (sent.server, sent.tool, sent.args) == ("jira", "delete_issue", {"key": "OPS-7"})


@pytest.mark.promise("SG-02")
def test_setting_the_map_is_a_version_and_is_audited_with_what_it_was_and_is() -> None:
    save(compensations={**MAP, "mail/send": {"tool": "unsend"}}, max_steps=7)
    config = ConfigVersion.objects.get().version
    softer = {**UNDO, "args": {**KEY, "mode": "soft"}}
    saved = save_compensations(
        "triage", {"jira/create_issue": softer, "mail/send": {"tool": "unsend"}}, expected_version=1, actor="bo"
    )  # fmt: skip
    assert (saved.version, saved.max_steps) == (2, 7)
    assert ConfigVersion.objects.get().version > config
    row = AuditRow.objects.filter(action="agent.compensations.changed").order_by("-id")[0]
    assert row.actor == "bo"
    assert row.detail == {
        "agent": "triage",
        "version": 2,
        "before": {"jira/create_issue": UNDO},
        "after": {"jira/create_issue": softer},
    }
    count = AuditRow.objects.count()
    assert save_compensations("triage", saved.compensations, expected_version=None, actor="bo").version == 2  # fmt: skip
    assert AuditRow.objects.count() == count
    with pytest.raises(VersionMoved):
        save_compensations("triage", {}, expected_version=1, actor="bo")
    with pytest.raises(AgentUnknown):
        save_compensations("nobody", {}, expected_version=None, actor="bo")


@pytest.mark.parametrize(
    ("compensations", "path", "said"),
    [
        ([], "compensations", "wants an object of at most 200 tools"),
        ({"create_issue": UNDO}, "$.compensations.create_issue", "it wants server/name"),
        ({"jira/create_issue": "delete"}, CREATE, "the undo is str; an object with tool and args"),
        ({"jira/create_issue": {**UNDO, "arg": 1}}, CREATE, "the undo has 'arg'; it takes tool, server, args"),
        ({"jira/create_issue": {"args": {}}}, CREATE, "tool of the undo wants text"),
        ({"jira/create_issue": {**UNDO, "args": []}}, f"{CREATE}.args", "is list; an object"),
        ({"jira/create_issue": {**UNDO, "args": {"key": ["{{ input.key }}"]}}}, f"{CREATE}.args.key[0]", "'input.key' reads 'input'; what an undo reads are args and result"),
        ({"jira/create_issue": {**UNDO, "args": {"key": "{{ result.key }"}}}, f"{CREATE}.args.key", "does not close it"),
        ({"jira/create_issue": {**UNDO, "args": {"a b": {"$expr": "x..y"}}}}, f'{CREATE}.args["a b"]', "no dotted path"),
        ({"jira/close": UNDO}, '$.compensations["jira/close"]', "is jira/close: there is no such tool; server jira has create_issue, delete_issue"),
        ({"gira/create": UNDO}, '$.compensations["gira/create"]', "no such tool; the servers are jira, mail"),
        ({"jira/search": UNDO}, '$.compensations["jira/search"]', "is a read by its contract"),
        ({"mail/shred": {"tool": "unsend"}}, '$.compensations["mail/shred"]', "which the agent may not use; its tools are jira/*, mail/send, mail/unsend"),
        ({"agents/disk": UNDO}, '$.compensations["agents/disk"]', "whose own map undoes what it writes"),
        ({"jira/create_issue": {**UNDO, "tool": "delete_isue"}}, f"{CREATE}.tool", "is jira/delete_isue: there is no such tool; server jira has among others delete_issue"),
        ({"jira/create_issue": {**UNDO, "tool": "search"}}, f"{CREATE}.tool", "is jira/search, which is a read"),
        ({"jira/create_issue": {"tool": "mail/shred"}}, f"{CREATE}.tool", "which the agent may not use"),
        ({"jira/create_issue": {"tool": "shred", "server": "mail"}}, f"{CREATE}.tool", "is mail/shred, which the agent may not use"),
        ({"jira/create_issue": {"tool": "agents/disk"}}, f"{CREATE}.tool", "work handed to an agent"),
        ({"jira/create_issue": {"tool": "delete_issue"}}, f"{CREATE}.args", "has no 'key', which jira/delete_issue wants"),
        ({"jira/create_issue": {**UNDO, "args": {**KEY, "kye": 1}}}, f"{CREATE}.args.kye", "is no argument of jira/delete_issue, which takes depth, key, mode"),
        ({"jira/create_issue": {**UNDO, "args": {**KEY, "mode": "gone"}}}, f"{CREATE}.args.mode", "does not fit jira/delete_issue: 'gone' is not one of"),
        ({"jira/create_issue": {**UNDO, "args": {**KEY, "depth": "3"}}}, f"{CREATE}.args.depth", "is not of type 'integer'"),
        ({"mail/send": {"tool": "unsend", "args": {"step_key": "x"}}}, '$.compensations["mail/send"].args.step_key', "where mail/unsend takes the step key"),
    ],
)  # fmt: skip
@pytest.mark.promise("SG-02")
def test_a_map_that_cannot_work_is_refused_with_its_path(
    compensations: Any, path: str, said: str
) -> None:
    errors = errors_of(compensations)
    assert said in errors.get(path, ""), errors


def test_every_problem_is_told_at_once() -> None:
    undos = {"jira/create_issue": {**UNDO, "args": {"kye": 1}}, "mail/send": {"tool": "gone"}}
    assert sorted(errors_of(undos)) == [f"{CREATE}.args", f"{CREATE}.args.kye", '$.compensations["mail/send"].tool']  # fmt: skip


def test_what_a_template_alone_can_tell_is_left_to_the_call() -> None:
    whole = {"tool": "delete_issue", "args": {"$expr": "result.undo"}}
    told = {"tool": "delete_issue", "args": {**KEY, "depth": "{{ result.depth }}"}}
    assert save(compensations={"jira/create_issue": whole}).version == 1
    assert save(compensations={"jira/create_issue": told}).version == 2
    Tool.objects.filter(name="delete_issue").update(schema={"type": "object", "properties": {"key": {}}, "additionalProperties": True})  # fmt: skip
    assert save(compensations={"jira/create_issue": {**UNDO, "args": {"more": 1}}}).version == 3


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({"is_offered": False}, "which its server does not offer any more"),
        (
            {"schema": {"properties": {"key": {"type": 7}}}},
            "the schema of this tool cannot be read",
        ),
    ],
)
def test_a_tool_that_cannot_be_called_is_no_undo(columns: dict[str, Any], said: str) -> None:
    literal = {**UNDO, "args": {"key": "OPS-1"}}
    Tool.objects.filter(name="delete_issue").update(**columns)
    assert said in "".join(errors_of({"jira/create_issue": literal}).values())


def test_a_tool_that_is_gone_keeps_nobody_from_saving_something_else() -> None:
    save(compensations=MAP)
    Tool.objects.filter(name="delete_issue").update(is_offered=False)
    assert save(compensations=MAP, write_posture="refuse").version == 2
    assert ToolServer.objects.filter(key="jira").update(is_enabled=False)
    assert save(compensations=MAP, write_posture="allow").version == 3
    with pytest.raises(AgentInvalid, match="whose server is switched off"):
        save_compensations("triage", MAP, expected_version=None, actor="ada")
    with pytest.raises(AgentInvalid, match="the agent may not use"):
        save(compensations=MAP, tool_patterns=["jira/create_issue"])
    assert Agent.objects.get().version == 3
    assert save(tool_patterns=["jira/create_issue"]).compensations == {}


def test_a_file_has_the_map_and_is_told_line_and_path(tmp_path: Path) -> None:
    save(compensations=MAP)
    path = tmp_path / "agents.yaml"
    path.write_text(export_agents())
    assert yaml.safe_load(path.read_text())["agents"][0]["compensations"] == MAP
    assert [it.version for it in load_agents_file(str(path), actor="ada")] == [1]
    Agent.objects.all().delete()
    assert load_agents_file(str(path), actor="ada")[0].compensations == MAP
    path.write_text(path.read_text().replace("key: '{{ result.key }}'", "kye: '{{ result.key }}'"))
    Agent.objects.all().delete()
    _, told = read_agents_file(path)
    lines = path.read_text().splitlines()
    line = next(number for number, it in enumerate(lines, 1) if "kye:" in it)
    assert f'line {line}: agents[0].compensations["jira/create_issue"].args.kye is no argument of jira/delete_issue, which takes depth, key, mode' in told  # fmt: skip


def test_a_map_has_its_bounds() -> None:
    many = {f"jira/t{number}": UNDO for number in range(201)}
    large = {"jira/create_issue": {**UNDO, "args": {"key": "x" * (64 << 10)}}}
    for value, said in ((many, "at most 200 tools"), (large, "larger than 65536 bytes")):
        with pytest.raises(ValueError, match=said):
            clean_compensations(value)


def test_a_release_that_knows_of_no_map_saves_agents_too() -> None:
    save()
    columns = ", ".join(
        it.column for it in Agent._meta.concrete_fields if it.column not in ("id", "key", "compensations")
    )  # fmt: skip
    with connection.cursor() as cursor:
        cursor.execute(
            f"INSERT INTO agents_agent (key, {columns}) SELECT 'old', {columns} FROM agents_agent"
        )
    assert Agent.objects.get(key="old").compensations == {}
