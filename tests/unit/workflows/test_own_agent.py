"""A step hands its work to the agent whose workflow it is: that agent's model may not, and who was handed it may not come back."""

from __future__ import annotations

from typing import Any

import pytest

from liyagent.agents.models import Agent
from liyagent.approvals.models import Approval
from liyagent.gateway.local import ToolFailed
from liyagent.gateway.models import Policy
from runs import hot
from runs.models import Run
from tests.unit.runs.carrying.conftest import World, calls, says
from tests.unit.runs.delegating.conftest import Cast, carry_all, cast, hands
from tests.unit.workflows.conftest import Works, tool

__all__ = ["cast"]

BEHIND: dict[str, Any] = {
    "id": "ask",
    "type": "agent",
    "agent": "triage",
    "task": "{{ input.task }}",
}


def falls_back(works: Works, *, tool_fails: str = "blind") -> Run:
    """A run whose first step is done and whose second fails, and asks the agent itself."""

    def fails(called: str) -> None:
        if called == tool_fails:
            raise ToolFailed("locked by change freeze")

    works.world.vendor.before_effect = fails
    return works.start(
        tool("s1", "keyed", {"n": 1}),
        tool("s2", "blind", {"n": 2}, on_error="ask", next="end"),
        BEHIND,
        given={"task": "mend it"},
    )


@pytest.mark.promise("RT-03")
@pytest.mark.parametrize("patterns", [["v/*"], ["v/*", "agents/*"]])
def test_a_step_that_fails_is_taken_over_by_the_agent_itself(
    works: Works, cast: Cast, patterns: list[str]
) -> None:
    Agent.objects.filter(key="triage").update(tool_patterns=patterns)
    cast.lists = {"triage": [calls(("v/look", {"n": 1})), says("mended")]}
    falls_back(works)
    run, child = carry_all(works.world)
    assert (run.status, run.agent_key) == ("answered", "triage")
    assert (child.status, child.agent_key, child.parent_id) == ("answered", "triage", run.id)
    assert (child.workflow, run.workflow) == ("", "work")
    assert [it.text for it in cast.asked[0].messages][-1] == "mend it"
    (ended,) = [it.content for it in works.world.events(run) if it.kind == "workflow.ended"]
    assert '"fate":"done"' in ended


@pytest.mark.promise("RT-03")
def test_who_was_handed_the_work_may_not_come_back(works: Works, cast: Cast) -> None:
    Agent.objects.filter(key="triage").update(tool_patterns=["v/*", "agents/*"])
    cast.lists = {"triage": [hands("triage"), says("then not")], "reader": [hands("triage"), says("nor I")]}  # fmt: skip
    falls_back(works)
    run, child = carry_all(works.world)
    assert (run.status, child.status) == ("answered", "answered")
    assert "agent triage is already at it" in cast.told("triage")[0]
    cast.lists["triage"] = [hands("reader"), says("read")]
    works.begin(given={"task": "again"})
    carry_all(works.world)
    assert "agent triage is already at it" in cast.told("reader")[0]


@pytest.mark.promise("RT-03")
def test_the_model_of_an_agent_hands_no_work_to_itself(world: World, cast: Cast) -> None:
    cast.lists = {"triage": [hands("triage"), says("then not")]}
    world.start()
    (run,) = carry_all(world)
    assert run.status == "answered"
    assert "would be a circle" in cast.told("triage")[0]


@pytest.mark.promise("RT-03")
def test_the_head_of_a_run_makes_it_no_workflow_s(world: World, cast: Cast) -> None:
    """What it is stands in its sealed first part: a row that somebody edited gives its model nothing."""
    cast.lists = {"triage": [hands("triage"), says("then not")]}
    run = world.start()
    world.sql("UPDATE runs_run SET workflow = 'work' WHERE id = %s", run.id)
    (run,) = carry_all(world)
    assert "would be a circle" in cast.told("triage")[0]


@pytest.mark.promise("RT-03")
@pytest.mark.promise("RT-06")
def test_of_an_agent_whose_writes_wait_the_work_is_handed_on_at_once_and_its_writes_wait(
    works: Works, cast: Cast
) -> None:
    falls_back(works, tool_fails="look")
    Agent.objects.filter(key="triage").update(write_posture="hold")
    cast.lists = {"triage": [calls(("v/blind", {"n": 7})), says("asked for")]}
    works.save(tool("s1", "look", on_error="ask", next="end"), BEHIND)
    Run.objects.all().update(status="stopped", ended_at="2026-01-01T00:00:00Z")
    works.begin(given={"task": "mend it"})
    runs = carry_all(works.world)
    assert [it.status for it in runs[1:]] == ["answered", "answered"]
    assert [it.name for it in Approval.objects.all()] == ["v/blind"]
    assert works.world.vendor.rows == []


@pytest.mark.promise("RT-03")
def test_work_is_handed_on_under_policies_that_name_tools_alone(works: Works, cast: Cast) -> None:
    Policy.objects.update(text='@id("v") permit (principal, action, resource in Server::"v");')
    cast.lists = {"triage": [says("mended")]}
    falls_back(works)
    run, child = carry_all(works.world)
    assert (run.status, child.status) == ("answered", "answered")


@pytest.mark.promise("RT-03")
def test_a_change_of_the_configuration_on_the_way_changes_nothing_of_it(
    works: Works, cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Judged again under what stands by then, it is still its workflow's step that asks."""
    whole, asked = hot.ask, list[str]()

    def changed_first(statement: str, *values: Any, **known: Any) -> Any:
        if "liyagent_delegate" in statement:
            asked.append(statement)
            if len(asked) == 1:
                works.world.sql("UPDATE agents_agent SET name = 'another' WHERE key = 'triage'")
        return whole(statement, *values, **known)

    cast.lists = {"triage": [says("mended")]}
    falls_back(works)
    monkeypatch.setattr(hot, "ask", changed_first)
    run, child = carry_all(works.world)
    assert (run.status, child.status, len(asked)) == ("answered", "answered", 2)


@pytest.mark.promise("RT-03")
def test_contained_meanwhile_nothing_is_handed_on(works: Works, cast: Cast) -> None:
    def fails(called: str) -> None:
        if called == "blind":
            works.world.sql("UPDATE agents_agent SET is_contained = true WHERE key = 'triage'")
            raise ToolFailed("locked by change freeze")

    falls_back(works)
    works.world.vendor.before_effect = fails
    (run,) = carry_all(works.world)
    assert (run.status, run.error) == ("failed", "agent.contained")
