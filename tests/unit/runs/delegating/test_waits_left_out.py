"""The cap of seconds leaves out what people took, and nothing else: a wait that ended is over (FL-58)."""

from __future__ import annotations

import pytest

from runs.models import Run
from runs.stop import stop_run
from tests.unit.approvals.conftest import held
from tests.unit.approvals.deciding import HOLD_AND_GO_ON, approve, the_request
from tests.unit.runs.carrying.conftest import World, calls, says
from tests.unit.runs.delegating.conftest import (
    Cast,
    carry_all,
    hands,
    take,
    the_child,
)

__all__ = ["held"]

CAP = "UPDATE agents_agent SET max_seconds = 600 WHERE key = 'triage'"
AGO = (
    "UPDATE runs_run SET created_at = created_at - interval '1 hour', ended_at = ended_at - interval '55 min';"
    "UPDATE approvals_approval SET created_at = created_at - interval '1 hour',"
    " decided_at = decided_at - interval '55 min'"
)


@pytest.mark.field("FL-58")
def test_a_wait_that_the_end_of_its_child_ended_counts_no_longer(world: World, cast: Cast) -> None:
    world.sql(
        "UPDATE agents_agent SET write_posture = 'hold', may_wait = true WHERE key = 'reader'"
    )
    world.sql(CAP)
    cast.lists = {
        "triage": [hands("reader"), says("told")],
        "reader": [calls(("v/keyed", {"n": 1})), says("done")],
    }
    parent = world.start(*cast.lists["triage"])
    carry_all(world)
    child = the_child(parent)
    assert child.status == "waiting"
    stop_run(run_id=child.id, actor="op", reason="not now")
    process = world.process("ends it")
    run, attempt = take(process, "reader")
    process.go_on(run.id, attempt)
    assert the_request().status == "withdrawn"
    world.sql(AGO)
    carry_all(world, name="later")
    ended = Run.objects.get(id=parent.id)
    assert (ended.status, ended.error) == ("failed", "cap.seconds")


@pytest.mark.field("FL-58")
def test_what_an_approved_run_waits_for_is_no_wait_of_who_went_on(held: World) -> None:
    held.sql(HOLD_AND_GO_ON)
    held.sql(CAP)
    asked = held.start(calls(("v/keyed", {"n": 1})), calls(("v/look", {"n": 2})), says("done"))
    first = held.process("first")
    held.vendor.before_effect = lambda _tool: setattr(first, "drains", True)
    assert first.carry().status == "queued"
    approve(the_request())
    held.sql("UPDATE agents_agent SET may_wait = true")
    held.sql("UPDATE gateway_policy SET text = text || ' // reviewed'")
    held.vendor.before_effect = lambda _tool: None
    made = Run.objects.exclude(id=asked.id).get()
    second = held.process("second")
    taken = dict(second.take())
    assert second.go_on(made.id, taken[made.id]).status == "waiting"
    held.sql(AGO)
    assert second.go_on(asked.id, taken[asked.id]).error == "cap.seconds"
