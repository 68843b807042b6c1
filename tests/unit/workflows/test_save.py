"""Workflows are saved version by version, and nothing is saved that could not be carried."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import pytest
from django.db import connections

from liyagent.agents.models import Agent, ConfigVersion
from liyagent.audit.models import AuditRow
from liyagent.core.canonical import digest
from liyagent.gateway.models import Tool, ToolServer
from liyagent.workflows.errors import DefinitionWrong, VersionMoved, WorkflowTaken
from liyagent.workflows.models import Workflow, WorkflowVersion
from liyagent.workflows.save import save_all, save_given, save_workflow
from tests.databases import FreshDatabase
from tests.unit.workflows.desk import CHANGE, DEFINITION, ISSUE, definition, furnish, given


@pytest.fixture
def desk(fresh_db: FreshDatabase) -> None:
    """The agents and tools that definitions name."""
    furnish()


def save(**changes: Any) -> Workflow:
    return save_given(given(**changes), actor="ann")


def test_each_change_is_a_version_that_stays_and_no_change_is_none(desk: None) -> None:
    first = save_workflow(
        key="outage", name="Outage", agent_key="desk", definition=DEFINITION, actor="ann"
    )
    config = ConfigVersion.objects.get().version
    assert (first.version, first.digest) == (1, digest(DEFINITION))
    assert save().version == 1
    assert save(definition=definition(retry={"times": 2})).version == 2
    assert save(is_enabled=False).version == 3
    kept = WorkflowVersion.objects.filter(workflow=first).order_by("number")
    assert [(it.number, it.agent_key, it.created_by) for it in kept] == [
        (1, "desk", "ann"),
        (2, "desk", "ann"),
        (3, "desk", "ann"),
    ]
    assert [it.definition for it in kept] == [
        DEFINITION,
        definition(retry={"times": 2}),
        DEFINITION,
    ]
    assert [it.digest == digest(it.definition) for it in kept] == [True] * 3
    # Runs carry what they were started with: no process has to read its configuration anew.
    assert ConfigVersion.objects.get().version == config


def test_what_was_changed_is_audited_with_before_and_after(desk: None) -> None:
    save()
    save(name="Outage at night", definition=definition(retry={"times": 1}))
    made, changed = AuditRow.objects.filter(action="workflow.saved").order_by("id")
    assert (made.actor, made.agent, made.detail["before"]) == ("ann", "desk", {})
    assert changed.detail["changed"] == ["digest", "name"]
    assert changed.detail["before"] == made.detail["after"]
    assert changed.detail["after"]["name"] == "Outage at night"


def test_who_expects_another_version_is_told(desk: None) -> None:
    with pytest.raises(VersionMoved, match="there is no workflow outage; version 1 was expected"):
        save_given(given(), actor="ann", expected_version=1)
    assert not Workflow.objects.exists()
    save()
    with pytest.raises(VersionMoved, match="outage is at version 1; 2 was expected"):
        save_given(given(name="x"), actor="bob", expected_version=2)
    with pytest.raises(WorkflowTaken, match="outage already, at version 1"):
        save_given(given(name="x"), actor="bob", expected_version=0)
    assert save_given(given(name="x"), actor="bob", expected_version=1).version == 2


def told(**changes: Any) -> list[tuple[str, str]]:
    with pytest.raises(DefinitionWrong) as refused:
        save(**changes)
    assert not Workflow.objects.exists()
    assert not AuditRow.objects.filter(action="workflow.saved").exists()
    return [(it["field"], it["detail"]) for it in refused.value.errors]


@pytest.mark.parametrize(
    ("changes", "path", "said"),
    [
        ({"key": "a b"}, "key", "1 to 80 letters"),
        ({"key": "schema"}, "key", "none of schema, validate"),
        ({"name": ""}, "name", "is ''; it wants text of 1 to 200"),
        ({"agent": "nobody"}, "agent", "there is no agent of this key"),
        ({"agent": 7}, "agent", "is 7; it wants the key of an agent"),
        ({"is_enabled": "yes"}, "is_enabled", "it wants true or false"),
        ({"nam": "x"}, "nam", "is not known here"),
        ({"definition": []}, "$", "is a list of 0; it wants an object"),
        ({"definition": definition(server="jria")}, "$.steps[0].server", "no such tool server; there are: jira, pager, servicenow"),
        ({"definition": definition(tool="create_isue")}, "$.steps[0].tool", "server jira has no such tool; it has: create_issue"),
        ({"definition": definition(compensate={"tool": "remove"})}, "$.steps[0].compensate.tool", "server jira has no such tool"),
        ({"definition": definition(compensate={"tool": "page", "server": "paper"})}, "$.steps[0].compensate.server", "no such tool server"),
        ({"definition": definition(server="agents", tool="scout")}, "$.steps[0].server", "a step of type agent"),
        ({"definition": {"steps": [{"id": "a", "type": "agent", "agent": "nobody", "task": "look"}]}}, "$.steps[0].agent", "there is no agent of this key"),
        ({"definition": {"steps": [{"id": "p", "type": "parallel", "branches": {"b": [{**ISSUE, "tool": "x"}]}}]}}, "$.steps[0].branches.b[0].tool", "has no such tool"),
    ],
)  # fmt: skip
def test_what_names_something_that_is_not_there_is_refused_with_its_path(
    desk: None, changes: dict[str, Any], path: str, said: str
) -> None:
    ((found, why),) = told(**changes)
    assert found == path
    assert said in why


@pytest.mark.parametrize(
    ("changes", "path", "said"),
    [
        ({"args": {"sumary": "x"}}, "$.steps[0].args.sumary", "is no argument of jira/create_issue, which takes labels, summary"),
        ({"args": {}}, "$.steps[0].args", "has no 'summary'"),
        ({"args": {"summary": 7}}, "$.steps[0].args.summary", "does not fit jira/create_issue"),
        ({"compensate": {"tool": "delete_issue", "args": {"isue": "{{ steps.issue.output.key }}"}}}, "$.steps[0].compensate.args.isue", "is no argument of jira/delete_issue"),
        ({"compensate": {"tool": "delete_issue"}}, "$.steps[0].compensate.args", "has no 'issue_key'"),
    ],
)  # fmt: skip
def test_arguments_that_their_tool_does_not_take_are_refused_with_their_path(
    desk: None, changes: dict[str, Any], path: str, said: str
) -> None:
    text = {"type": "string"}
    takes = {
        "create_issue": {"summary": text, "labels": {"type": "array"}},
        "delete_issue": {"issue_key": text},
    }
    for name, properties in takes.items():
        schema = {"type": "object", "properties": properties, "required": [*properties][:1]}
        Tool.objects.filter(name=name).update(schema=schema)
    found, why = told(definition=definition(**changes))[0]
    assert found == path
    assert said in why
    save_given(given(), actor="olga")


def test_a_tool_that_the_agent_may_not_use_is_refused_with_its_path(desk: None) -> None:
    Agent.objects.filter(key="desk").update(tool_patterns=["jira/create_*", "servicenow/*"])
    assert told(definition={"steps": [ISSUE, CHANGE]}) == [
        ("$.steps[0].compensate.tool", "is jira/delete_issue, which agent desk may not use; its tools are jira/create_*, servicenow/*")
    ]  # fmt: skip
    asks = {"steps": [{"id": "a", "type": "agent", "agent": "scout", "task": "look"}]}
    ((path, said),) = told(definition=asks)
    assert (path, said[:48]) == (
        "$.steps[0].agent",
        "is agents/scout, which agent desk may not use; i",
    )


def test_a_tool_that_is_offered_no_more_and_a_server_that_is_switched_off_are_refused(
    desk: None,
) -> None:
    Tool.objects.filter(name="page").update(is_offered=False)
    ToolServer.objects.filter(key="servicenow").update(is_enabled=False)
    assert told() == [
        ("$.steps[1].server", "is 'servicenow', which is switched off"),
        ("$.steps[2].tool", "is 'page', which server pager does not offer any more"),
    ]


@pytest.mark.promise("RT-03")
def test_whatever_became_of_what_it_names_it_is_switched_off_as_it_stands(desk: None) -> None:
    """A workflow whose tool is gone is the one that has to be switched off."""
    first = save_given(given(), actor="olga")
    Tool.objects.all().update(is_offered=False)
    off = save_given(given(is_enabled=False), actor="olga", expected_version=first.version)
    assert (off.is_enabled, off.digest) == (False, first.digest)
    with pytest.raises(DefinitionWrong, match="does not offer any more"):
        save_given(given(), actor="olga")
    other = {**first.definition, "max_steps": 9}
    with pytest.raises(DefinitionWrong, match="does not offer any more"):
        save_given(given(is_enabled=False, definition=other), actor="olga")
    with pytest.raises(DefinitionWrong, match="does not offer any more"):
        save_given(given(is_enabled=False, key="another"), actor="olga")


def test_several_are_saved_or_none(desk: None) -> None:
    with pytest.raises(DefinitionWrong):
        save_all([given(), given(key="other", agent="nobody")], actor="ann")
    assert not Workflow.objects.exists()
    assert [it.key for it in save_all([given(), given(key="other")], actor="ann")] == ["outage", "other"]  # fmt: skip


def test_of_two_that_save_at_once_each_gets_a_version_of_its_own(desk: None) -> None:
    save()
    barrier = Barrier(2)

    def saved(name: str) -> int:
        barrier.wait(timeout=10)
        try:
            return save(name=name).version
        finally:
            connections.close_all()

    with ThreadPoolExecutor(2) as pool:
        assert sorted(pool.map(saved, ["By one", "By another"])) == [2, 3]
    assert list(WorkflowVersion.objects.order_by("number").values_list("number", flat=True)) == [1, 2, 3]  # fmt: skip


@pytest.mark.promise("RT-03")
def test_a_step_asks_the_agent_whose_workflow_it_is_without_a_pattern(desk: None) -> None:
    asks = {"steps": [{"id": "a", "type": "agent", "agent": "desk", "task": "look"}]}
    assert save_given(given(definition=asks), actor="ann").definition == asks
