"""What a routine does where its world goes wrong: tools, policies and rows that are others than they were."""

from __future__ import annotations

import json
from typing import Any

import pytest

from liyagent.approvals.decide import find_approval, withdraw
from liyagent.approvals.models import Approval
from liyagent.approvals.told import told_of
from liyagent.gateway.models import DataPolicy, Tool
from liyagent.workflows.models import Workflow
from routines.adopt import adopt_routine
from routines.models import Routine
from routines.page import request_of
from routines.refusals import RoutineFiled, RoutineMoved, RoutineStale, RoutineUnfit
from routines.suspend import suspend_if_it_falls_back
from tests.unit.routines.conftest import Mine, closed
from tests.unit.routines.stored import store
from tests.unit.routines.test_admin import LIST, at, logged_in
from tests.unit.routines.test_adopt import approve, now
from tests.unit.routines.test_standing import adopted, goes
from tests.unit.runs.carrying.conftest import World, world

__all__ = ["world"]


@pytest.mark.promise("RT-05")
def test_a_request_is_not_about_a_routine_that_is_not_offered_any_more(world: World) -> None:
    """A mining that withholds what is filed leaves it without a digest: no request names that."""
    routine = store()
    approval = adopt_routine(routine_id=routine.id, actor="anna").approval
    Routine.objects.update(definition={}, digest="", withheld="a data policy cannot be read")
    assert request_of(now(routine))["is_as_asked"] is False
    assert told_of(approval.id, with_words=False)["routine"]["is_as_asked"] is False
    with pytest.raises(RoutineFiled, match="about what it was before"):
        adopt_routine(routine_id=routine.id, actor="anna")
    with pytest.raises(RoutineMoved):
        approve(approval)


@pytest.mark.promise("RT-03")
@pytest.mark.promise("RT-07")
@pytest.mark.parametrize("change", [{"is_offered": False}, {"schema": {"type": "object", "additionalProperties": False}}], ids=["tool gone", "tool changed"])  # fmt: skip
def test_one_whose_world_no_longer_takes_its_definition_is_suspended(world: World, change: dict[str, Any]) -> None:  # fmt: skip
    """What is gone is why its steps fail: it must not keep the routine switched on."""
    routine = adopted(world)
    for _ in range(10):
        goes(world, routine, asks=True)
    Tool.objects.filter(name="keyed").update(**change)
    assert suspend_if_it_falls_back(routine.id)
    assert (now(routine).state, Workflow.objects.get().is_enabled) == ("suspended", False)


@pytest.mark.promise("RT-05")
def test_looked_through_again_without_a_newer_run_a_stale_one_stays_stale(mine: Mine) -> None:
    """Its runs met the tool as it was: only one that met the tool as it is now tells anything of it."""
    mine.past(map(closed, range(4)))
    mine.mine()
    routine = mine.only()
    approval = adopt_routine(routine_id=routine.id, actor="anna").approval
    Tool.objects.filter(name="close").update(description="closes, and deletes", effect="write")
    mine.mine()
    with pytest.raises(RoutineStale, match="crm/close"):
        approve(approval)
    assert find_approval(approval.id).status == "pending"
    assert mine.only().state == "filed"
    mine.past([closed(9)])
    mine.mine()
    with pytest.raises(RoutineStale, match="crm/close"):
        approve(Approval.objects.get(id=approval.id))
    withdraw(approval_id=approval.id, actor="anna", reason="look again", may_decide=False)
    approve(adopt_routine(routine_id=routine.id, actor="anna").approval)
    assert now(routine).state == "adopted"


@pytest.mark.promise("RT-05")
def test_looked_through_again_a_stale_one_is_not_asked_about(mine: Mine) -> None:
    mine.past(map(closed, range(4)))
    mine.mine()
    Tool.objects.filter(name="close").update(description="closes, and deletes")
    mine.mine()
    with pytest.raises(RoutineStale, match="mined again, once one met it as it is now"):
        adopt_routine(routine_id=mine.only().id, actor="anna")


@pytest.mark.promise("RT-05")
@pytest.mark.field("FL-94")
def test_a_request_outlives_runs_that_say_nothing_new(mine: Mine) -> None:
    mine.past(map(closed, range(4)))
    mine.mine()
    routine = mine.only()
    approval = adopt_routine(routine_id=routine.id, actor="anna").approval
    mine.past(map(closed, range(10, 15)))
    mine.mine()
    assert (mine.only().support, mine.only().digest) == (9, routine.digest)
    assert mine.audit("changed") == []
    approve(approval)
    assert now(routine).state == "adopted"


BAD: tuple[Any, ...] = (None, 1, "x", [], {}, [1], {"a": 1}, ["x"], [{}], [[]], {"steps": [1]}, {"steps": [{"id": "s1", "type": "tool"}]}, {"runs": None, "mismatches": [1]})  # fmt: skip


@pytest.mark.parametrize("column", ["tools", "definition", "parameters", "origins", "as_parameters", "runs", "score", "tools_seen", "baseline"])  # fmt: skip
def test_a_row_that_somebody_wrote_by_hand_breaks_no_list_and_no_page(world: World, column: str) -> None:  # fmt: skip
    root, routine = logged_in(is_root=True), store()
    asked = adopt_routine(routine_id=routine.id, actor="anna").approval.id
    other = store(pattern="f" * 64)
    for bad in BAD:
        world.sql(f"UPDATE routines_routine SET {column} = %s::jsonb WHERE id = %s", json.dumps(bad), routine.id)  # fmt: skip
        for path in (LIST, "/api/agents/triage/routines"):
            answer = root.get(path)
            assert (answer.status_code, str(other.id) in answer.content.decode()) == (200, True)
        for path in (at(routine), at(routine, "adopt"), at(routine, "dismiss"), f"/admin/approvals/approval/{asked}/change/", f"/api/routines/{routine.id}", f"/api/approvals/{asked}"):  # fmt: skip
            assert root.get(path).status_code == 200, (path, bad)


@pytest.mark.promise("RT-05")
@pytest.mark.field("FL-93")
def test_a_literal_that_a_data_policy_covers_since_is_neither_asked_about_nor_saved(mine: Mine) -> None:  # fmt: skip
    mine.past(closed(it, queue="Anna Schmidt") for it in range(4))
    mine.mine()
    routine = mine.only()
    # What only covers where a value is read from is no reason.
    DataPolicy.objects.create(name="paths", kind="regex", regex="steps|input", action="mask")
    approval = adopt_routine(routine_id=routine.id, actor="anna").approval
    DataPolicy.objects.create(name="names", kind="regex", regex="Anna [A-Z]", tools="crm/*", action="deny")  # fmt: skip
    with pytest.raises(RoutineUnfit, match="a data policy covers what is given to s2; have the runs of agent triage mined again"):  # fmt: skip
        approve(approval)
    assert not Workflow.objects.exists()
    mine.mine()
    assert "Anna" not in str(mine.only().definition)
    withdraw(approval_id=approval.id, actor="anna", reason="look again", may_decide=False)
    approve(adopt_routine(routine_id=routine.id, actor="anna").approval)
    Routine.objects.update(state="suggested", definition=routine.definition, digest=routine.digest)
    with pytest.raises(RoutineUnfit, match="data policy"):
        adopt_routine(routine_id=routine.id, actor="anna")
