"""What a process does again and again outlives whatever one look meets, and costs nothing where nothing is to do."""

from __future__ import annotations

import threading
from collections.abc import Callable

from django.db import OperationalError, connection
from django.test.utils import CaptureQueriesContext

from runs.rounds import ROUNDS, Round, due_of, go_round, go_when_rung, ring
from tests.databases import FreshDatabase


def test_a_look_that_meets_what_nobody_expected_does_not_end_its_round() -> None:
    ended = threading.Event()
    looks: list[int] = []

    def look(_give_up: object) -> None:
        looks.append(len(looks))
        if len(looks) < 3:
            raise KeyError("config")
        ended.set()

    go_round({"odd rows": Round(look=look)}, ended=ended)
    assert looks == [0, 1, 2]


def test_one_that_is_rung_for_outlives_it_too(fresh_db: FreshDatabase) -> None:
    looks = looks_of("true", until=3, odd=True)
    assert looks["due"] == 3


def test_only_what_has_something_to_do_looks(fresh_db: FreshDatabase) -> None:
    assert looks_of("1 = 2 OR %s::boolean", until=3) == {"due": 3, "not due": 0}


def looks_of(due: str, *, until: int, odd: bool = False) -> dict[str, int]:
    """How often two rounds looked, of which one is never due, when the other has looked so often; the first question fails."""
    ended = threading.Event()
    looks = {"due": 0, "not due": 0}

    def look_of(name: str) -> Callable[[object], None]:
        def look(_give_up: object) -> None:
            looks[name] += 1
            if looks["due"] >= until:
                ended.set()
            if odd:
                raise KeyError("config")

        return look

    values = ["true"] if "%s" in due else []
    outages = [OperationalError("the database is away")]

    def values_of() -> list[str]:
        if outages:
            raise outages.pop()
        return values

    rounds = {
        "due": Round(look=look_of("due"), due=due, values=values_of),
        "not due": Round(look=look_of("not due"), due="false"),
    }
    bells = {name: threading.Event() for name in rounds}
    threads = [
        threading.Thread(target=go_when_rung, args=(name, it), kwargs={"bell": bells[name], "ended": ended})
        for name, it in rounds.items()
    ]  # fmt: skip
    for it in threads:
        it.start()
    ring(rounds, bells, ended=ended)
    for it in threads:
        it.join(5)
    assert not any(it.is_alive() for it in threads)
    return looks


def test_all_ways_in_are_asked_for_in_one_statement_and_an_empty_installation_has_nothing_due(
    fresh_db: FreshDatabase,
) -> None:
    rung = {name: it for name, it in ROUNDS.items() if it.due}
    assert {
        "arrivals",
        "cron",
        "jobs",
        "more jobs",
        "due syncs",
        "ended jobs",
        "teams deliveries",
        "a2a deliveries",
    } <= set(rung)
    with CaptureQueriesContext(connection) as queries:
        assert due_of(rung) == []
    assert len(queries) == 1
