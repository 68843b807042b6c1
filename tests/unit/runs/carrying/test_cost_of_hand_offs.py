"""A run that hands nothing over pays nothing for hand-offs: not one statement, and so not one commit, more."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from handoffs.models import Snapshot
from liyagent.core.database import hot_pool
from liyagent.gateway.models import Tool
from runs import hot
from tests.unit.runs.carrying.conftest import World, calls, says

FUNCTION = re.compile(r"(?:FROM|SELECT) (liyagent_\w+)")
# What a run of a read, a write and an answer asks on the hot path, each a commit, as it did before there were hand-offs.
ASKED = [
    "liyagent_due_alone", "liyagent_take", "runs_run", "runs_call", "runs_part", "events", "liyagent_config_version",
    "liyagent_step", "liyagent_step", "liyagent_mark", "liyagent_settle", "liyagent_finish",
]  # fmt: skip
TABLES = ("events_runevent", "runs_call", "runs_part", "runs_run")
# The configuration, read once, and the run, by the test.
MOST_OF_THE_ORM = 6


class Noting:
    """The hot pool; each statement is noted with its values."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, Any]] = []

    def getconn(self) -> Any:
        return _Noting(hot_pool().getconn(), self.asked)

    def putconn(self, noting: _Noting) -> None:
        hot_pool().putconn(noting.real)

    def values_of(self, function: str) -> Any:
        """What the one call of a function was given."""
        (values,) = [values for sql, values in self.asked if f"{function}(" in sql]
        return values


class _Noting:
    def __init__(self, real: Any, asked: list[tuple[str, Any]]) -> None:
        self.real, self.asked = real, asked

    def execute(self, sql: str, values: Any = (), **more: Any) -> Any:
        self.asked.append((sql, values))
        return self.real.execute(sql, values, **more)

    def execute_meanwhile(self, sql: str, values: Any, meanwhile: Any) -> Any:
        self.asked.append((sql, values))
        return self.real.execute_meanwhile(sql, values, meanwhile)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.real, name)


def named(sql: str) -> str:
    """The function that a statement calls, else the table that it reads."""
    found = FUNCTION.search(sql)
    if "step.content" in sql:
        return "events"
    return found[1] if found else next(it for it in TABLES if it in sql)


@pytest.mark.promise("HO-03")
@pytest.mark.parametrize(
    "tool", ["keyed", "ask"], ids=["any write", "one named as a remote agent's"]
)
def test_a_run_that_hands_nothing_over_asks_the_database_nothing_more(
    world: World, monkeypatch: pytest.MonkeyPatch, tool: str
) -> None:
    if tool == "ask":
        Tool.objects.filter(name="blind").update(name="ask")
    world.start(calls(("v/look", {})), calls((f"v/{tool}", {"n": 1})), says("done"))
    pool, process = Noting(), world.process()
    monkeypatch.setattr(hot, "hot_pool", lambda: pool)
    with CaptureQueriesContext(connection) as queries:
        assert process.carry().status == "answered"
    assert [named(sql) for sql, _ in pool.asked] == ASKED
    assert len(queries) <= MOST_OF_THE_ORM
    assert pool.values_of("liyagent_mark")[-1] is None
    assert pool.values_of("liyagent_settle")[-1] is None
    assert not Snapshot.objects.exists()
