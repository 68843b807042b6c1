"""What a process counts of the runs that it carries."""

from __future__ import annotations

from dataclasses import replace

import pytest
from psycopg import OperationalError

from liyagent.core.metrics import REGISTRY
from liyagent.gateway.models import Policy
from liyagent.providers.types import ModelRejected, ModelRequest, ModelUnavailable
from runs import ask, hot
from tests.unit.runs.carrying.conftest import Model, World, calls, says

Series = tuple[str, dict[str, str]]
TRIED: tuple[Series, ...] = tuple(
    ("model_call_seconds_count", {"provider": "listed", "outcome": outcome})
    for outcome in ("answered", "unavailable", "rejected", "unwanted")
)
FATES = ("done", "failed", "refused", "held", "unknown")


def values(*series: Series) -> list[float]:
    """What is counted now; 0 where nothing was."""
    return [REGISTRY.get_sample_value(f"liyagent_{name}", labels) or 0.0 for name, labels in series]


def more(before: list[float], *series: Series) -> list[float]:
    """What was counted since."""
    return [now - then for now, then in zip(values(*series), before, strict=True)]


def test_a_run_counts_its_steps_calls_tokens_and_its_end(world: World) -> None:
    series: tuple[Series, ...] = (
        ("step_seconds_count", {}),
        TRIED[0],
        ("tool_call_seconds_count", {"server": "v", "fate": "done"}),
        ("calls_settled_total", {"server": "v", "fate": "done"}),
        ("model_tokens_total", {"agent": "triage", "direction": "input"}),
        ("model_tokens_total", {"agent": "triage", "direction": "output"}),
        ("runs_ended_total", {"status": "answered", "error": "none"}),
    )
    before = values(*series)
    step = replace(calls(("v/look", {}), ("v/keyed", {"n": 1})), input_tokens=30, output_tokens=4)
    world.start(step, replace(says("done"), input_tokens=5, output_tokens=2))
    world.process().carry()
    assert more(before, *series) == [2, 2, 2, 2, 35, 6, 1]


def test_a_refused_call_is_counted_and_is_no_sending(world: World) -> None:
    Policy.objects.update(text='@id("none")\nforbid (principal, action, resource);')
    series: tuple[Series, ...] = tuple(
        ("calls_settled_total", {"server": "v", "fate": fate}) for fate in FATES
    )
    sent = tuple(("tool_call_seconds_count", {"server": "v", "fate": fate}) for fate in FATES)
    before, sent_before = values(*series), values(*sent)
    world.start(calls(("v/look", {})), says("done"))
    world.process().carry()
    assert more(before, *series) == [0, 0, 1, 0, 0]
    assert more(sent_before, *sent) == [0] * 5


def test_each_try_to_ask_a_model_is_counted_by_what_came_of_it(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ask, "FIRST_PAUSE_SECONDS", 0.001)
    wrong = [ModelUnavailable("busy"), ModelUnavailable("busy"), None, ModelRejected("no")]
    answer = Model.ask

    def fail_first(model: Model, request: ModelRequest) -> object:
        error = wrong.pop(0)
        if error is not None:
            raise error
        return answer(model, request)

    monkeypatch.setattr(Model, "ask", fail_first)
    ended: Series = ("runs_ended_total", {"status": "failed", "error": "model.rejected"})
    before = values(*TRIED, ended)
    world.start(calls(("v/look", {})), says("done"))
    world.process().carry()
    assert more(before, *TRIED, ended) == [1, 2, 1, 0, 1]


def test_a_hot_statement_asked_again_is_counted_as_one_statement_and_one_retry(
    world: World,
) -> None:
    series: tuple[Series, ...] = (
        ("hot_statement_seconds_count", {}),
        ("hot_statement_retries_total", {}),
    )
    before = values(*series)
    asked = 0

    def question(_connection: object) -> int:
        nonlocal asked
        asked += 1
        if asked == 1:
            raise OperationalError("gone")
        return asked

    assert hot._until_answered(question, give_up=lambda: False) == 2
    assert more(before, *series) == [1, 1]


def test_events_that_the_database_drops_are_counted(world: World) -> None:
    series: Series = ("database_warnings_total", {})
    before = values(series)
    world.start(calls(("v/look", {})), says("done"))
    world.sql("ALTER TABLE events_runevent ADD CONSTRAINT no_more CHECK (number < 0) NOT VALID")
    world.process().carry()
    assert more(before, series)[0] >= 1
