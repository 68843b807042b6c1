"""A person turns a literal into a parameter: another digest, nothing else changed, and kept by every mining to come."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from liyagent.approvals.decide import withdraw
from routines.adopt import adopt_routine
from routines.dismiss import dismiss_routine
from routines.errors import RoutineUnknown
from routines.make_parameter import literals_of, make_parameter
from routines.models import Routine
from routines.refusals import (
    NameUnfit,
    PlaceUnknown,
    RoutineAdopted,
    RoutineDismissed,
    RoutineFiled,
    RoutineMoved,
    RoutineWithheld,
)
from tests.unit.routines.conftest import Mine, closed
from tests.unit.routines.test_adopt import approve

PLACE = "/s2/queue"


@pytest.fixture
def routine(mine: Mine) -> Routine:
    """Three runs that closed what somebody had in the same queue, mined."""
    mine.past(closed(it) for it in range(3))
    mine.mine()
    return mine.only()


def args_of(routine: Routine) -> dict[str, Any]:
    (step,) = [it for it in routine.definition["steps"] if it["id"] == "s2"]
    found: dict[str, Any] = step["args"]
    return found


@pytest.mark.promise("RT-02")
@pytest.mark.promise("RT-07")
def test_a_literal_becomes_a_parameter_under_a_digest_of_its_own(mine: Mine, routine: Routine) -> None:  # fmt: skip
    assert [it["place"] for it in literals_of(routine)] == [PLACE]
    assert args_of(routine)["queue"] == "desk"
    made = make_parameter(routine_id=routine.id, place=PLACE, name="desk", actor="anna")
    assert args_of(made)["queue"] == {"$expr": "input.desk"}
    assert args_of(made)["id"] == args_of(routine)["id"]
    assert made.digest != routine.digest
    assert {it["name"] for it in made.parameters} == {"desk", *(it["name"] for it in routine.parameters)}  # fmt: skip
    assert made.definition["input"]["properties"]["desk"]["type"] == "string"
    assert made.as_parameters == [{"place": PLACE, "name": "desk"}]
    assert (made.score["runs_matched"], made.runs, made.state) == (3, routine.runs, "suggested")
    (told,) = mine.audit("changed")
    assert (told["digest"], told["digest_before"], told["place"]) == (made.digest, routine.digest, PLACE)  # fmt: skip
    assert approve(adopt_routine(routine_id=routine.id, actor="anna").approval).status == "consumed"


@pytest.mark.promise("RT-02")
def test_mined_again_it_stays_one_and_the_digest_with_it(mine: Mine, routine: Routine) -> None:
    made = make_parameter(routine_id=routine.id, place=PLACE, actor="anna")
    assert args_of(made)["queue"] == {"$expr": "input.queue"}
    mine.mine()
    assert (mine.only().digest, mine.only().as_parameters) == (made.digest, made.as_parameters)
    mine.past([closed(7)])
    mine.mine()
    assert (mine.only().support, args_of(mine.only())["queue"]) == (4, {"$expr": "input.queue"})


@pytest.mark.parametrize(
    ("place", "said"),
    [
        ("/s2/id", "is no literal: it is an expression already"),
        ("/s1/who", "is no literal: it is a parameter already"),
        ("/s9/x", "it has literals at /s2/queue"),
        ("", "it has literals at /s2/queue"),
    ],
)
def test_what_is_no_literal_is_refused(routine: Routine, place: str, said: str) -> None:
    with pytest.raises(PlaceUnknown, match=said):
        make_parameter(routine_id=routine.id, place=place, actor="anna")
    assert Routine.objects.get().digest == routine.digest


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("task", "which another parameter has"),
        ("who", "which another parameter has"),
        ("a b", "such as a_b"),
        ("9", "such as _9"),
        ("ß", "such as kind"),
        ("x" * 200, "it wants a few letters"),
    ],
)
def test_a_name_that_cannot_be_one_is_refused(routine: Routine, name: str, said: str) -> None:
    assert "who" in {it["name"] for it in routine.parameters}
    with pytest.raises(NameUnfit, match=said):
        make_parameter(routine_id=routine.id, place=PLACE, name=name, actor="anna")
    assert Routine.objects.get().as_parameters == []


def test_while_it_is_asked_about_adopted_or_dismissed_it_stays_as_it_is(routine: Routine) -> None:
    approval = adopt_routine(routine_id=routine.id, actor="anna").approval
    with pytest.raises(RoutineFiled, match=f"request {approval.id} is open"):
        make_parameter(routine_id=routine.id, place=PLACE, actor="anna")
    approve(approval)
    with pytest.raises(RoutineAdopted):
        make_parameter(routine_id=routine.id, place=PLACE, actor="anna")


def test_what_is_dismissed_not_offered_moved_or_not_there_is_refused(routine: Routine) -> None:
    with pytest.raises(RoutineMoved, match="by now"):
        make_parameter(routine_id=routine.id, place=PLACE, digest="0" * 64, actor="anna")
    with pytest.raises(RoutineUnknown):
        make_parameter(routine_id=UUID(int=7), place=PLACE, actor="anna")
    Routine.objects.update(withheld="a password")
    with pytest.raises(RoutineWithheld, match="a password"):
        make_parameter(routine_id=routine.id, place=PLACE, actor="anna")
    Routine.objects.update(withheld="")
    dismiss_routine(routine_id=routine.id, actor="anna")
    with pytest.raises(RoutineDismissed):
        make_parameter(routine_id=routine.id, place=PLACE, actor="anna")


def test_what_its_runs_do_not_come_to_any_more_is_not_compiled_over(routine: Routine) -> None:
    Routine.objects.update(digest="0" * 64)
    with pytest.raises(RoutineMoved, match="does not come to it any more"):
        make_parameter(routine_id=routine.id, place=PLACE, actor="anna")
    Routine.objects.update(runs=[str(UUID(int=7))])
    with pytest.raises(RoutineMoved, match="none of its runs can be read"):
        make_parameter(routine_id=routine.id, place=PLACE, actor="anna")


@pytest.mark.promise("RT-05")
def test_a_request_about_the_literal_is_never_one_about_the_parameter(routine: Routine) -> None:
    first = adopt_routine(routine_id=routine.id, actor="anna").approval
    withdraw(approval_id=first.id, actor="anna", reason="a parameter", may_decide=False)
    made = make_parameter(routine_id=routine.id, place=PLACE, actor="anna")
    second = adopt_routine(routine_id=routine.id, actor="anna").approval
    assert first.digest != second.digest
    assert made.digest in second.held_reason
