"""A held write in doubt: its one request is found again, and what a person decided meanwhile is read (CR-21)."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from liyagent.approvals.models import Approval
from liyagent.providers.types import Role
from runs import hot
from runs.models import Run
from tests.unit.approvals.conftest import Cut
from tests.unit.approvals.deciding import HOLD_AND_GO_ON, approve, reject, the_request
from tests.unit.runs.carrying.conftest import World, calls, says
from tests.unit.runs.carrying.test_lasting_threads import LosingPool
from tests.unit.runs.carrying.vendor import Killed

Decide = Callable[[Approval], Approval]
# What lets a call through that was held when it was asked for.
BY_NOW = {
    "writes are let through": "UPDATE agents_agent SET write_posture = 'allow'",
    "the tool is held a read": "UPDATE gateway_tool SET effect = 'read' WHERE name = 'keyed'",
}


def start(held: World) -> Run:
    return held.start(calls(("v/look", {}), ("v/keyed", {"n": 1})), says("done"))


def die_taken(held: World, times: int) -> None:
    """A process takes the run, and dies before it does anything."""
    for number in range(times):
        process = held.process(f"short-lived {number}")
        process.take()
        held.prove_dead(process)


@pytest.mark.promise("CR-21")
@pytest.mark.promise("CR-09")
def test_a_process_that_dies_before_the_request_is_stored_leaves_none_and_the_next_files_it(
    held: World, cut: Cut
) -> None:
    run, first = start(held), held.process("first")
    cut("liyagent_hold")
    with pytest.raises(Killed):
        first.carry()
    assert Approval.objects.count() == 0
    held.prove_dead(first)
    assert held.process("second").carry().status == "waiting"
    assert the_request().run_id == run.id


@pytest.mark.promise("CR-21")
@pytest.mark.promise("CR-02")
@pytest.mark.field("FL-51")
@pytest.mark.parametrize("decide", [approve, reject])
def test_a_process_that_dies_after_filing_loses_nothing_and_no_second_request_is_filed(
    held: World, cut: Cut, decide: Decide
) -> None:
    run, first = start(held), held.process("first")
    cut("liyagent_hold", is_after=True)
    with pytest.raises(Killed):
        first.carry()
    assert held.prove_dead(first) == []
    assert Run.objects.get(id=run.id).status == "waiting"
    decide(the_request())
    ended = held.process("second").carry()
    assert (ended.status, ended.losses, Approval.objects.count()) == ("answered", 0, 1)
    assert held.vendor.of("keyed") == [] if decide is reject else len(held.vendor.rows) == 1


@pytest.mark.promise("CR-21")
@pytest.mark.parametrize("decide", [approve, reject])
@pytest.mark.parametrize("deaths", [1, 2])
def test_what_was_decided_is_read_by_the_resume_however_often_it_dies_first(
    held: World, decide: Decide, deaths: int
) -> None:
    start(held)
    held.process("first").carry()
    decide(the_request())
    die_taken(held, deaths)
    ended = held.process("last").carry()
    assert (ended.status, ended.losses, Approval.objects.count()) == ("answered", deaths, 1)
    assert held.vendor.received.count("keyed") == (decide is approve)
    assert the_request().status == ("consumed" if decide is approve else "rejected")
    told = held.audit("agent.run.crash_resumed")[-1]["calls"]
    assert [it["settlement"] for it in told] == ["routed", "routed_to_its_approval"]


@pytest.mark.promise("CR-21")
@pytest.mark.parametrize("is_after", [False, True])
def test_a_process_that_dies_as_it_puts_the_run_back_to_sleep_leaves_the_one_request(
    held: World, cut: Cut, is_after: bool
) -> None:
    run = start(held)
    held.process("first").carry()
    held.sql("SELECT liyagent_wake(%s)", run.id)
    second = held.process("second")
    cut("liyagent_wait", is_after=is_after)
    with pytest.raises(Killed):
        second.carry()
    assert held.prove_dead(second) == ([] if is_after else [run.id])
    approve(the_request())
    ended = held.process("third").carry()
    assert (ended.status, Approval.objects.count()) == ("answered", 1)
    assert held.vendor.received.count("keyed") == 1


@pytest.mark.promise("CR-21")
@pytest.mark.field("FL-25")
@pytest.mark.parametrize("may_wait", [True, False])
def test_a_filing_whose_answer_is_lost_counts_once(
    held: World, monkeypatch: pytest.MonkeyPatch, may_wait: bool
) -> None:
    held.sql("UPDATE agents_agent SET may_wait = %s", may_wait)
    start(held)
    pool = LosingPool(lambda: bool(held.sql("SELECT 1 FROM approvals_approval")))
    monkeypatch.setattr(hot, "hot_pool", lambda: pool)
    carried = held.process("first").carry()
    assert pool.has_lost
    assert carried.status == ("waiting" if may_wait else "answered")
    assert (Approval.objects.count(), carried.losses) == (1, 0)


@pytest.mark.promise("CR-21")
@pytest.mark.parametrize("decides_first", [True, False])
@pytest.mark.parametrize("is_after", [True, False], ids=["after it is filed", "before"])
def test_a_run_that_goes_on_and_dies_as_it_files_has_one_request_and_tells_its_id(
    held: World, cut: Cut, is_after: bool, decides_first: bool
) -> None:
    """Where it was filed, the resume reads that it was: the call is not put before a person again."""
    held.sql(HOLD_AND_GO_ON)
    run, first = start(held), held.process("first")
    cut("liyagent_hold", is_after=is_after)
    with pytest.raises(Killed):
        first.carry()
    if is_after and decides_first:
        approve(the_request())
    held.prove_dead(first)
    for number in range(2):
        process = held.process(f"later {number}")
        for taken in process.take():
            process.go_on(*taken)
    request = the_request()
    ended = Run.objects.get(id=run.id)
    assert (ended.status, ended.losses) == ("answered", 1)
    of_root = [it for it in held.model.asked if it.steps_taken == 1]
    (_, told) = [it.text for it in of_root[-1].messages if it.role is Role.TOOL]
    assert str(request.id) in told
    assert (held.call(run, 1, 1).fate, held.call(run, 1, 1).settlement) == ("held", "answered")
    if not (is_after and decides_first):
        approve(request)
        held.process("last").carry()
    assert held.vendor.received.count("keyed") == 1
    assert (Approval.objects.count(), the_request().status) == (1, "consumed")


@pytest.mark.promise("CR-21")
@pytest.mark.parametrize("decide", [None, reject], ids=["nobody decided", "rejected"])
@pytest.mark.parametrize("change", BY_NOW.values(), ids=BY_NOW)
def test_what_was_held_is_not_made_because_nothing_would_hold_it_by_now(
    held: World, change: str, decide: Decide | None
) -> None:
    """A resume reads the mark, and never today's verdict (ruling 9)."""
    run = start(held)
    held.process("first").carry()
    if decide is not None:
        decide(the_request())
    held.sql(change)
    held.sql("SELECT liyagent_wake(%s)", run.id)
    die_taken(held, 1)
    carried = held.process("second").carry()
    assert carried.status == ("waiting" if decide is None else "answered")
    assert held.vendor.of("keyed") == []
    assert held.vendor.received.count("keyed") == 0
    assert the_request().status == ("pending" if decide is None else "rejected")


def test_each_held_call_of_a_step_has_a_request_of_its_own_one_after_the_other(
    held: World,
) -> None:
    held.start(calls(("v/keyed", {"n": 1}), ("v/keyed", {"n": 2})), says("done"))
    held.process("first").carry()
    approve(the_request())
    assert held.process("second").carry().status == "waiting"
    assert held.vendor.received == ["keyed"]
    reject(the_request(index=1))
    assert held.process("third").carry().status == "answered"
    assert [row["n"] for row in held.vendor.rows] == [1]
    assert "rejected" in held.model.results()[1]
