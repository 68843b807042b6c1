"""Two decide about one request on two processes at the same instant: one decision, one call, and the other is told who."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import psycopg
import pytest

from tests.processes.asking import ROUNDS, Asking, Request, asking, tokens
from tests.processes.decided import Outcome, assert_decided_once
from tests.processes.place import Place
from tests.processes.racing import Answer, Decision, Met, Shot, figures, race
from tests.processes.test_outages import TAKES_NOTHING

__all__ = ["asking", "tokens"]

# The first test of this file waits for all that is set up.
pytestmark = [pytest.mark.timeout(180 + 2 * ROUNDS)]

AT_THE_HEAD = 10
LATE_MS = 10
HOLD_HEADS = "SELECT id FROM runs_run WHERE id = ANY(%s) ORDER BY id FOR UPDATE"
# The watch comes last to those who approved in time: it has listed them when they get past the heads.
END_TIME = """
    UPDATE approvals_approval
        SET expires_at = liyagent_now() + make_interval(secs => (%s + CASE WHEN run_id = ANY(%s) THEN 1 ELSE 0 END) / 1000.0)
        WHERE run_id = ANY(%s) RETURNING id
"""
# Everybody who stands at a head: those who decide, and the watch that lets requests expire.
STANDING = """
    SELECT count(*)::int AS n FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%%liyagent_decide(%%'
"""


def both_approve(request: Request) -> tuple[Decision, Decision]:
    return (
        Decision(request=request, at="A", by="xena"),
        Decision(request=request, at="B", by="yuri"),
    )


def one_approves_and_one_rejects(request: Request) -> tuple[Decision, Decision]:
    return (
        Decision(request=request, at="A", by="xena"),
        Decision(request=request, at="B", by="yuri", status="rejected", reason="wrong host"),
    )


def one_clicks_twice(request: Request) -> tuple[Decision, Decision]:
    return (
        Decision(request=request, at="A", by="xena"),
        Decision(request=request, at="B", by="xena"),
    )


def who_won(met: Sequence[Met]) -> list[Outcome]:
    """What stands of each round; whoever came second was told who came first, and with what."""
    outcomes = []
    for it in met:
        won, lost = it.winner, it.loser
        assert won.data["status"] == won.decision.status
        assert won.data["decided_by"] == won.decision.by
        assert lost.data["code"] == "approval.already_decided"
        assert lost.data["facts"]["decided_by"] == won.decision.by
        assert f"{won.decision.by} {won.decision.status} it at" in lost.data["detail"]
        outcomes.append(
            Outcome(request=won.decision.request, status=won.decision.status, by=won.decision.by)
        )
    return outcomes


@pytest.mark.promise("CR-29")
@pytest.mark.field("FL-53")
@pytest.mark.parametrize("waits", [True, False], ids=["the run waits", "the run went on"])
def test_of_two_who_approve_on_two_processes_one_decides_and_the_call_is_made_once(
    asking: Asking, waits: bool
) -> None:
    requests = asking.ask(ROUNDS, waits=waits)
    began = time.monotonic()
    met = race(asking, [both_approve(it) for it in requests])
    seconds = time.monotonic() - began
    assert_decided_once(asking.place, who_won(met), waits=waits)
    print(figures("approve, approve", met, seconds=seconds))  # noqa: T201 - the figures of this test


@pytest.mark.promise("CR-29")
@pytest.mark.field("FL-53")
def test_a_click_that_comes_twice_within_a_millisecond_and_again_by_a_proxy_counts_once(
    asking: Asking,
) -> None:
    """Both are told what is settled; so is who sends the same bytes again at the other process once all is over."""
    requests = asking.ask(ROUNDS)
    began = time.monotonic()
    met = race(asking, [one_clicks_twice(it) for it in requests])
    seconds = time.monotonic() - began
    for it in met:
        first, second = (told.data for told in it.answers)
        assert {told.status for told in it.answers} == {200}
        assert (first["decided_at"], first["decided_by"]) == (second["decided_at"], "xena")
    assert sorted(it.gap_ms for it in met)[ROUNDS // 2] < 1
    outcomes = [Outcome(request=it, status="approved", by="xena") for it in requests]
    assert_decided_once(asking.place, outcomes)
    replayed = race(asking, [one_clicks_twice(it) for it in requests])
    for before, after in zip(met, replayed, strict=True):
        assert {(it.status, it.data["status"]) for it in after.answers} == {(200, "consumed")}
        settled = {it.data["decided_at"] for it in (*before.answers, *after.answers)}
        assert len(settled) == 1
    assert_decided_once(asking.place, outcomes)
    print(figures("one click twice", met, seconds=seconds))  # noqa: T201 - the figures of this test


@pytest.mark.promise("CR-29")
@pytest.mark.field("FL-55")
def test_of_one_who_approves_and_one_who_rejects_on_two_processes_one_decides(
    asking: Asking,
) -> None:
    requests = asking.ask(ROUNDS)
    began = time.monotonic()
    met = race(asking, [one_approves_and_one_rejects(it) for it in requests])
    seconds = time.monotonic() - began
    assert_decided_once(asking.place, who_won(met))
    print(figures("approve, reject", met, seconds=seconds))  # noqa: T201 - the figures of this test


@pytest.mark.promise("CR-29")
def test_of_an_approval_and_the_end_of_its_time_one_decides(asking: Asking) -> None:
    """Half approve in time and half as it ends; the watch comes meanwhile. All stand at the heads when these are let go.

    What is approved is made only as long as its time lasts: each of these is over by then, and is asked for anew.
    """
    place, requests = asking.place, asking.ask(ROUNDS)
    began, outcomes = time.monotonic(), []
    with nobody_takes(place):
        for start in range(0, ROUNDS, AT_THE_HEAD):
            batch = requests[start : start + AT_THE_HEAD]
            answers = approve_as_time_ends(asking, batch)
            outcomes += [in_time_or_too_late(it) for it in answers]
        seconds = time.monotonic() - began
    in_time = [it for it in outcomes if it.status == "approved"]
    again = [
        Decision(request=it, at="A", by="yuri")
        for it in asking.filed([it.request.run for it in in_time])
    ]
    for it in again:
        shot = Shot(it, asking)
        shot.fire()
        assert shot.answer().status == 200
    anew = [Outcome(request=it.request, status="approved", by="yuri") for it in again]
    too_late = [it for it in outcomes if it.status != "approved"]
    assert_decided_once(asking.place, [*too_late, *anew], too_old=in_time)
    told = Counter(it.status for it in outcomes)
    assert set(told) == {"approved", "expired"}
    print(f"approve, expire: {ROUNDS} rounds in {seconds:.1f} s; {dict(told)}")  # noqa: T201 - the figures of this test


@contextmanager
def nobody_takes(place: Place) -> Iterator[None]:
    """Let A and B watch and answer, and carry nothing on, until the block ends."""
    place.watch.rows(TAKES_NOTHING, [True, place.holders("A", "B")])
    try:
        yield
    finally:
        place.watch.rows(TAKES_NOTHING, [False, place.holders("A", "B")])


def approve_as_time_ends(asking: Asking, batch: Sequence[Request]) -> list[Answer]:
    """Approve each while its time ends; nobody gets past the heads of the runs before the watch stands there too."""
    place, runs = asking.place, [it.run for it in batch]
    shots = [
        Shot(Decision(request=it, at="AB"[number % 2], by="xena"), asking)
        for number, it in enumerate(batch)
    ]
    half = len(shots) // 2
    with psycopg.connect(place.stage.database_url) as holding:
        assert len(holding.execute(HOLD_HEADS, [runs]).fetchall()) == len(runs)
        for shot in shots[:half]:
            shot.fire()
        place.until(lambda: place.one(STANDING) == half, "those in time")
        place.watch.rows(END_TIME, [LATE_MS, runs[:half], runs])
        for shot in shots[half:]:
            time.sleep(random.uniform(0, 2 * LATE_MS / len(shots) / 1000))
            shot.fire()
        place.until(lambda: place.one(STANDING) > len(shots), "the watch")
    return [shot.answer() for shot in shots]


def in_time_or_too_late(answer: Answer) -> Outcome:
    """What stands of a request that was approved as its time ended; who came too late is told so."""
    request = answer.decision.request
    if answer.status == 200:
        assert (answer.data["status"], answer.data["decided_by"]) == ("approved", "xena")
        return Outcome(request=request, status="approved", by="xena")
    assert (answer.status, answer.data["code"]) == (409, "approval.expired")
    assert "it expired at" in answer.data["detail"]
    return Outcome(request=request, status="expired", by="system")
