"""What a scrape tells."""

from __future__ import annotations

import dataclasses
from typing import Any

import psycopg
import pytest
from django.conf import settings
from prometheus_client import CollectorRegistry, Counter
from prometheus_client.parser import text_string_to_metric_families

from liyagent.core.metrics import MOST_NAMES, OTHER, TOKENS, Children
from liyagent.operation import scrape
from liyagent.operation.questions import CONFIGURATION, HOLDERS
from liyagent.operation.readings import READINGS
from liyagent.operation.scrape import DatabaseReadings, ask, metrics_text
from tests.databases import FreshDatabase

FILL = """
INSERT INTO runs_run (id, correlation_id, loop, agent_key, agent_version, entry, mission, request_id, started_by,
    recording, status, reason, error, format, key_id, attempt, losses, last_loss, handovers, resumes_recorded,
    sequence, wakes, events_missing, timeline, model_steps, calls_made, input_tokens, output_tokens, parts, seal,
    stop_requested, stopped_by, created_at, holder, not_before)
SELECT gen_random_uuid(), gen_random_uuid(), 'root', 'triage', 1, %(entry)s, 'M-1', '', 'olga', 'metadata', %(status)s,
    '', '', 1, %(key)s, %(attempt)s, %(losses)s, '', 0, 0, 0, 0, %(missing)s, 0, 0, 0, 0, 0, 1, '\\x00', false, '',
    liyagent_now() - make_interval(secs => %(age)s), %(holder)s,
    liyagent_now() + make_interval(secs => %(due)s)
FROM generate_series(1, %(count)s)
"""
PLAIN: dict[str, Any] = {
    "entry": "api",
    "status": "queued",
    "key": "k1",
    "attempt": 0,
    "losses": 0,
    "missing": 0,
    "age": 10,
    "holder": None,
    "due": None,
    "count": 1,
}
HOLDER = "00000000-0000-0000-0000-0000000000a1"
HOLD = """
INSERT INTO leases_holder (id, name, boot_id, pid_namespace, pid, started_ticks, renew_by, formats, key_ids,
    is_draining, created_at, life_lock)
VALUES (%s, 'h:1', 'b', 'n', 1, 1, liyagent_now() + make_interval(secs => %s), '{1}', '{k1}', %s, liyagent_now(), %s)
"""
CALL = """
INSERT INTO runs_call (run_id, correlation_id, step, index, provider_call_id, server, tool, intent, step_key,
    has_identity, key_window_seconds, intent_digest, attempt, holder, marked_at, deadline, sealed, fate, settlement,
    late_finding, late_look_at)
SELECT r.id, r.correlation_id, 1, %(index)s, '', 'jira', 'create_issue', 'sending', 'k', true, 0, 'd', 1, %(holder)s,
    liyagent_now() - interval '1 minute', liyagent_now(), '\\x00', %(fate)s, '', %(finding)s,
    liyagent_now() + make_interval(secs => %(look)s)
FROM runs_run r WHERE r.status = 'running'
"""


def told(url: str) -> dict[tuple[str, ...], float]:
    """What the database tells now, by name and labels."""
    answer = ask(url)
    assert answer.is_up
    return {(name, *labels): value for name, labels, value in answer.rows}


@pytest.fixture
def filling(fresh_db: FreshDatabase) -> psycopg.Connection:
    return psycopg.connect(fresh_db.url, autocommit=True)


def test_an_empty_installation_tells_every_gauge_that_has_no_labels_of_rows(
    fresh_db: FreshDatabase,
) -> None:
    names = {name for name, *_ in told(fresh_db.url)}
    of_rows = {"runs", "background_jobs", "paused_runs", "runs_resumed_15m", "leader_tick_seconds"}
    assert names == set(READINGS) - of_rows


def test_living_runs_are_told_by_status_and_entry_and_ended_ones_are_not(
    filling: psycopg.Connection, fresh_db: FreshDatabase
) -> None:
    for changes in (
        {"count": 3},
        {"entry": "cli", "age": 70},
        {"attempt": 1},
        {"attempt": 2, "due": -30},
        {"attempt": 2, "due": 600},
        {"attempt": 2, "losses": 2},
        {"status": "answered", "count": 5},
        {"status": "paused", "key": "old", "count": 2, "age": 500},
    ):
        filling.execute(FILL, {**PLAIN, **changes})
    found = told(fresh_db.url)
    assert found["runs", "queued", "api"] == 7
    assert found["runs", "queued", "cli"] == 1
    assert found["runs", "paused", "api"] == found["paused_runs", "old"] == 2
    kinds = {kind: found["queued_runs", kind] for kind in ("fresh", "again", "timed", "alone")}
    assert kinds == {"fresh": 4, "again": 1, "timed": 2, "alone": 1}
    assert found["queue_oldest_seconds", "fresh"] == pytest.approx(70, abs=5)
    assert found["queue_oldest_seconds", "timed"] == pytest.approx(30, abs=5)
    assert found["runs_oldest_seconds", "paused"] == pytest.approx(500, abs=5)
    assert found["runs_oldest_seconds", "running"] == 0
    assert not any(it[:2] == ("runs", "answered") for it in found)


