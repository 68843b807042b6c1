"""The words of a result are bounded, whatever a model asks for: one run that goes wild does not fail its cohort."""

from __future__ import annotations

from uuid import uuid4

from liyagent.core.plain import json_bytes
from liyagent.replays.drift import drift_of
from liyagent.replays.made import How, MadeCall, MadeStep, ReplayedRun
from liyagent.replays.recorded import RecordedCall, Recording
from liyagent.replays.words import sealed_words, words_of

CALLS, FIELDS, LONG = 500, 60, 2_000
MOST_BYTES = 12_000_000
NUMBERS = {"input_tokens": 0, "output_tokens": 0, "cost_micros": 0}


def recorded(at: int, args: dict[str, str]) -> RecordedCall:
    return RecordedCall(
        step=at, index=0, server="v", tool="look", args=args, effect="read", fate="done", posture="", settlement="",
        result="r" * LONG, ms=1,
    )  # fmt: skip


def test_what_a_wild_run_says_is_kept_within_bounds() -> None:
    was, now = ({f"{at:03}": letter * LONG for at in range(FIELDS)} for letter in "xy")
    before = [recorded(at, was) for at in range(CALLS)]
    drift = drift_of(was, now)
    made = [
        MadeCall(step=it.step, index=0, server="v", tool="t" * 5_000, args=now, how=How.BY_ORDER, fate="done", result="r", recorded=it, drift=drift)
        for it in before
    ]  # fmt: skip
    step = MadeStep(number=1, text="s" * 10_000, finish="calls", calls=("n" * 5_000,) * CALLS, input_tokens=0, output_tokens=0)  # fmt: skip
    recording = Recording(
        run_id=uuid4(), agent="a", agent_version=1, entry="api", mission="m", started_by="t", task="", history=[], steps=[], calls=before,
        status="answered", error="", reason="", answer="a" * 300_000, **NUMBERS,
    )  # fmt: skip
    replayed = ReplayedRun(
        run_id=recording.run_id, status="answered", error="", reason="", answer="b", steps=[step] * 1000, calls=made, unused=before,
        guardrails=(), model_ms=0, **NUMBERS,
    )  # fmt: skip
    words = words_of(recording, replayed)
    assert len(json_bytes(words)) < MOST_BYTES
    assert len(words["now"]["calls"][0]["drift"]) == len(drift)
    assert sealed_words(words, cohort=recording.run_id, number=0)
