"""How a routine does against recorded runs, told without a value of them."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from routines.compile import compile_routine
from routines.recorded import RecordedCall, RecordedRun
from routines.score import MOST_MISMATCHES, input_of, score


def run(number: int, *, ci: str = "", found: Any = None, **more: Any) -> RecordedRun:
    ref = f"CI-10{number}"
    args = {"ci": ci or ref, "note": "weekly", "fields": {"team": f"team-{number}", "list": [1, 2]}}
    return RecordedRun(
        id=f"r{number}",
        task=f"Look at web-{number}",
        calls=(
            RecordedCall(server="cmdb", tool="find", args={"host": f"web-{number}"}, output=found or json.dumps({"id": ref})),
            RecordedCall(server="desk", tool="open", args={**args, **more}, output=f"CHG-{number}"),
        ),
    )  # fmt: skip


SOURCES = [run(it) for it in range(3)]
DEFINITION = compile_routine(SOURCES, agent="desk").definition


def told(*runs: RecordedRun) -> list[tuple[str, str, str, str]]:
    return [(it.run, it.step, it.shown, it.why) for it in score(DEFINITION, runs).mismatches]


@pytest.mark.promise("RT-02")
def test_runs_that_did_what_it_does_match_call_by_call() -> None:
    found = score(DEFINITION, [*SOURCES, *(run(it) for it in range(10, 14))])
    assert (found.runs, found.runs_matched, found.calls, found.calls_matched) == (7, 7, 14, 14)
    assert (found.mismatched, found.mismatches, found.left_out) == (0, (), 0)
    assert input_of(DEFINITION, run(9)) == {"task": "Look at web-9", "host": "web-9", "team": "team-9"}  # fmt: skip


@pytest.mark.parametrize(
    ("later", "expected"),
    [
        (run(4, ci="CI-105"), [("r4", "s2", "$.ci", "another value")]),
        (run(4, note="daily"), [("r4", "s2", "$.note", "another value")]),
        (run(4, extra=1), [("r4", "s2", "$.extra", "is not there")]),
        (run(4, fields={"team": "x"}), [("r4", "s2", "$.fields.list", "is there")]),
        (run(4, fields={"team": "x", "list": [1, True]}), [("r4", "s2", "$.fields.list[1]", "another value")]),
        (run(4, fields={"team": "x", "list": [1]}), [("r4", "s2", "$.fields.list", "another value")]),
        (run(4, found={"key": "CI-104"}), [("r4", "s2", "", "a path leads nowhere: the agent would be asked")]),
        (run(4, fields={"team": 7, "list": [1, 2]}), [("r4", "", "", "team would not take what it has there")]),
        (run(4, fields=None), [("r4", "", "", "it has nothing for team")]),
        (replace(run(4), task="t" * 60_001), [("r4", "", "", "its task is longer than 60000 characters")]),
        (replace(run(4), calls=run(4).calls[:1]), [("r4", "", "", "made other calls")]),
        (replace(run(4), calls=run(4).calls[::-1]), [("r4", "", "", "made other calls")]),
    ],
)  # fmt: skip
def test_a_run_that_did_otherwise_is_told_with_the_place(
    later: RecordedRun, expected: list[tuple[str, str, str, str]]
) -> None:
    assert told(*SOURCES, later) == expected
    found = score(DEFINITION, [later])
    assert (found.runs_matched, found.mismatched) == (0, 1)
    assert found.calls_matched == (1 if expected[0][1] else 0)


@pytest.mark.field("FL-93")
def test_no_value_of_a_run_is_told_nor_a_name_that_is_personal() -> None:
    later = run(4, note="password: hunter2", fields={"anna@example.com": 1, "team": "x", "list": [1, 2]})  # fmt: skip
    held = json.dumps(score(DEFINITION, [later]).plain())
    assert "hunter2" not in held
    assert "anna" not in held
    more: dict[str, Any] = {"anna@example.com": 1}
    later = run(4, **more)
    assert told(later) == [("r4", "s2", "$", "another value")]


def test_of_many_mismatches_the_first_are_told_and_all_are_counted() -> None:
    found = score(DEFINITION, [run(it, note="other") for it in range(80)])
    assert (len(found.mismatches), found.mismatched, found.runs_matched) == (MOST_MISMATCHES, 80, 0)
    assert (found.calls, found.calls_matched) == (160, 80)


def test_what_is_too_much_to_read_is_left_out_and_counted() -> None:
    large = json.dumps({"id": "CI-104", "log": "x" * (10 << 20)})
    later = run(4, found=large)
    found = score(DEFINITION, [later] * 9)
    assert (found.runs, found.left_out, found.runs_matched) == (4, 5, 4)
