"""The small world of runs, for those that wait for a person."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from runs import hot
from tests.unit.approvals.deciding import HOLD, CutPool, let_decide
from tests.unit.runs.carrying.conftest import World, world
from tests.unit.runs.carrying.vendor import Killed
from tests.unit.runs.conftest import server

__all__ = ["server", "world"]

Cut = Callable[..., CutPool]


@pytest.fixture
def held(world: World) -> World:
    """The agent's writes are held and it may wait; olga and kim may decide."""
    world.sql(HOLD)
    let_decide("olga", "kim")
    return world


@pytest.fixture
def cut(monkeypatch: pytest.MonkeyPatch) -> Cut:
    """Cut the hot path once: `cut("liyagent_wait", is_after=True)` lets the process die after that commit."""

    def die() -> None:
        raise Killed

    def cut_at(function: str, *, is_after: bool = False, act: Callable[[], None] = die) -> CutPool:
        pool = CutPool(function, is_after=is_after, act=act)
        monkeypatch.setattr(hot, "hot_pool", lambda: pool)
        return pool

    return cut_at
