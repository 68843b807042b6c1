"""How adopted routines do: runs, fallback rate, what they save; and when one is switched off and offered again."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import psycopg
import pytest
from pytest_django import Settings

from liyagent.core.ids import new_id
from liyagent.workflows.models import Workflow
from routines.adopt import adopt_routine
from routines.models import Routine
from routines.page import recent_runs
from routines.standing import MOST_RUNS, RUNS, standing_of
from routines.suspend import suspend_if_it_falls_back
from runs.models import Run
from tests.unit.routines.stored import store
from tests.unit.routines.test_adopt import approve, audited, now
from tests.unit.runs.carrying.conftest import World, world

__all__ = ["world"]


def a_run(world: World, *, seconds: float = 1.0, tokens: int = 0, status: str = "answered", **columns: Any) -> Run:  # fmt: skip
    """A run as it stands once it has ended."""
    run_id = new_id()
    known: dict[str, Any] = {
        "id": run_id, "correlation_id": run_id, "agent_key": "triage", "agent_version": 1, "entry": "api", "mission": "m",
        "recording": "full", "key_id": "k", "seal": b"", "status": status, "input_tokens": tokens,
        "created_at": "2026-01-01T00:00:00Z", "taken_at": "2026-01-01T00:00:00Z", "ended_at": "2026-01-01T00:00:00Z",
    }  # fmt: skip
    Run.objects.create(**{**known, **columns})
    world.sql(
        "UPDATE runs_run SET created_at = liyagent_now(), taken_at = liyagent_now(), ended_at = CASE WHEN %s THEN"
        " liyagent_now() + make_interval(secs => %s) END WHERE id = %s",
        status not in {"queued", "waiting"}, seconds, run_id,
    )  # fmt: skip
    return Run.objects.get(id=run_id)


def adopted(world: World) -> Routine:
    """A routine that was compiled from three runs of 9 s and 300 tokens, and adopted."""
    runs = [a_run(world, seconds=9, tokens=300) for _ in range(3)]
    routine = store(runs=[str(it.id) for it in runs])
    approve(adopt_routine(routine_id=routine.id, actor="anna").approval)
    return now(routine)


def goes(world: World, routine: Routine, *, asks: bool = False, **known: Any) -> Run:
    """A run of the adopted routine."""
    run = a_run(world, workflow=routine.workflow_key, **known)
    if asks:
        a_run(
            world, parent_id=run.id, correlation_id=run.id, loop=f"child-{run.id}"[:60], tokens=500
        )
    return run


@pytest.mark.promise("RT-03")
def test_it_tells_runs_ends_fallbacks_and_what_was_saved(world: World) -> None:
    routine = adopted(world)
    assert routine.baseline == {"runs": 3, "seconds": 9.0, "tokens": 300}
    for _ in range(3):
        goes(world, routine, seconds=2)
    goes(world, routine, seconds=10, asks=True)
    goes(world, routine, status="failed")
    goes(world, routine, status="waiting")
    standing = standing_of(routine)
    assert standing is not None
    told = standing.plain()
    assert (told["runs"], told["ended"], told["answered"], told["fell_back"]) == (6, 5, 4, 1)
    assert told["fallback_rate"] == 0.2
    assert told["by_status"] == {"answered": 4, "failed": 1, "waiting": 1}
    assert (told["seconds"], told["tokens"]) == (4.0, 125)
    assert (told["seconds_saved"], told["tokens_saved"]) == (4 * 9 - 16, 4 * 300 - 500)


@pytest.mark.promise("RT-03")
def test_one_that_was_never_adopted_has_no_standing_and_one_without_runs_an_empty_one(world: World) -> None:  # fmt: skip
    assert standing_of(store()) is None
    Routine.objects.all().delete()
    standing = standing_of(adopted(world))
    assert standing is not None
    assert (standing.runs, standing.rate, standing.seconds_saved) == (0, None, None)


@pytest.mark.parametrize("loop", ["undo:1", "approved:018f0000", "handoff"])
def test_what_undoes_makes_what_was_approved_or_files_a_ticket_is_no_fallback(world: World, loop: str) -> None:  # fmt: skip
    routine = adopted(world)
    run = goes(world, routine, status="failed")
    a_run(world, parent_id=run.id, correlation_id=run.id, loop=loop)
    standing = standing_of(routine)
    assert standing is not None
    assert (standing.ended, standing.fell_back) == (1, 0)
    assert [it["asked"] for it in recent_runs(routine)] == [None]
    goes(world, routine, asks=True)
    assert [it["asked"] is None for it in recent_runs(routine)] == [False, True]


def test_of_a_million_runs_its_own_are_looked_at_by_an_index(world: World) -> None:
    routine = adopted(world)
    goes(world, routine, asks=True)
    with psycopg.connect(world.url) as asked:
        asked.execute("SET enable_seqscan = off")
        given = (routine.workflow_key, routine.adopted_at, MOST_RUNS)
        plan = "\n".join(row[0] for row in asked.execute(f"EXPLAIN {RUNS}", given))  # type: ignore[arg-type,unused-ignore]
    assert "Seq Scan" not in plan
    assert "runs_of_workflow" in plan
    assert "Index Cond: (correlation_id = runs_run.correlation_id)" in plan.replace("t.corr", "runs_run.corr")  # fmt: skip


def test_runs_from_before_it_was_adopted_again_do_not_count(world: World) -> None:
    routine = adopted(world)
    goes(world, routine, asks=True)
    world.sql("UPDATE routines_routine SET adopted_at = liyagent_now() + interval '1 s'")
    standing = standing_of(now(routine))
    assert standing is not None
    assert standing.runs == 0


@pytest.mark.promise("RT-03")
@pytest.mark.promise("RT-07")
def test_above_the_rate_over_ten_runs_it_is_switched_off_and_offered_again(world: World) -> None:
    routine = adopted(world)
    for number in range(9):
        goes(world, routine, asks=number < 6)
    assert not suspend_if_it_falls_back(routine.id)
    goes(world, routine)
    assert suspend_if_it_falls_back(routine.id)
    row, workflow = now(routine), Workflow.objects.get()
    assert (row.state, workflow.is_enabled, workflow.definition) == ("suspended", False, routine.definition)  # fmt: skip
    assert row.reason == "the agent was asked in 6 of 10 runs since it was adopted"
    (told,) = audited("suspended")
    assert (told["workflow"], told["fallback_rate"]) == (workflow.key, 0.6)
    assert not suspend_if_it_falls_back(routine.id)
    approve(adopt_routine(routine_id=routine.id, actor="anna").approval)
    assert (now(routine).state, Workflow.objects.get().is_enabled) == ("adopted", True)
    assert not suspend_if_it_falls_back(routine.id)


@pytest.mark.promise("RT-03")
@pytest.mark.parametrize(("rate", "is_suspended"), [(0.5, False), (0.49, True), (1.0, False)])
def test_the_rate_is_the_setting_s(world: World, settings: Settings, rate: float, is_suspended: bool) -> None:  # fmt: skip
    settings.LIYAGENT = replace(settings.LIYAGENT, routine_fallback_rate=rate)
    routine = adopted(world)
    for number in range(10):
        goes(world, routine, asks=number < 5)
    assert suspend_if_it_falls_back(routine.id) is is_suspended


def test_one_whose_workflow_was_switched_off_or_removed_by_hand_is_suspended_too(world: World) -> None:  # fmt: skip
    routine = adopted(world)
    for _ in range(10):
        goes(world, routine, asks=True)
    Workflow.objects.all().delete()
    assert suspend_if_it_falls_back(routine.id)
    assert now(routine).state == "suspended"
