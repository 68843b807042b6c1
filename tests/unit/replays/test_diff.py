"""What changed between a run and its replay, and what a cohort comes to (RP-05)."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any
from uuid import UUID

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from liyagent.replays.diff import beyond_baseline, cohort_verdict, compare
from liyagent.replays.drift import drift_of
from liyagent.replays.made import How, MadeCall, MadeStep, ReplayedRun
from liyagent.replays.recorded import RecordedCall, RecordedStep, Recording
from liyagent.replays.similarity import LONGEST_COMPARED, similarity

RUN = UUID(int=7)
LOOK, WRITE = "v/look", "v/write"


def was_called(name: str, args: dict[str, Any] | None = None, **facts: Any) -> RecordedCall:
    server, _, tool = name.partition("/")
    known: dict[str, Any] = {
        "step": 1,
        "index": 0,
        "effect": "read",
        "fate": "done",
        "posture": "posture",
        "settlement": "",
        "result": "r",
        "ms": 3,
    }
    return RecordedCall(server=server, tool=tool, args=args or {}, **{**known, **facts})


def recording(*calls: RecordedCall, answer: str = "all is well", **facts: Any) -> Recording:
    known: dict[str, Any] = {
        "run_id": RUN,
        "agent": "triage",
        "agent_version": 1,
        "entry": "api",
        "mission": "m",
        "started_by": "ann",
        "task": "look",
        "history": [],
        "steps": [
            RecordedStep(
                number=1,
                text="",
                finish="calls",
                calls=tuple(it.name for it in calls),
                input_tokens=10,
                output_tokens=2,
                cost_micros=5,
                model_ms=900,
            )
        ],
        "status": "answered",
        "error": "",
        "reason": "",
        "input_tokens": 10,
        "output_tokens": 2,
        "cost_micros": 5,
    }
    return Recording(calls=calls, answer=answer, **{**known, **facts})


def made(
    name: str, how: How = How.EXACT, args: dict[str, Any] | None = None, **facts: Any
) -> MadeCall:
    server, _, tool = name.partition("/")
    known: dict[str, Any] = {"step": 1, "index": 0, "fate": "done", "result": "r"}
    return MadeCall(server=server, tool=tool, how=how, args=args or {}, **{**known, **facts})


def replayed(*calls: MadeCall, answer: str = "all is well", **facts: Any) -> ReplayedRun:
    known: dict[str, Any] = {
        "run_id": RUN,
        "status": "answered",
        "error": "",
        "reason": "",
        "steps": [
            MadeStep(number=1, text="", finish="calls", calls=(), input_tokens=30, output_tokens=4)
        ],
        "unused": [],
        "guardrails": [],
        "input_tokens": 30,
        "output_tokens": 4,
        "cost_micros": 1,
        "model_ms": 400,
    }
    return ReplayedRun(calls=calls, answer=answer, **{**known, **facts})


@pytest.mark.promise("RP-05")
def test_a_replay_that_did_the_same_is_the_same_whatever_its_spaces_and_its_cost() -> None:
    told = compare(
        recording(was_called(LOOK)), replayed(made(LOOK), answer="  all\nis   well ")
    ).facts()
    assert told["verdict"] == "same"
    assert told["differs"] == []
    assert told["similarity"] == 1.0
    assert told["input_tokens"] == {"was": 10, "now": 30}
    assert told["output_tokens"] == {"was": 2, "now": 4}
    assert told["cost_micros"] == {"was": 5, "now": 1}
    assert told["model_ms"] == {"was": 900, "now": 400}
    assert told["steps"] == told["calls"] == {"was": 1, "now": 1}


FAILED = {"status": "failed", "error": "cap.steps", "answer": ""}
DECLINED = {"status": "declined", "error": "model.declined", "answer": "no"}


@pytest.mark.promise("RP-05")
@pytest.mark.parametrize(
    ("was", "now", "verdict"),
    [
        ({}, FAILED, "regressed"),
        ({}, DECLINED, "regressed"),
        (FAILED, {}, "changed"),
        (FAILED, FAILED, "same"),
        (FAILED, {**FAILED, "error": "cap.calls"}, "changed"),
        (FAILED, DECLINED, "changed"),
    ],
)
def test_what_answered_and_fails_now_is_a_regression_and_no_other_change_of_status(
    was: dict[str, Any], now: dict[str, Any], verdict: str
) -> None:
    told = compare(recording(**was), replayed(**now))
    assert told.verdict == verdict
    assert ("regressed" in told.differs) == (verdict == "regressed")
    assert ("status" in told.differs) == (was != now)


@pytest.mark.promise("RP-05")
@pytest.mark.parametrize(
    ("calls", "differs", "added", "dropped"),
    [
        ([made(LOOK), made(WRITE)], [], [], []),
        ([made(WRITE), made(LOOK)], ["tools"], [], []),
        ([made(LOOK)], ["tools"], [], [WRITE]),
        ([made(LOOK), made(WRITE), made(LOOK, How.UNSERVED)], ["tools", "unserved"], [LOOK], []),
        ([made(LOOK, How.BY_ORDER), made(WRITE)], ["by_order"], [], []),
        ([made(LOOK, How.UNSERVED), made(WRITE)], ["unserved"], [], []),
        ([made(LOOK), made(WRITE, How.NOT_HERE)], ["not_here"], [], []),
        ([made(LOOK), made(WRITE, How.REFUSED)], ["outcomes"], [], []),
        ([made(LOOK), made(WRITE, How.REFUSED, recorded=was_called(WRITE))], [], [], []),
    ],
)
def test_the_sequence_of_tools_and_how_calls_were_answered_make_a_change(
    calls: list[MadeCall], differs: list[str], added: list[str], dropped: list[str]
) -> None:
    told = compare(recording(was_called(LOOK), was_called(WRITE)), replayed(*calls)).facts()
    assert told["differs"] == differs
    assert told["verdict"] == ("changed" if differs else "same")
    assert (told["added"], told["dropped"]) == (added, dropped)
    assert sum(told["counts"].values()) == len(calls)


@pytest.mark.promise("RP-05")
def test_another_answer_is_a_change_and_says_how_alike_they_are() -> None:
    told = compare(recording(), replayed(answer="all is not well"))
    assert (told.verdict, told.differs) == ("changed", ("answer",))
    assert 0.5 < told.similarity < 1


def test_what_was_unserved_unused_and_has_drifted_is_counted_and_no_word_is_told() -> None:
    secret = {"q": "a-secret-word"}
    told = compare(
        recording(was_called(LOOK, secret), answer="a-secret-word"),
        replayed(
            made(LOOK, How.BY_ORDER, drift=drift_of(secret, {"q": 1, "r": secret})),
            made("v/new", How.UNSERVED),
            answer="a-secret-word too",
            reason="a-secret-word",
            unused=[was_called(WRITE, secret)],
        ),
    ).facts()
    assert told["drift"] == 2
    assert told["counts"] == {
        "exact": 0,
        "by_order": 1,
        "unserved": 1,
        "refused": 0,
        "not_here": 0,
    }
    assert (told["unserved"], told["unused"]) == (["v/new"], [WRITE])
    assert b"secret-word" not in orjson.dumps(told)


def test_a_replay_that_goes_round_in_circles_has_a_diff_of_bounded_size() -> None:
    many = [made(f"v/{'x' * 5000}", How.UNSERVED) for _ in range(5000)]
    assert len(orjson.dumps(compare(recording(), replayed(*many)).facts())) < 200_000


@pytest.mark.promise("RP-05")
@pytest.mark.parametrize(
    ("verdicts", "worst"),
    [
        ([], ""),
        (["same"], "same"),
        (["same", "changed", "same"], "changed"),
        (["changed", "regressed", "same"], "regressed"),
    ],
)
def test_a_cohort_is_what_the_worst_of_its_runs_is(verdicts: list[str], worst: str) -> None:
    assert cohort_verdict(verdicts) == worst


NOISE: Sequence[str] = ["answer"]


@pytest.mark.parametrize(
    ("runs", "verdict"),
    [
        ([], ""),
        ([([], [[]])], "same"),
        ([(["answer"], [[], NOISE])], "same"),
        ([(["answer", "tools"], [NOISE, NOISE])], "changed"),
        ([(["answer", "tools"], [NOISE, ["tools"]])], "same"),
        ([(["regressed", "status", "answer"], [NOISE])], "regressed"),
        ([(["regressed", "status"], [["regressed", "status"]])], "same"),
        # Noise of one run excuses no other.
        ([(["answer"], [NOISE]), (["answer"], [[]])], "changed"),
        ([(["answer"], [])], "changed"),
    ],
)
def test_beyond_the_baseline_is_what_the_unchanged_agent_never_shows(
    runs: list[tuple[Sequence[str], list[Sequence[str]]]], verdict: str
) -> None:
    assert beyond_baseline(runs) == verdict


WORDS = st.text(max_size=60)


@given(one=WORDS, other=WORDS)
def test_similarity_is_from_0_to_1_the_same_from_both_sides_and_1_of_what_is_equal_alone(
    one: str, other: str
) -> None:
    alike = similarity(one, other)
    assert 0.0 <= alike <= 1.0
    assert alike == similarity(other, one)
    assert (alike == 1.0) == (one.split() == other.split())


def test_similarity_grows_with_what_is_shared() -> None:
    text = "the mail server of the EU is down since ten, its disk is full"
    assert similarity(text, text.replace("ten", "two")) > 0.9
    assert similarity(text, "the mail server is fine") < 0.6
    assert similarity(text, "") == 0.0
    assert similarity("", "") == 1.0
    # In scripts without spaces too.
    assert similarity("邮件服务器磁盘已满", "邮件服务器磁盘未满") > 0.5


def test_similarity_of_long_texts_is_told_soon() -> None:
    began = time.monotonic()
    for one, other in (("ab" * 2_000_000, "ba" * 2_000_000), ("a" * 4_000_000, "a" * 3_999_999)):
        assert 0 < similarity(one, other) < 1
    assert time.monotonic() - began < 5
    # What differs behind the part that is looked at is not told as the same.
    assert similarity("a" * LONGEST_COMPARED + "b", "a" * LONGEST_COMPARED + "c") == 0.999


def test_a_recording_that_is_compared_is_not_changed() -> None:
    was, now = recording(was_called(LOOK)), replayed(made(LOOK))
    compare(was, now)
    assert (was, now) == (replace(was), replace(now))
