"""The verdicts *intact* and *complete*: whatever somebody with SQL, and without our keys, makes of a chain is found."""

from __future__ import annotations

from dataclasses import replace
from uuid import UUID

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from events.completeness import MOST_LACKS, RunFacts
from events.tags import BESIDE
from events.verdict import Found, Head, Verdict, verdict_of
from tests.unit.events.chains import (
    CHAIN,
    CHILD,
    KEY,
    NO_TOKENS,
    RUN,
    STARTED,
    Writer,
    a_run,
    hashed,
    head_of,
    verdict,
)

LENGTH = 7
# A busy machine is no reason to call it slow.
QUIETLY = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
# Which events of the run are of which attempt; the one that is in neither is a person's.
ATTEMPTS = ((0, 1), (3, 4, 5, 6))
OPEN = (RunFacts(run_id=RUN, is_ended=False),)


def reason(found: Verdict) -> tuple[int, str] | None:
    return (found.broken.number, found.broken.reason) if found.broken else None


def lacks(found: Verdict) -> list[str]:
    return [it.reason for it in found.lacks]


def test_a_chain_that_is_as_it_was_written_is_intact_and_complete() -> None:
    found = verdict(hashed(a_run().events))
    assert (found.is_intact, found.is_complete, found.is_open) == (True, True, False)
    assert found.events == LENGTH


@pytest.mark.promise("EV-02")
@QUIETLY
@given(st.sets(st.integers(0, LENGTH - 1), min_size=1, max_size=LENGTH - 1))
def test_events_taken_out_are_found_though_all_is_hashed_anew(gone: set[int]) -> None:
    events = a_run().events
    left = hashed(it for at, it in enumerate(events) if at not in gone)
    found = verdict(left)
    # The last events of an attempt, and what is written beside any, leave no hole behind: they are missed, and seals tell.
    has_hole = any(
        gone & set(it) not in (set(it[n:]) for n in range(len(it) + 1)) for it in ATTEMPTS
    )
    assert found.is_intact is not has_hole
    assert not (found.is_intact and found.is_complete)


@pytest.mark.promise("EV-02")
@QUIETLY
@given(st.permutations(range(LENGTH)))
def test_events_put_in_another_order_are_found_though_all_is_hashed_anew(order: list[int]) -> None:
    events = a_run().events
    found = verdict(hashed(events[it] for it in order))
    attempts = [it for it in order if it != 2]
    assert found.is_intact is (attempts == sorted(attempts))


@pytest.mark.promise("EV-02")
@pytest.mark.parametrize("at", range(LENGTH))
def test_an_event_put_in_twice_is_found_though_all_is_hashed_anew(at: int) -> None:
    events = a_run().events
    found = verdict(hashed([*events[: at + 1], events[at], *events[at + 1 :]]))
    assert reason(found) == (at + 2, "doubled")


@pytest.mark.promise("EV-02")
@pytest.mark.parametrize("at", range(LENGTH))
@pytest.mark.parametrize(
    ("edit", "said"),
    [
        ({"content": '{"fate":"failed"}'}, "forged"),
        ({"kind": "tool.call", "content": "{}"}, "forged"),
        ({"mission": "INC-2"}, "forged"),
        ({"run_id": CHILD}, "forged"),
        ({"tag": b""}, "untagged"),
        ({"tag": b"x" * 28}, "unknown_key"),
        ({"tag": b"x"}, "forged"),
    ],
)
def test_an_edited_event_is_found_though_all_is_hashed_anew(
    at: int, edit: dict[str, object], said: str
) -> None:
    events = a_run().events
    events[at] = replace(events[at], **edit)  # type: ignore[arg-type]
    assert reason(verdict(hashed(events))) == (at + 1, said)


@pytest.mark.promise("EV-02")
def test_a_forged_event_is_found_wherever_it_is_put() -> None:
    for at in range(LENGTH + 1):
        forged = Writer()
        forged.write("tool.call", {"step": 9}, is_tagged=False)
        events = a_run().events
        found = verdict(hashed([*events[:at], *forged.events, *events[at:]]))
        assert reason(found) == (at + 1, "untagged")


@pytest.mark.promise("EV-02")
@pytest.mark.field("FL-82")
@pytest.mark.parametrize("kept", range(LENGTH))
def test_a_chain_that_was_cut_is_found_by_its_head(kept: int) -> None:
    events = hashed(a_run().events)
    found = verdict(events[:kept], head=head_of(events))
    assert reason(found) == (kept + 1, "cut_off")
    assert "no_end" in lacks(found)


