"""The judge of trials sees each way in which a record can fail to account for what was done."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from events.completeness import RunFacts
from events.fold import fold
from liyagent.demo.judge import Request
from runs.evidence_compare import Live, LiveCall
from tests.accounted import EVERYTHING, Accounted, Told, judge
from tests.unit.events.chains import NO_TOKENS, RUN, STARTED, Writer, hashed, head_of, verdict
from tests.unit.events.rows import Event

CALL = {
    "step": 1,
    "index": 0,
    "server": "incident",
    "tool": "t",
    "effect": "write",
    "fate": "done",
    "key": "k",
}
MARK = LiveCall(step=1, index=0, step_key="k", fate="done", settlement="answered")
EFFECT = Request(vendor="incident", step_key="k", marker=f"{RUN}/1", effect=1)
COUNTS = {"steps": 2, "calls": 1, "input_tokens": 2, "output_tokens": 2, "cost_micros": 0}


def written() -> Writer:
    """A run that made one write and answered."""
    it = Writer()
    it.write("run.started", STARTED)
    it.write("step", {"step": 1, "finish": "calls", **NO_TOKENS, "calls": ["incident/t"]})
    it.write("tool.call", CALL)
    it.write("step", {"step": 2, "finish": "stop", **NO_TOKENS, "calls": []})
    it.write("run.ended", {"status": "answered", "error": "", **COUNTS, "unsettled": []})
    return it


def live(**facts: Any) -> Live:
    known: dict[str, Any] = {
        "status": "answered", "error": "", "is_ended": True, "is_begun": True, "counters": COUNTS, "resumes": 0,
        "calls": [MARK],
    }  # fmt: skip
    return Live(**{**known, **facts})


def accounted(
    events: list[Event] | None = None,
    *,
    row: Live | None = None,
    requests: tuple[Request, ...] = (EFFECT,),
    owed: int = 0,
) -> Accounted:
    stored = hashed(written().events) if events is None else events
    facts = [RunFacts(run_id=RUN, is_ended=True, owed=owed)]
    told = Told(
        verdict=verdict(stored, head=head_of(stored), facts=facts),
        state=fold(stored, most=EVERYTHING),
        live={RUN: row or live()},
    )
    return judge([told], requests)


def test_a_record_that_tells_of_all_that_was_done_has_no_fault() -> None:
    found = accounted()
    assert (found.faults, found.incomplete, found.effects) == ([], [], 1)


def test_one_that_was_sent_twice_under_its_key_is_one_effect() -> None:
    assert accounted(requests=(EFFECT, EFFECT)).effects == 1


@pytest.mark.parametrize(
    ("case", "said"),
    [
        ({"requests": (replace(EFFECT, step_key="other"),)}, "told of 0 times"),
        ({"requests": (replace(EFFECT, vendor="jira"),)}, "told of 0 times"),
        ({"row": live(status="failed")}, "status is answered by its events and failed"),
        ({"row": live(error="run.lost")}, "error is"),
        ({"row": live(resumes=1)}, "losses told of is 0"),
        ({"row": live(counters={**COUNTS, "steps": 3})}, "steps is 2 by its events and 3"),
        ({"row": live(counters={**COUNTS, "cost_micros": 9})}, "cost_micros is 0"),
        ({"row": live(calls=[replace(MARK, fate="unknown")])}, "fate is done by its events and unknown"),
        ({"row": live(calls=[replace(MARK, fate="")])}, "fate is done by its events and open"),
        ({"row": live(calls=[replace(MARK, step_key="z")])}, "step key is k"),
        ({"row": live(calls=[replace(MARK, settlement="run_ended")])}, "its end is settled"),
        ({"row": live(calls=[])}, "its mark is done by its events and none"),
        ({"row": live(is_ended=False, status="running")}, "status is answered by its events and running"),
    ],
)  # fmt: skip
def test_what_the_rows_or_a_ledger_say_otherwise_is_a_fault(
    case: dict[str, Any], said: str
) -> None:
    faults = accounted(**case).faults
    assert any(said in it for it in faults), faults


def test_a_call_that_is_told_of_twice_is_a_fault() -> None:
    it = written()
    again = Writer(taggers=it.taggers, events=it.events)
    again.write("tool.call", CALL)
    found = accounted(hashed(again.events))
    assert any("told of 2 times" in it for it in found.faults)


def test_a_fork_is_a_fault() -> None:
    """Of two that appended behind the same event, one is not the next."""
    events = hashed(written().events)
    other = hashed([*written().events[:2], replace(written().events[2], content="{}")])[2]
    found = accounted([*events[:2], other, *events[2:]])
    assert any("event 3" in it for it in found.faults)


def test_events_that_were_lost_and_are_told_to_be_are_counted_and_no_fault() -> None:
    it = written()
    del it.events[2]
    it.events.insert(2, Writer().gap(1))
    found = accounted(hashed(it.events))
    assert found.faults == []
    assert len(found.incomplete) == 1
    assert accounted(owed=2).incomplete


def test_events_that_were_lost_without_a_word_are_a_fault() -> None:
    it = written()
    del it.events[2]
    assert any("no gap tells of them" in it for it in accounted(hashed(it.events)).faults)


def test_a_run_of_which_nothing_is_told_is_seen() -> None:
    found = accounted([])
    assert found.incomplete
    assert accounted([], row=live(is_ended=False)).incomplete