def test_holders_leases_and_what_nobody_has_claimed_yet_are_told(
    filling: psycopg.Connection, fresh_db: FreshDatabase
) -> None:
    silent, draining = HOLDER.replace("a1", "b1"), HOLDER.replace("a1", "c1")
    filling.execute(HOLD, [HOLDER, 0.75 * settings.LIYAGENT.lease_seconds, False, 7])
    filling.execute(HOLD, [silent, -40, False, 8])
    filling.execute(HOLD, [draining, settings.LIYAGENT.lease_seconds, True, None])
    filling.execute(
        FILL, {**PLAIN, "status": "running", "holder": HOLDER, "losses": 2, "attempt": 3}
    )
    filling.execute(FILL, {**PLAIN, "status": "running", "holder": silent, "missing": 4})
    found = told(fresh_db.url)
    states = {state: found["holders", state] for state in ("alive", "draining", "lapsed")}
    assert states == {"alive": 1, "draining": 1, "lapsed": 1}
    assert (found["holders_unlocked",], found["leader_up",]) == (1, 0)
    assert found["lease_renewal_oldest_seconds",] == pytest.approx(
        0.25 * settings.LIYAGENT.lease_seconds, abs=0.5
    )
    assert found["lapsed_holders",] == 1
    assert found["lapsed_oldest_seconds",] == pytest.approx(40, abs=5)
    assert (found["runs_carried_alone",], found["events_missing",]) == (1, 4)


def test_writes_in_doubt_and_unknown_ones_are_told(
    filling: psycopg.Connection, fresh_db: FreshDatabase
) -> None:
    filling.execute(FILL, {**PLAIN, "status": "running", "holder": HOLDER})
    plain: dict[str, Any] = {"holder": HOLDER, "fate": "", "finding": "", "look": None}
    each: tuple[dict[str, Any], ...] = (
        {},
        {"fate": "done"},
        {"fate": "unknown"},
        {"fate": "unknown", "look": -600},
        {"fate": "unknown", "finding": "found"},
        {},
        {},
    )
    for index, changes in enumerate(each):
        filling.execute(CALL, {**plain, **changes, "index": index})
    # One waits for a person, one was handed down: neither was sent.
    filling.execute("UPDATE runs_call SET intent = 'held' WHERE index = 5")
    filling.execute("UPDATE runs_call SET server = 'agents' WHERE index = 6")
    found = told(fresh_db.url)
    assert found["writes_in_doubt",] == 1
    assert found["write_in_doubt_oldest_seconds",] == pytest.approx(60, abs=5)
    assert found["unknown_writes",] == 2
    assert found["unknown_write_oldest_seconds",] == pytest.approx(60, abs=5)
    assert found["late_looks_overdue",] == 1


def test_resumes_are_counted_by_cause_for_a_quarter_of_an_hour(
    filling: psycopg.Connection, fresh_db: FreshDatabase
) -> None:
    for cause, minutes in (("proof", 1), ("proof", 2), ("lapse", 3), ("hint", 20)):
        filling.execute(
            "INSERT INTO audit_auditrow (at, action, actor, mission, request_id, detail)"
            " VALUES (liyagent_now() - make_interval(mins => %s), 'agent.run.crash_resumed', '', '', '',"
            " jsonb_build_object('cause', %s::text))",
            [minutes, cause],
        )
    found = told(fresh_db.url)
    assert {key[1]: value for key, value in found.items() if key[0] == "runs_resumed_15m"} == {
        "proof": 2,
        "lapse": 1,
    }


def test_the_database_is_asked_once_however_many_scrape(
    filling: psycopg.Connection, fresh_db: FreshDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    readings, asked = DatabaseReadings(), list[str]()

    def noted(url: str) -> scrape.Answer:
        asked.append(url)
        return ask(url)

    monkeypatch.setattr(scrape, "ask", noted)
    for _ in range(5):
        assert list(readings.collect())
    assert asked == [fresh_db.url]
    monkeypatch.setattr(scrape, "KEPT_SECONDS", 0)
    list(readings.collect())
    assert len(asked) == 2


def test_a_database_that_is_away_is_told_and_what_it_told_before_is_not(
    fresh_db: FreshDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert b"liyagent_database_up 1.0" in metrics_text()
    away = dataclasses.replace(settings.LIYAGENT, database_url="postgresql://u:p@127.0.0.1:1/none")
    monkeypatch.setattr(settings, "LIYAGENT", away)
    text = metrics_text()
    assert b"liyagent_database_up 0.0" in text
    assert b"liyagent_leader_up" not in text
    assert b"liyagent_run_slots" in text


def test_a_statement_that_takes_too_long_is_left_out_and_the_others_are_told(
    fresh_db: FreshDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = "SELECT 'jobs_queued', '{}'::text[], 1::float FROM pg_sleep(5)"
    monkeypatch.setattr(scrape, "BOUND", "SET LOCAL statement_timeout = 1000")
    monkeypatch.setattr(scrape, "QUESTIONS", (HOLDERS, slow, CONFIGURATION))
    answer = ask(fresh_db.url)
    assert (answer.is_up, answer.left_out) == (True, 1)
    assert {"agents_contained", "leader_up"} <= {name for name, *_ in answer.rows}


def test_the_text_can_be_parsed_and_names_nothing_twice(fresh_db: FreshDatabase) -> None:
    names = [it.name for it in text_string_to_metric_families(metrics_text().decode())]
    assert len(names) == len(set(names))


def test_a_label_has_two_hundred_names_and_then_is_other() -> None:
    """A metric of its own: names that are taken stay so for the life of the process."""
    registry = CollectorRegistry()
    counted = Children(Counter("counted", "By agent.", ("agent", "direction"), registry=registry))
    for number in range(2 * MOST_NAMES):
        counted.of(f"agent-{number}", "input").inc(3)
    (found,) = registry.collect()
    assert {it.labels["agent"] for it in found.samples} == {
        *(f"agent-{number}" for number in range(MOST_NAMES)),
        OTHER,
    }
    labels = {"agent": OTHER, "direction": "input"}
    assert registry.get_sample_value("counted_total", labels) == 3 * MOST_NAMES
    assert isinstance(TOKENS, Children)
