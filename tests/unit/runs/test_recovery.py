"""What a process counts of claims and takes."""

from __future__ import annotations

from uuid import uuid4

from liyagent.core.metrics import REGISTRY
from runs import recovery
from runs.recovery import MOST_REMEMBERED, claimed, taken


def value(name: str, **labels: str) -> float:
    """What is counted now; 0 where nothing was."""
    return REGISTRY.get_sample_value(name, labels) or 0.0


def test_a_run_claimed_and_taken_here_tells_how_long_that_took_once() -> None:
    run, before = uuid4(), value("liyagent_run_recovery_seconds_count")
    claims, takes = (
        value("liyagent_runs_claimed_total", cause="proof"),
        value("liyagent_runs_taken_total", kind="again"),
    )
    claimed([run], cause="proof")
    taken(run, attempt=2)
    taken(run, attempt=3)
    assert value("liyagent_run_recovery_seconds_count") == before + 1
    assert value("liyagent_runs_claimed_total", cause="proof") == claims + 1
    assert value("liyagent_runs_taken_total", kind="again") == takes + 2


def test_a_run_taken_here_before_its_claim_here_was_noted_counts_too() -> None:
    run, before = uuid4(), value("liyagent_run_recovery_seconds_count")
    taken(run, attempt=2)
    claimed([run], cause="proof")
    taken(run, attempt=3)
    assert value("liyagent_run_recovery_seconds_count") == before + 1


def test_a_run_that_another_process_takes_is_forgotten_in_time() -> None:
    claimed([uuid4() for _ in range(2 * MOST_REMEMBERED)], cause="lapse")
    assert len(recovery._claimed_at) == MOST_REMEMBERED
