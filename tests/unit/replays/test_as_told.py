"""Results are served in the words that the model was told then; only the record says what they are."""

from __future__ import annotations

from typing import Any

import pytest

from liyagent.replays.as_told import as_told
from tests.fakes.model_server import Turn
from tests.unit.replays.conftest import Replays, asks
from tests.unit.replays.test_diff import was_called
from tests.unit.runs.carrying.conftest import calls, says

RECORDED = {"a": 5, "b": [1]}


def conversation(*results: str) -> list[dict[str, Any]]:
    """A history, a task, one step, and its results."""
    return [
        {"role": "user", "text": "earlier"},
        {"role": "assistant", "text": "an answer of then"},
        {"role": "user", "text": "the task"},
        {"role": "assistant", "text": "", "calls": []},
        *({"role": "tool", "text": it} for it in results),
        {"role": "assistant", "text": "done"},
    ]


@pytest.mark.parametrize(
    ("told", "served"),
    [
        ('{"b":[1],"a":5.0}', '{"b": [1], "a": 5.0}'),
        ('{"a":6,"b":[1]}', '{"a": 5, "b": [1]}'),
        ('{"a":5}', '{"a": 5, "b": [1]}'),
        ("no json", '{"a": 5, "b": [1]}'),
        ('"{}"', '{"a": 5, "b": [1]}'),
        ("", '{"a": 5, "b": [1]}'),
    ],
)
def test_the_form_is_the_conversation_s_and_what_is_served_is_the_record_s(
    told: str, served: str
) -> None:
    (call,) = as_told([was_called("v/look", result=RECORDED)], conversation(told))
    assert repr(call.result).replace("'", '"') == served


def test_each_result_of_a_step_is_its_own() -> None:
    one, two = was_called("v/a", result={"n": 1}), was_called("v/b", index=1, result={"n": 2})
    found = as_told([one, two], conversation('{"n":1.0}', '{"n":2.0}'))
    assert [str(it.result) for it in found] == ["{'n': 1.0}", "{'n': 2.0}"]
    assert as_told([one, two], conversation('{"n":1.0}'))[1] is two
    assert as_told([one], []) == [one]


@pytest.mark.promise("RP-03")
def test_the_model_of_a_replay_is_told_byte_for_byte_what_the_model_of_the_run_was(
    replays: Replays,
) -> None:
    odd = {"z": 5.0, "a": {"y": 1e3, "b": "é\n"}, "n": None}
    recording = replays.recorded(calls(("v/look", odd)), calls(("v/keyed", odd)), says("done"))
    replays.replay(recording, asks(("v/look", odd)), asks(("v/keyed", odd)), Turn(text="done"))
    assert replays.results() == replays.world.model.results()
    assert '"z":5.0' in replays.results()[0]
