"""A role that owns nothing carries a run from its start over a loss to its end, and may do nothing that is not needed for it."""

from __future__ import annotations

import pytest

from events.chain import first_break
from events.models import EventHead, RunEvent
from tests.unit.runs.carrying.conftest import World, calls, says


@pytest.mark.promise("ruling 28")
def test_a_role_that_owns_nothing_carries_a_run_over_a_loss_to_its_end(served_world: World) -> None:
    world = served_world
    run = world.start(calls(("v/look", {}), ("v/keyed", {"title": "disk"})), says("done"))
    first = world.process("a")
    first.take()
    world.prove_dead(first)
    ended = world.process("b").carry()
    assert ended.status == "answered"
    assert ended.losses == 1
    rows = RunEvent.objects.order_by("number")
    kinds = [it.kind for it in rows]
    assert kinds[0] == "run.started"
    assert kinds[-1] == "run.ended"
    head = EventHead.objects.get()
    assert first_break(rows, correlation_id=run.correlation_id, head=head) is None
