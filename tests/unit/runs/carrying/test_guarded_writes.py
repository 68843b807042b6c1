"""A call once marked as a write is one for every gate, whatever its tool is called today (CR-25)."""

from __future__ import annotations

import pytest

from tests.unit.runs.carrying.conftest import World, calls, says
from tests.unit.runs.carrying.vendor import Killed, die_after_effect


@pytest.mark.promise("CR-25")
def test_a_marked_call_is_judged_as_a_write_by_the_gates(world: World) -> None:
    """Keyed, so only the posture against writes can stop the re-send."""
    run = world.start(calls(("v/keyed", {"n": 1})), says("done"))
    first = world.process("first")
    die_after_effect("keyed")
    with pytest.raises(Killed):
        first.carry()
    world.sql("UPDATE gateway_tool SET effect = 'read' WHERE name = 'keyed'")
    world.sql("UPDATE agents_agent SET write_posture = 'refuse'")
    world.lapse(first)
    world.process("second").carry()
    assert world.vendor.received == ["keyed"]
    assert world.call(run, 1).fate == "unknown"
