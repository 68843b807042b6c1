"""A run is replayed through the agent as it stands, and nothing of it is real (RP-02, RP-04)."""

from __future__ import annotations

import pytest

from liyagent.replays.diff import compare
from tests.fakes.model_server import Turn
from tests.unit.replays.conftest import Replays, asks
from tests.unit.runs.carrying.conftest import calls, says


@pytest.mark.promise("RP-03")
def test_a_run_is_replayed_under_another_model_with_every_call_answered_from_its_record(
    replays: Replays,
) -> None:
    recording = replays.recorded(
        calls(("v/look", {"at": 1}), ("v/keyed", {"n": 5})), says("all is well")
    )
    told = replays.replay(
        recording,
        asks(("v/look", {"at": 1.0}), ("v/keyed", {"n": 5})),
        Turn(text="all is  well"),
    )
    assert (told.status, told.answer) == ("answered", "all is  well")
    assert [(it.name, it.how, it.fate) for it in told.calls] == [
        ("v/look", "exact", "done"),
        ("v/keyed", "exact", "done"),
    ]
    assert told.calls[1].result == recording.calls[1].result
    assert compare(recording, told).verdict == "same"
    assert replays.world.vendor.received == ["look", "keyed"]
