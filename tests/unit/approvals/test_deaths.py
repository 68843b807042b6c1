"""An approved call and a process that dies: the decision stands, one effect at the most, nobody is asked twice (FL-52)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest

from liyagent.approvals.models import Approval
from runs.keys import approved_call_key
from tests.unit.approvals.conftest import Cut
from tests.unit.approvals.deciding import approve, the_request
from tests.unit.runs.carrying.conftest import Process, World, calls, says
from tests.unit.runs.carrying.vendor import Killed, die_after_effect

Die = Callable[[World, Cut, str], Process]


def after_decision(_held: World, _cut: Cut, _tool: str) -> None:
    """No process was alive when it was decided."""


def after_take(held: World, _cut: Cut, _tool: str) -> Process:
    process = held.process("taker")
    process.take()
    return process


def _within(held: World) -> Process:
    process = held.process("doomed")
    with pytest.raises(Killed):
        process.carry()
    return process


def at(function: str, held: World, cut: Cut, _tool: str, *, is_after: bool = True) -> Process:
    cut(function, is_after=is_after)
    return _within(held)


def after_effect(held: World, _cut: Cut, tool: str) -> Process:
    die_after_effect(tool)
    return _within(held)


POINTS: dict[str, Callable[..., Process | None]] = {
    "decision": after_decision,
    "take": after_take,
    "mark": partial(at, "liyagent_reserve"),
    "effect": after_effect,
    "result": partial(at, "liyagent_settle"),
    "end": partial(at, "liyagent_finish", is_after=False),
}
# What is stored of the call, and how often the vendor got it: a keyed one is sent again, a readable one looked for.
IN_DOUBT = {
    ("keyed", "mark"): ("done", 1, 1),
    ("keyed", "effect"): ("done", 2, 1),
    ("readable", "mark"): ("unknown", 0, 0),
    ("readable", "effect"): ("done", 1, 1),
    ("blind", "mark"): ("unknown", 0, 0),
    ("blind", "effect"): ("unknown", 1, 1),
}


@pytest.mark.promise("CR-29")
@pytest.mark.promise("CR-02")
@pytest.mark.field("FL-52")
@pytest.mark.parametrize("tool", ["keyed", "readable", "blind"])
@pytest.mark.parametrize("point", POINTS)
def test_the_decision_stands_wherever_the_process_dies(
    held: World, cut: Cut, tool: str, point: str
) -> None:
    run = held.start(calls((f"v/{tool}", {"n": 1})), says("done"))
    held.process("first").carry()
    approval = approve(the_request())
    dead = POINTS[point](held, cut, tool)
    if dead is not None:
        held.prove_dead(dead)
    ended = held.process("survivor").carry()
    assert (ended.status, ended.losses) == ("answered", int(dead is not None))
    fate, received, effects = IN_DOUBT.get((tool, point), ("done", 1, 1))
    assert held.call(run, 1).fate == fate
    assert held.vendor.received.count(tool) == received
    assert [row["key"] for row in held.vendor.of(tool)] == (
        [approved_call_key(approval.id)] * effects
    )
    assert (Approval.objects.count(), the_request().status) == (1, "consumed")
    kinds = [it.kind for it in held.events(run)]
    assert kinds.count("approval.decided") == kinds.count("run.ended") == 1


@pytest.mark.field("FL-53")
def test_a_call_whose_end_is_stored_is_not_made_again_by_a_second_approval(held: World) -> None:
    """The same request replayed by a proxy half a minute later: the settled state, and no second call."""
    held.start(calls(("v/blind", {"n": 1})), says("done"))
    held.process("first").carry()
    approval = approve(the_request())
    held.process("second").carry()
    assert approve(approval).status == "consumed"
    assert held.process("third").take() == []
    assert held.vendor.received == ["blind"]