@pytest.mark.promise("EV-02")
@pytest.mark.field("FL-82")
@pytest.mark.parametrize("kept", range(LENGTH))
def test_a_chain_that_was_cut_and_its_head_put_back_lacks_its_end(kept: int) -> None:
    events = hashed(a_run().events)[:kept]
    found = verdict(events, head=head_of(events))
    assert (found.is_intact, found.is_complete) == (True, False)
    assert "no_end" in lacks(found)


@pytest.mark.promise("EV-02")
def test_a_chain_without_its_head_is_broken() -> None:
    events = hashed(a_run().events)
    found = verdict_of(events, correlation_id=CHAIN, head=None, keys=[KEY])
    assert reason(found) == (LENGTH + 1, "no_head")


@pytest.mark.promise("EV-02")
def test_a_process_that_was_taken_over_cannot_have_written_later() -> None:
    it = Writer()
    it.write("run.started", STARTED, attempt=1)
    late = it.write("step", {"step": 1}, attempt=1)
    taken = it.write("run.resumed", {}, attempt=2)
    assert reason(verdict(hashed([taken, late]))) == (2, "doubled")


@pytest.mark.promise("EV-07")
@pytest.mark.field("FL-85")
def test_a_hole_that_a_gap_tells_of_is_no_break() -> None:
    it = a_run()
    dropped = [it.events[0], it.events[3]]
    gap = Writer().gap(1)
    rest = [e for e in it.events if e not in dropped]
    assert reason(verdict(hashed(rest))) == (1, "left_out")
    # The gap stands where the next flush was.
    told = [gap, rest[0], rest[1], gap, *rest[2:]]
    found = verdict(hashed(told))
    assert (found.is_intact, found.is_complete) == (True, False)
    assert lacks(found)[:2] == ["gap", "gap"]
    assert reason(verdict(hashed([gap, rest[0], rest[1], *rest[2:]]))) is not None


@pytest.mark.promise("EV-07")
def test_a_gap_of_one_run_is_no_excuse_for_another() -> None:
    it = Writer()
    it.write("gap", {"missing": 5}, run=CHILD, is_tagged=False)
    it.write("run.started", STARTED)
    it.write("step", {"step": 1})
    events = hashed([it.events[0], it.events[2]])
    assert reason(verdict(events, facts=OPEN)) == (2, "left_out")


@pytest.mark.parametrize("decision", ["expired", "withdrawn"])
def test_a_decision_of_nobody_needs_no_tag(decision: str) -> None:
    it = Writer()
    it.write("approval.decided", {"decision": decision}, is_tagged=False)
    assert verdict(hashed(it.events), facts=OPEN).is_intact


@pytest.mark.promise("EV-02")
@pytest.mark.parametrize(
    "content",
    [
        {"decision": "approved"},
        {"decision": "rejected"},
        {"note": '"decision":"expired"', "decision": "approved"},
        {"decision": ["expired"]},
    ],
)
def test_a_decision_that_somebody_made_needs_one(content: dict[str, object]) -> None:
    it = Writer()
    it.write("approval.decided", content, is_tagged=False)
    assert reason(verdict(hashed(it.events), facts=OPEN)) == (1, "untagged")


@pytest.mark.promise("EV-02")
def test_a_name_that_stands_twice_lends_no_leave() -> None:
    it = Writer()
    event = it.write("approval.decided", {}, is_tagged=False)
    twice = replace(event, content='{"decision":"approved","decision":"expired"}')
    assert reason(verdict(hashed([twice]), facts=OPEN)) == (1, "untagged")


def test_events_of_releases_before_tags_are_let_be_as_far_as_the_head_says() -> None:
    it = Writer()
    for _ in range(2):
        it.write("step", {}, is_tagged=False)
    events = hashed(it.events)
    found = verdict(events, head=head_of(events, untagged=2), facts=OPEN)
    # Whoever can write heads can say so of any chain: it is told.
    assert (found.is_intact, lacks(found)) == (True, ["no_start", "before_tags"])
    assert reason(verdict(events, head=head_of(events, untagged=1), facts=OPEN)) == (2, "untagged")


