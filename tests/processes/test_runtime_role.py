"""A whole app process under a role that owns nothing, as `manage.py database_roles` makes it."""

from __future__ import annotations

import os
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit
from uuid import UUID

import httpx2
import psycopg
import pytest

from liyagent.core.ids import new_id
from liyagent.launcher.ephemeral import DATABASE
from liyagent.operation.database_roles import roles_sql
from runs.purging import LEASE
from tests.memory import place_in_memory
from tests.processes.place import Place, make_whole, open_place

ROLE, PASSWORD = "liyagent_serve", "of-this-test-alone"
TOKEN = "t" * 40
KINDS = ("keyed", "readable", "blind")
DAY_MS = 86_400_000
# A chain of one event that was written 400 days ago.
AGED = (
    "INSERT INTO events_runevent (correlation_id, number, run_id, at, kind, mission, recording, content, hash)"
    " VALUES (%(chain)s, 1, %(chain)s, now() - interval '400 days', 'step', 'm', 'full', '{}', sha256('x'))",
    "INSERT INTO events_eventhead (correlation_id, count, hash, is_unsealed) VALUES (%(chain)s, 1, sha256('x'), true)",
)
# A purge is due now, not tomorrow.
DUE = "DELETE FROM leases_lease WHERE name = %s"
PURGED = "SELECT asked_by FROM events_purgecertificate WHERE correlation_id = %s"
UNSEALED = "SELECT 1 FROM events_eventhead WHERE correlation_id = ANY(%s) AND is_unsealed"


@pytest.fixture(scope="module")
def place() -> Iterator[Place]:
    """A and B, started anew as the runtime role once the owner has migrated and seeded."""
    with (
        tempfile.TemporaryDirectory(prefix="liyagent-role-", dir=place_in_memory()) as directory,
        open_place(
            Path(directory), urls=lambda cluster, _stack: {"DATABASE_URL": cluster.url(DATABASE)}
        ) as place,
    ):
        stage = place.stage
        with psycopg.connect(stage.database_url, autocommit=True) as owner:
            owner.execute(roles_sql(ROLE))
            owner.execute(f"ALTER ROLE {ROLE} PASSWORD '{PASSWORD}'")
        stage.env["DATABASE_URL"] = as_role(stage.database_url)
        stage.env["LIYAGENT_METRICS_TOKEN"] = TOKEN
        stage.env["LIYAGENT_ROOT_SECONDS"] = "0.5"
        for name in ("A", "B"):
            os.kill(stage.pid(name), signal.SIGTERM)
            stage.wait_gone(name)
        make_whole(stage)
        yield place


def as_role(url: str) -> str:
    """The same database, as the runtime role."""
    parts = urlsplit(url)
    return parts._replace(netloc=f"{ROLE}:{PASSWORD}@{parts.hostname}:{parts.port}").geturl()


def scraped(place: Place, name: str) -> str:
    """What a process tells its scraper."""
    headers = {"Authorization": f"Bearer {TOKEN}"}
    answer = httpx2.get(f"{place.stage.url(name)}/metrics", headers=headers, timeout=10)
    assert answer.status_code == 200
    return answer.text


def value(text: str, series: str) -> float:
    """The value of one series, 0 where it is not told."""
    found = [line for line in text.splitlines() if line.startswith(f"{series} ")]
    return float(found[0].rpartition(" ")[2]) if found else 0.0


@pytest.mark.timeout(120)
def test_a_role_that_owns_nothing_carries_runs_over_a_kill_to_their_end(place: Place) -> None:
    make_whole(place.stage)
    sessions = place.watch.rows(
        "SELECT DISTINCT usename FROM pg_stat_activity WHERE application_name LIKE 'liyagent%%'"
    )
    assert {it["usename"] for it in sessions} == {ROLE}
    place.stage.set_pace(200)
    runs = place.start_runs(*KINDS)
    place.wait_for_requests("incident", runs)
    place.stage.signal("A", signal.SIGKILL)
    place.stage.set_pace(10)
    place.wait_for_ends(runs, seconds=60)
    assert {it["status"] for it in place.heads(runs)} == {"answered"}
    verdict = place.judged(runs)
    assert (verdict.lost, verdict.duplicates, verdict.missing) == ((), (), ())
    place.check_chains(runs)
    text = scraped(place, "B")
    assert value(text, "liyagent_database_up") == 1
    assert value(text, 'liyagent_runs_claimed_total{cause="proof"}') >= 1
    assert value(text, "liyagent_run_recovery_seconds_count") >= 1
    assert value(text, 'liyagent_runs_resumed_15m{cause="proof"}') >= 1
    assert 'liyagent_model_call_seconds_count{outcome="answered",provider="scripted"}' in text


@pytest.mark.timeout(120)
def test_a_process_that_is_killed_counts_anew_and_the_database_tells_as_before(
    place: Place,
) -> None:
    make_whole(place.stage)
    runs = place.start_runs(*KINDS)
    place.wait_for_ends(runs)
    ended = 'liyagent_runs_ended_total{error="none",status="answered"}'
    before = {name: value(scraped(place, name), ended) for name in ("A", "B")}
    assert sum(before.values()) >= len(runs)
    resumed = value(scraped(place, "B"), 'liyagent_runs_resumed_15m{cause="proof"}')
    for name in ("A", "B"):
        place.stage.signal(name, signal.SIGKILL)
        place.stage.wait_gone(name)
    make_whole(place.stage)
    for name in ("A", "B"):
        text = scraped(place, name)
        assert value(text, ended) == 0
        assert value(text, 'liyagent_runs_resumed_15m{cause="proof"}') == resumed
        assert value(text, 'liyagent_holders{state="alive"}') >= 2


@pytest.mark.promise("EV-08")
@pytest.mark.promise("ruling 28")
@pytest.mark.timeout(120)
def test_processes_that_own_nothing_seal_what_was_written_and_purge_what_rested(
    place: Place,
) -> None:
    make_whole(place.stage)
    runs = place.start_runs(*KINDS)
    place.wait_for_ends(runs)
    old = UUID(int=new_id().int - (400 * DAY_MS << 80))
    with psycopg.connect(place.stage.database_url, autocommit=True) as owner:
        for statement in AGED:
            owner.execute(statement, {"chain": old})
        place.until(lambda: not place.watch.rows(UNSEALED, [[*runs, old]]), "the seals", seconds=60)
        owner.execute(DUE, [LEASE])
    place.until(lambda: bool(place.watch.rows(PURGED, [old])), "the purge", seconds=60)
    assert [it["asked_by"] for it in place.watch.rows(PURGED, [old])] == [ROLE]
    assert place.watch.rows("SELECT 1 FROM events_root LIMIT 1")


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE audit_auditrow SET actor = 'nobody'",
        "DELETE FROM events_runevent",
        "TRUNCATE audit_auditrow",
        "ALTER TABLE events_runevent DISABLE TRIGGER ALL",
        "DROP TABLE runs_run",
        "CREATE TABLE more (n int)",
        "INSERT INTO django_migrations (app, name, applied) VALUES ('a', 'b', now())",
    ],
)
def test_the_role_can_change_neither_records_nor_tables(place: Place, statement: str) -> None:
    with (
        psycopg.connect(as_role(place.stage.database_url)) as served,
        pytest.raises(psycopg.errors.InsufficientPrivilege),
    ):
        served.execute(statement)
