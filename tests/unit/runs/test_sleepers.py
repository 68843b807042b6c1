"""Whatever lost a wake, the leader finds who sleeps on what has come already (ruling 39)."""

from __future__ import annotations

from uuid import UUID

import pytest

from liyagent.core.database import direct_connection
from runs.models import Run
from runs.sleepers import Sleepers
from tests.unit.approvals.conftest import held
from tests.unit.approvals.deciding import approve, the_request
from tests.unit.runs.carrying.conftest import World, calls, says, world
from tests.unit.runs.delegating.conftest import Cast, carry_all, cast, hands, take, works

__all__ = ["cast", "held", "world"]

WITHOUT_A_WAKE = {
    "rejected by SQL": ("UPDATE approvals_approval SET status = 'rejected'", "answered"),
    "its request is gone": (
        "DELETE FROM approvals_notice; DELETE FROM approvals_approval",
        "failed",
    ),
    "it names no request": ("UPDATE runs_call SET approval_id = NULL", "failed"),
    "its mark is gone": ("DELETE FROM runs_call", "failed"),
}


def wake(sleepers: Sleepers | None = None) -> list[UUID]:
    """One look, as the leader's watch has it."""
    with direct_connection() as sql:
        return (sleepers or Sleepers()).wake(sql)


def a_held_run(held: World) -> Run:
    held.start(calls(("v/keyed", {"n": 1})), says("done"))
    return held.process("first").carry()


@pytest.mark.promise("CR-02")
@pytest.mark.parametrize(("edit", "status"), WITHOUT_A_WAKE.values(), ids=WITHOUT_A_WAKE)
def test_a_run_whose_request_waits_no_more_is_woken(held: World, edit: str, status: str) -> None:
    run = a_held_run(held)
    held.sql(edit)
    assert wake() == [run.id]
    assert held.process("second").carry().status == status
    assert held.vendor.received == []


def test_a_run_that_waits_for_a_person_sleeps_on(held: World) -> None:
    run = a_held_run(held)
    assert wake() == []
    assert Run.objects.get(id=run.id).wakes == 0


@pytest.mark.promise("CR-23")
@pytest.mark.parametrize("edit", ["parent_id = NULL", "parent_id = id"])
def test_a_parent_whose_child_ended_as_another_s_is_woken_and_hears_it(
    world: World, cast: Cast, edit: str
) -> None:
    cast.lists = {"triage": [hands("reader"), says("told")], "reader": works("reader")}
    parent = world.start(*cast.lists["triage"])
    run, attempt = take(first := world.process("first"), "triage")
    first.go_on(run.id, attempt)
    assert wake() == []
    world.sql(f"UPDATE runs_run SET {edit} WHERE parent_id IS NOT NULL")
    carry_all(world, name="b")
    assert Run.objects.get(id=parent.id).status == "waiting"
    assert wake() == [parent.id]
    carry_all(world, name="c")
    assert Run.objects.get(id=parent.id).status == "answered"
    assert cast.told("triage") == ["all done"]


def test_many_that_sleep_are_looked_at_a_bounded_number_at_a_time(held: World) -> None:
    run = a_held_run(held)
    held.sql(
        "INSERT INTO runs_run SELECT (jsonb_populate_record(r, jsonb_build_object('id', gen_random_uuid(),"
        " 'correlation_id', gen_random_uuid(), 'created_at', r.created_at + n * interval '1 s'))).*"
        " FROM runs_run r, generate_series(1, 25) AS n"
    )
    looked: list[UUID] = []
    sleepers = Sleepers(most=10)
    for _ in range(3):
        looked += (found := wake(sleepers))
        assert len(found) <= 10
    # The copies have no mark: nothing that they could wait for.
    assert (len(looked), len(set(looked)), run.id in looked) == (25, 25, False)
    assert wake(sleepers) == []


def test_one_look_reads_the_sleeping_and_no_other(held: World) -> None:
    a_held_run(held)
    held.sql(
        "INSERT INTO runs_run SELECT (jsonb_populate_record(r, jsonb_build_object('id', gen_random_uuid(),"
        " 'correlation_id', gen_random_uuid(), 'status', 'answered', 'ended_at', r.created_at))).*"
        " FROM runs_run r, generate_series(1, 3000) AS n"
    )
    held.sql("ANALYZE runs_run")
    plan = "\n".join(
        row[0] for row in held.sql(f"EXPLAIN {Sleepers.statement()}", *Sleepers().values())
    )
    assert "runs_by_status" in plan
    assert "Seq Scan on runs_run" not in plan


@pytest.mark.promise("CR-02")
def test_who_decided_while_the_look_was_under_way_woke_the_run_once(held: World) -> None:
    run = a_held_run(held)
    approve(the_request())
    assert wake() == []
    assert Run.objects.get(id=run.id).wakes == 1
