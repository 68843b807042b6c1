"""A run that another handed work to stands in its root's chain: its own events of it, and one verdict for all (ruling 25)."""

from __future__ import annotations

from typing import Any

import pytest

from runs.models import Run
from tests.flows.conftest import READER, api_of, make_user
from tests.unit.runs.carrying.conftest import World, calls, says
from tests.unit.runs.delegating.conftest import Cast, carry_all, cast, hands

__all__ = ["cast"]


@pytest.fixture
def family(world: World, cast: Cast) -> tuple[Run, Run]:
    cast.lists = {
        "triage": [calls(("v/keyed", {"n": 1})), hands("reader"), says("all read")],
        "reader": [calls(("v/keyed", {"n": 2})), says("nothing new")],
    }
    world.start()
    parent, child = carry_all(world)
    return parent, child


def told(run: Run) -> Any:
    reader = api_of(make_user(f"rita-{run.loop[:8]}", *READER))
    answer = reader.get(f"/api/run-events/{run.id}")
    assert answer.status == 200
    return answer.data


@pytest.mark.promise("EV-01")
@pytest.mark.promise("EV-04")
def test_a_child_s_events_are_those_of_its_own_in_the_root_s_chain(
    family: tuple[Run, Run],
) -> None:
    parent, child = family
    whole, own = told(parent), told(child)
    assert {it["run_id"] for it in own["events"]} == {str(child.id)}
    numbers = [it["number"] for it in own["events"]]
    assert numbers == [it["number"] for it in whole["events"] if it["run_id"] == str(child.id)]
    assert numbers[0] > 1
    assert [it["kind"] for it in own["events"]] == [
        "run.started", "handoff", "step", "tool.call", "step", "run.ended",
    ]  # fmt: skip
    for it in (whole, own):
        assert (it["intact"], it["complete"], it["agrees"], it["differs"]) == (True, True, True, [])
    assert {it["run_id"] for it in whole["state"]["runs"]} == {str(parent.id), str(child.id)}
    assert [it["run_id"] for it in own["state"]["runs"]] == [str(child.id)]


@pytest.mark.promise("EV-02")
def test_what_was_done_to_one_run_of_a_chain_breaks_all_of_it(
    world: World, family: tuple[Run, Run]
) -> None:
    parent, child = family
    world.sql("ALTER TABLE events_runevent DISABLE TRIGGER ALL")
    world.sql("UPDATE events_runevent SET mission = 'INC-2' WHERE number = 2")
    for it in (told(parent), told(child)):
        assert (it["intact"], it["broken"]["number"]) == (False, 2)


@pytest.mark.promise("EV-04")
def test_a_root_tells_what_differs_in_a_run_below_it(world: World, family: tuple[Run, Run]) -> None:
    parent, child = family
    world.sql("UPDATE runs_run SET model_steps = 7 WHERE id = %s", child.id)
    (found, _at_end) = told(parent)["differs"]
    assert found == {"what": f"run {child.id}: steps", "events": "2", "checkpoint": "7"}