@pytest.mark.promise("EV-01")
def test_a_run_of_which_an_end_alone_is_told_has_no_start() -> None:
    it = Writer()
    it.write("run.ended", {"status": "failed", "steps": 0})
    found = verdict(hashed(it.events), facts=(RunFacts(run_id=RUN, is_ended=True),))
    assert (found.is_intact, lacks(found)) == (True, ["no_start"])


@pytest.mark.promise("EV-02")
def test_what_was_written_before_tags_stands_before_all_that_has_one() -> None:
    """Else whoever can change a head would only have to say that all of it is old."""
    it = Writer()
    it.write("run.started", STARTED)
    it.write("tool.call", {}, is_tagged=False)
    events = hashed(it.events)
    assert reason(verdict(events, head=head_of(events, untagged=2), facts=OPEN)) == (2, "untagged")


def test_a_key_that_is_not_here_leaves_it_unproven() -> None:
    found = verdict(hashed(a_run().events), keys=())
    assert reason(found) == (1, "unknown_key")


def test_the_seal_is_asked_with_the_hash_of_the_event_that_it_closes_over() -> None:
    events = hashed(a_run().events)
    asked: list[bytes | None] = []

    def check(_head: Head, _chain: UUID, sealed: bytes | None) -> Found:
        asked.append(sealed)
        return Found(number=3, reason="sealed_otherwise", sentence="x")

    found = verdict(events, head=head_of(events, sealed_count=3), seal=check)
    assert (asked, reason(found)) == ([events[2].hash], (3, "sealed_otherwise"))
    # One that does not hold that many events any more has none.
    verdict(events[:2], head=head_of(events[:2], sealed_count=3), seal=check)
    assert asked[1] is None


@pytest.mark.promise("EV-02")
@pytest.mark.parametrize(
    ("name", "counted"), [("steps", 3), ("calls", 2), ("input_tokens", 3), ("cost_micros", 1)]
)
def test_an_end_that_counts_more_than_is_told_is_incomplete(name: str, counted: int) -> None:
    it = a_run()
    it.events.pop()
    it.taggers.clear()
    ended = {"steps": 2, "calls": 1, **dict.fromkeys(NO_TOKENS, 2), "cost_micros": 0}
    it.write("run.ended", {"status": "failed", **ended, name: counted}, attempt=3)
    assert lacks(verdict(hashed(it.events))) == ["counters"]


def test_a_call_of_an_answered_run_that_is_told_nowhere_is_missed() -> None:
    it = Writer()
    it.write("run.started", STARTED)
    it.write("step", {"step": 1, "calls": ["v/t", "v/u"]})
    it.write("tool.call", {"step": 1, "index": 1})
    it.write("run.ended", {"status": "answered", "steps": 1, "calls": 2})
    assert lacks(verdict(hashed(it.events))) == ["calls"]


def test_a_run_that_goes_on_is_open_and_lacks_nothing() -> None:
    events = hashed(a_run().events[:4])
    found = verdict(events, facts=OPEN)
    assert (found.is_open, found.is_intact, found.is_complete) == (True, True, True)
    found = verdict(hashed(a_run().events), facts=OPEN)
    assert lacks(found) == ["ended_early"]


def test_a_child_of_which_nothing_is_told_is_missed() -> None:
    facts = [RunFacts(run_id=it, is_ended=True) for it in (RUN, CHILD)]
    found = verdict(hashed(a_run().events), facts=facts)
    assert [(it.run_id, it.reason) for it in found.lacks] == [(CHILD, "no_end")]


def test_events_of_a_run_of_which_no_row_is_known_are_said_to_lack_it() -> None:
    assert lacks(verdict(hashed(a_run().events[:4]), facts=())) == ["no_row"]


def test_what_is_still_owed_is_missing() -> None:
    facts = (RunFacts(run_id=RUN, is_ended=True, owed=3),)
    assert lacks(verdict(hashed(a_run().events), facts=facts)) == ["owed"]


def test_of_many_things_that_are_missing_some_are_told() -> None:
    it = Writer()
    for _ in range(MOST_LACKS * 3):
        it.gap(1)
    found = verdict(hashed(it.events), facts=OPEN)
    assert (len(found.lacks), found.lacks_more) == (MOST_LACKS, True)


def test_beside_attempts_there_is_no_order() -> None:
    it = Writer()
    for _ in range(5):
        it.beside("call.settled", {})
    assert verdict(hashed(reversed(it.events)), facts=OPEN).is_intact
    assert BESIDE == 0
