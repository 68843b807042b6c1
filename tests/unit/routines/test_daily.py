"""The daily mining: asked for once a day, whatever the number of processes (RT-01, RT-07)."""

from __future__ import annotations

import dataclasses
from concurrent.futures import ThreadPoolExecutor
from datetime import date
from threading import Barrier

import psycopg
import pytest
from django.conf import settings
from django.db import connection
from django.test.utils import CaptureQueriesContext

from liyagent.agents.models import Agent
from liyagent.audit.models import AuditRow
from liyagent.jobs.models import Job
from routines import daily
from routines.daily import mine_daily
from routines.models import Mining
from tests.databases import FreshDatabase, close_connections


def never() -> bool:
    return False


def agents(*keys: str, recording: str = "full") -> None:
    Agent.objects.bulk_create(
        Agent(key=it, name=it, provider="scripted", model="m", recording=recording) for it in keys
    )


def asked() -> list[str]:
    rows = Job.objects.filter(kind="routine_mining").order_by("subject")
    return list(rows.values_list("subject", flat=True))


def ended() -> None:
    """Let the minings that were asked for be over, so that nothing but the day's row keeps them from being asked for again."""
    Job.objects.update(status="done", ended_at="2026-01-01T00:00:00Z")


@pytest.mark.promise("RT-01")
def test_each_agent_recorded_in_full_is_mined_once_a_day(fresh_db: FreshDatabase) -> None:
    agents("a", "b")
    agents("m", recording="metadata")
    assert mine_daily(never) == 2
    assert asked() == ["a", "b"]
    assert set(Job.objects.values_list("asked_by", flat=True)) == {"schedule"}
    ended()
    with CaptureQueriesContext(connection) as queries:
        assert mine_daily(never) == 0
    assert len(queries) == 1
    assert asked() == ["a", "b"]


@pytest.mark.promise("RT-01")
def test_the_next_day_it_is_asked_for_again(fresh_db: FreshDatabase) -> None:
    agents("a")
    old = Mining.objects.create(day="2020-01-01", is_done=True)
    mine_daily(never)
    ended()
    assert not Mining.objects.filter(day=old.day).exists()
    with psycopg.connect(fresh_db.url, autocommit=True) as database:
        database.execute("UPDATE routines_mining SET day = day - 1")
    assert mine_daily(never) == 1
    assert asked() == ["a", "a"]


@pytest.mark.promise("RT-01")
def test_of_many_processes_that_look_at_once_one_asks(fresh_db: FreshDatabase) -> None:
    """What a mining that is over lets be asked for again is asked for by nobody else."""
    agents(*(f"a{number:03}" for number in range(120)))
    at_once = 6
    barrier = Barrier(at_once)

    def look(_number: int) -> int:
        try:
            barrier.wait()
            return sum(mine_daily(never) for _ in range(4))
        finally:
            close_connections()

    with psycopg.connect(fresh_db.url, autocommit=True) as database:
        # Each is over at once: were it asked for twice, both would be kept.
        database.execute("CREATE FUNCTION over() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.status := 'done'; NEW.ended_at := now(); RETURN NEW; END $$")  # fmt: skip
        database.execute("CREATE TRIGGER over BEFORE INSERT ON jobs_job FOR EACH ROW EXECUTE FUNCTION over()")  # fmt: skip
    with ThreadPoolExecutor(at_once) as pool:
        assert sum(pool.map(look, range(at_once))) == 120
    assert asked() == sorted(f"a{number:03}" for number in range(120))
    assert AuditRow.objects.filter(action="job.asked").count() == 120


@pytest.mark.promise("RT-01")
def test_whoever_finds_the_day_taken_waits_for_nobody(fresh_db: FreshDatabase) -> None:
    agents("a")
    Mining.objects.create(day=_today(fresh_db.url))
    with psycopg.connect(fresh_db.url) as other:
        other.execute("SELECT FROM routines_mining FOR UPDATE")
        assert mine_daily(never) == 0
    assert mine_daily(never) == 1


def test_a_process_that_dies_between_two_lots_loses_none(
    fresh_db: FreshDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    agents(*(f"a{number}" for number in range(5)))
    monkeypatch.setattr(daily, "AGENTS_AT_ONCE", 2)
    turn = iter([False])
    assert mine_daily(lambda: next(turn, True)) == 2
    ended()
    assert mine_daily(never) == 3
    assert asked() == [f"a{number}" for number in range(5)]


@pytest.mark.promise("RT-07")
def test_off_asks_for_none(fresh_db: FreshDatabase, monkeypatch: pytest.MonkeyPatch) -> None:
    agents("a")
    conf = dataclasses.replace(settings.LIYAGENT, routine_suggest="off")
    monkeypatch.setattr(settings, "LIYAGENT", conf)
    with CaptureQueriesContext(connection) as queries:
        assert mine_daily(never) == 0
    assert len(queries) == 0
    assert asked() == []


def _today(url: str) -> date:
    with psycopg.connect(url) as database:
        ((today,),) = database.execute(
            "SELECT (liyagent_now() AT TIME ZONE 'UTC')::date"
        ).fetchall()
    found: date = today
    return found
