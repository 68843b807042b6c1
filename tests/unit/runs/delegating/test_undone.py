"""What a family did is undone with its root: each write as its own agent, through that agent's gates (SG-05)."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection

from liyagent.agents.models import Agent
from liyagent.approvals.models import Approval, ApprovalStatus
from runs import hot
from runs.models import Run
from sagas.models import Saga, Undo
from tests.unit.approvals.deciding import decided, let_decide
from tests.unit.runs.carrying.conftest import World, calls, says
from tests.unit.runs.delegating.conftest import Cast, carry_all, hands, works

OWN = {"v/keyed": {"tool": "blind", "args": {"undo_of": "{{ result.id }}", "by": "{{ args.by }}"}}}


@pytest.fixture
def family(world: World, cast: Cast) -> World:
    """`triage` writes, hands work to `fixer`, who writes too, and then fails."""
    Agent.objects.update(compensations=OWN)
    cast.lists["triage"] = [calls(("v/keyed", {"by": "triage"})), hands("fixer"), says("")]
    cast.lists["fixer"] = works("fixer")
    return world


def fates(run: Run) -> list[tuple[str, str]]:
    found = Undo.objects.filter(saga_id=run.id).order_by("-order")
    return [(it.agent_key, it.fate) for it in found]


@pytest.mark.promise("SG-02")
@pytest.mark.promise("SG-05")
def test_a_sub_agents_writes_are_undone_with_its_roots_the_newest_first(family: World) -> None:
    run = family.start()
    carry_all(family)
    assert Saga.objects.get().id == run.id
    assert fates(run) == [("fixer", "done"), ("triage", "done")]
    assert [it["by"] for it in family.vendor.of("blind")] == ["fixer", "triage"]
    assert Saga.objects.get().status == "compensated"


def test_a_sub_agents_failure_that_its_parent_takes_is_none(family: World, cast: Cast) -> None:
    cast.lists["fixer"] = [calls(("v/keyed", {"by": "fixer"})), says("")]
    cast.lists["triage"] = [hands("fixer"), says("so be it")]
    run = family.start()
    carry_all(family)
    assert Run.objects.get(id=run.id).status == "answered"
    assert (Saga.objects.get().status, fates(run)) == ("closed", [("fixer", "owed")])


@pytest.mark.parametrize(
    ("change", "fate"),
    [
        ({"tool_patterns": ["v/keyed"]}, "failed"),
        ({"is_contained": True}, "failed"),
        ({"write_posture": "hold"}, "held"),
    ],
)
def test_each_undo_passes_the_gates_of_the_agent_that_wrote(
    family: World, change: dict[str, Any], fate: str
) -> None:
    run = family.start()
    while not Saga.objects.filter(status="compensating").exists():
        process = family.process()
        for taken in process.take():
            process.go_on(*taken)
    Agent.objects.filter(key="fixer").update(**change)
    carry_all(family, name="late")
    assert fates(run) == [("fixer", fate), ("triage", "done")]
    assert [it["by"] for it in family.vendor.of("blind")] == ["triage"]


def test_a_held_undo_of_a_sub_agent_is_made_as_that_agent_once_it_is_approved(
    family: World,
) -> None:
    let_decide("olga")
    run = family.start()
    while not Saga.objects.filter(status="compensating").exists():
        process = family.process()
        for taken in process.take():
            process.go_on(*taken)
    Agent.objects.filter(key="fixer").update(write_posture="hold")
    carry_all(family, name="late")
    request = Approval.objects.get(kind="call")
    assert request.agent_key == "fixer"
    decided(request, ApprovalStatus.APPROVED)
    carry_all(family, name="approved")
    assert fates(run) == [("fixer", "done"), ("triage", "done")]
    assert Saga.objects.get().status == "compensated"
    assert Undo.objects.count() == 2


def test_what_the_writers_agent_may_not_do_any_more_is_not_sent_although_its_root_may(
    family: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is contained when its undo was judged, and is about to be marked."""
    run = family.start()
    while not Saga.objects.filter(status="compensating").exists():
        process = family.process()
        for taken in process.take():
            process.go_on(*taken)

    marks = hot.write_mark

    def contained_first(*facts: Any, **known: Any) -> Any:
        Agent.objects.filter(key="fixer").update(is_contained=True)
        family.sql("UPDATE agents_configversion SET version = version + 1")
        connection.close()
        return marks(*facts, **known)

    monkeypatch.setattr(hot, "write_mark", contained_first)
    carry_all(family, name="late")
    assert fates(run) == [("fixer", "failed"), ("triage", "done")]
    assert [it["by"] for it in family.vendor.of("blind")] == ["triage"]
