"""A crowd at one endpoint comes apart once the endpoint says that it is asked too much."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from liyagent.providers.pace import Pace, pace_of


@pytest.fixture(autouse=True)
def frozen(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [1000.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    return now


def test_nobody_waits_for_an_endpoint_that_answers() -> None:
    free = Pace()
    assert [free.turn() for _ in range(100)] == [0.0] * 100


def test_a_crowd_that_was_refused_goes_one_by_one_behind_the_wished_moment() -> None:
    crowded = Pace()
    for _ in range(64):
        crowded.refused(asked_at=999.0, wait_seconds=2.0)
    turns = [crowded.turn() for _ in range(64)]
    assert turns == pytest.approx([2.0 + 0.05 * n for n in range(64)])


def test_the_crowd_that_asked_before_it_was_slowed_does_not_slow_it_again(
    frozen: list[float],
) -> None:
    crowded = Pace()
    crowded.refused(asked_at=999.0, wait_seconds=0.0)
    frozen[0] += 1
    crowded.refused(asked_at=999.5, wait_seconds=0.0)
    assert [crowded.turn() for _ in range(2)] == pytest.approx([0.0, 0.05])
    crowded.refused(asked_at=1001.0, wait_seconds=0.0)
    frozen[0] += 9
    assert [crowded.turn() for _ in range(2)] == pytest.approx([0.0, 0.1])


def test_the_gap_grows_to_a_bound_and_goes_as_the_endpoint_answers(frozen: list[float]) -> None:
    crowded = Pace()
    for _ in range(20):
        crowded.refused(asked_at=frozen[0], wait_seconds=0.0)
        frozen[0] += 1
    assert [crowded.turn() for _ in range(2)] == pytest.approx([0.0, 2.0])
    for _ in range(20):
        crowded.answered()
    assert crowded.turn() > 0, "turns that were promised are kept apart"
    frozen[0] += 60
    crowded.answered()
    assert [crowded.turn() for _ in range(9)] == [0.0] * 9


def test_each_endpoint_and_key_has_its_own() -> None:
    one = pace_of(provider="openai", base_url="http://a", api_key_env="K")
    assert one is pace_of(provider="openai", base_url="http://a", api_key_env="K")
    assert one is not pace_of(provider="openai", base_url="http://a", api_key_env="L")


def test_threads_get_turns_of_their_own() -> None:
    crowded = Pace()
    crowded.refused(asked_at=time.monotonic(), wait_seconds=0.0)
    with ThreadPoolExecutor(16) as pool:
        turns = sorted(pool.map(lambda _n: crowded.turn(), range(200)))
    assert turns == pytest.approx([0.05 * n for n in range(200)])
