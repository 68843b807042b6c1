"""The guards of a run's start: told once, by the first who finds nothing told of it, and missed where nobody told it."""

from __future__ import annotations

from tests.guards.guard import Guard

STARTS = "tests/unit/runs/carrying/test_told_starts.py::"
APPROVED = (
    "tests/unit/approvals/test_approved_runs.py::"
    "test_the_call_is_made_once_at_the_most_wherever_its_process_dies"
)

TOLD_STARTS: tuple[Guard, ...] = (
    Guard(
        name="start: a write that takes no events along tells of none",
        file="runs/checkpoint.py",
        search="CASE WHEN r.sequence = 0 THEN false WHEN",
        replace="CASE WHEN r.sequence = 0 THEN false WHEN r.sequence > 0 THEN true WHEN",
        tests=(f"{APPROVED}[mark-keyed]",),
    ),
    Guard(
        name="start: told once, by the first",
        file="runs/tell_start.py",
        search="    if checkpoint.is_start_told:\n        return\n",
        replace="",
        tests=(f"{APPROVED}[take-keyed]",),
    ),
    Guard(
        name="start: told also of what may not even begin",
        file="runs/attempt.py",
        search="        self.tell_start()\n        end_run(",
        replace="        end_run(",
        tests=(f"{STARTS}test_a_run_that_may_not_even_begin_is_told_as_started_and_ended",),
    ),
    Guard(
        name="start: told also of what cannot be opened",
        file="runs/finish.py",
        search="    if not stored.is_start_told:\n",
        replace="    if False:\n",
        tests=(f"{STARTS}test_a_run_that_cannot_be_opened_is_told_as_started_once[0]",),
    ),
    Guard(
        name="start: not told again of what cannot be opened any more",
        file="runs/finish.py",
        search="    if not stored.is_start_told:\n",
        replace="    if True:\n",
        tests=(f"{STARTS}test_a_run_that_cannot_be_opened_is_told_as_started_once[1]",),
    ),
    Guard(
        name="start: an end alone is not complete",
        file="events/completeness.py",
        search="(run.is_told or run.ended is not None)",
        replace="run.is_told",
        tests=(
            "tests/unit/events/test_verdict.py::"
            "test_a_run_of_which_an_end_alone_is_told_has_no_start",
        ),
    ),
)
