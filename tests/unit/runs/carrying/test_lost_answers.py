"""A commit whose answer never arrives: asked again, it counts once; nothing leaves on a mark not seen stored (ruling 5)."""

from __future__ import annotations

import pytest

from runs import hot
from runs.errors import LostLease
from tests.unit.runs.carrying.conftest import World, calls, says
from tests.unit.runs.carrying.test_lasting_threads import LosingPool

STORED = {
    "a step": "SELECT 1 FROM runs_part WHERE number = 1",
    "a mark": "SELECT 1 FROM runs_call WHERE fate = ''",
    "an outcome": "SELECT 1 FROM runs_call WHERE fate = 'done'",
    "the end": "SELECT 1 FROM runs_run WHERE status = 'answered'",
}


@pytest.mark.promise("CR-10")
@pytest.mark.field("FL-25")
@pytest.mark.parametrize("stored", STORED.values(), ids=STORED)
def test_a_write_whose_answer_is_lost_counts_once(
    world: World, monkeypatch: pytest.MonkeyPatch, stored: str
) -> None:
    run = world.start(calls(("v/blind", {"n": 1})), says("done"))
    process = world.process()
    ((_, attempt),) = process.take()
    pool = LosingPool(lambda: bool(world.sql(stored)))
    monkeypatch.setattr(hot, "hot_pool", lambda: pool)
    ended = process.go_on(run.id, attempt)
    assert pool.has_lost
    assert (ended.status, ended.attempt, ended.losses) == ("answered", 1, 0)
    assert world.vendor.received == ["blind"]
    assert (world.call(run, 1).fate, world.call(run, 1).settlement) == ("done", "answered")
    told = [it.kind for it in world.events(run)]
    assert told == ["run.started", "step", "tool.call", "step", "run.ended"]


@pytest.mark.promise("CR-12")
@pytest.mark.field("FL-25")
def test_a_mark_whose_answer_is_lost_sends_nothing_where_the_run_was_claimed_meanwhile(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = world.start(calls(("v/blind", {"n": 1})), says("done"))
    first = world.process("first")
    ((_, attempt),) = first.take()
    pool = LosingPool(lambda: bool(world.sql(STORED["a mark"])) and bool(world.lapse(first)))
    with monkeypatch.context() as patch:
        patch.setattr(hot, "hot_pool", lambda: pool)
        with pytest.raises(LostLease):
            first.go_on(run.id, attempt)
    assert pool.has_lost
    ended = world.process("second").carry()
    assert (ended.status, ended.losses) == ("answered", 1)
    assert world.vendor.received == []
    assert (world.call(run, 1).fate, world.call(run, 1).settlement) == ("unknown", "told_unknown")
