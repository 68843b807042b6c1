"""Purging: whole chains whose time is over, each with a certificate; by one function, which cannot be talked into more."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from django.conf import settings
from django.core.management import call_command
from django.core.management.base import CommandError
from psycopg.errors import InsufficientPrivilege, RestrictViolation

from events import purge
from events.check_purges import check_purges
from events.checking import Asked, Finding, Looked
from events.models import PurgeCertificate, Retention
from events.purge import ClocksDiffer, Purged, purge_events, purgeable_events
from liyagent.audit.models import AuditRow
from runs.purging import purge_now_and_then
from tests.databases import FreshDatabase
from tests.unit.events.aged import SEALED, Record
from tests.unit.runs.sql import add_run

ACTOR = "cli:ann"
BY_HAND = "SELECT chains FROM liyagent_purge_events(%s, '00000000-0000-0000-0000-000000000000', 99, 99, 'x')"
LONG_AGO = "liyagent_now() - interval '399 days'"


def set_days(monkeypatch: pytest.MonkeyPatch, days: int) -> None:
    """`TICKETIQ_RUN_EVENTS_RETENTION_DAYS` says so many."""
    conf = dataclasses.replace(settings.LIYAGENT, run_events_retention_days=days)
    monkeypatch.setattr(settings, "LIYAGENT", conf)


@pytest.fixture
def record(fresh_db: FreshDatabase) -> Iterator[Record]:
    with psycopg.connect(fresh_db.url, autocommit=True) as session:
        yield Record(session)


@pytest.mark.promise("EV-08")
def test_a_chain_is_purged_whole_once_its_last_event_rested_long_enough(record: Record) -> None:
    old = record.chain(days=400)
    kept = {record.chain(days=364), record.chain(days=400, rested=364), record.chain(days=1)}
    (last,) = record.sql("SELECT count, hash FROM events_eventhead WHERE correlation_id = %s", old)
    counted = purgeable_events()
    assert (counted.chains, counted.events) == (1, 3)
    assert record.left() == {old, *kept}
    assert purge_events(actor=ACTOR) == Purged(chains=1, events=3, is_whole=True)
    assert record.left() == kept
    certificate = PurgeCertificate.objects.get()
    assert (certificate.correlation_id, certificate.count, bytes(certificate.hash)) == (old, *last)
    assert certificate.kept_days == 365
    assert certificate.last_at is not None
    assert (certificate.at - certificate.last_at).days == 400
    audit = AuditRow.objects.get(action="events.purged")
    assert audit.actor == ACTOR
    assert audit.detail == {
        "chains": 1, "events": 3, "kept_days": 365,
        "first_certificate": certificate.number, "last_certificate": certificate.number,
    }  # fmt: skip
    assert purge_events(actor=ACTOR).chains == 0
    assert AuditRow.objects.filter(action="events.purged").count() == 1


@pytest.mark.promise("EV-08")
@pytest.mark.parametrize(
    ("state", "ended"),
    [
        ("queued", "NULL"),
        ("waiting", "NULL"),
        ("paused", "NULL"),
        ("answered", "liyagent_now() - interval '364 days'"),
    ],
)
def test_a_chain_stays_as_long_as_a_run_of_it_goes_on_or_ended_lately(
    record: Record, state: str, ended: str
) -> None:
    chain = record.chain(days=400)
    run, _ = add_run(record.session, correlation=chain, status=state)
    record.sql(f"UPDATE runs_run SET ended_at = {ended} WHERE id = %s", run)
    assert purge_events(actor=ACTOR).chains == 0
    record.sql(f"UPDATE runs_run SET status = 'failed', ended_at = {LONG_AGO} WHERE id = %s", run)
    assert purge_events(actor=ACTOR).chains == 1


def test_what_does_not_fit_its_head_is_kept_as_evidence_and_told(
    record: Record, caplog: pytest.LogCaptureFixture
) -> None:
    cut, dropped, whole = (record.chain(days=400) for _ in range(3))
    record.sql("ALTER TABLE events_runevent DISABLE TRIGGER events_runevent_refuse_rows")
    record.sql("DELETE FROM events_runevent WHERE correlation_id = %s AND number = 3", cut)
    record.sql("DELETE FROM events_runevent WHERE correlation_id = %s AND number = 1", dropped)
    done = purge_events(actor=ACTOR)
    assert (done.chains, done.odd) == (1, 2)
    assert record.left() == {cut, dropped}
    assert whole not in record.left()
    assert "2 chains that rested long enough are kept" in caplog.text
    with pytest.raises(CommandError, match="2 chains that rested long enough are kept"):
        call_command("events", "purge")


def test_what_no_root_holds_yet_waits_for_one(record: Record) -> None:
    chain = record.chain(days=400)
    record.sql("UPDATE events_eventhead SET is_unsealed = true")
    assert purge_events(actor=ACTOR) == Purged(unsealed=1, is_whole=True)
    record.sql("UPDATE events_eventhead SET is_unsealed = false, sealed_count = count - 1")
    assert purge_events(actor=ACTOR) == Purged(unsealed=1, is_whole=True)
    record.sql(SEALED)
    assert purge_events(actor=ACTOR).chains == 1
    assert chain not in record.left()


def test_many_are_purged_in_small_commits_that_can_be_stopped_between(
    record: Record, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(purge, "HEADS_AT_ONCE", 4)
    monkeypatch.setattr(purge, "EVENTS_AT_ONCE", 6)
    kept = record.chain(days=390, rested=3)
    for _ in range(7):
        record.chain(days=400)
    told: list[tuple[int, int]] = []
    stopped = purge_events(
        actor=ACTOR,
        give_up=lambda: len(told) == 2,
        tell=lambda it: told.append((it.chains, it.events)),
    )
    assert (stopped.is_whole, told) == (False, [(2, 6), (4, 12)])
    assert purge_events(actor=ACTOR) == Purged(chains=3, events=9, is_whole=True)
    assert record.left() == {kept}
    assert PurgeCertificate.objects.count() == 7


def test_another_purge_at_the_same_time_does_nothing(record: Record) -> None:
    chain = record.chain(days=400)
    with record.session.transaction():
        record.sql("SELECT pg_advisory_xact_lock(7246172803118)")
        assert purge_events(actor=ACTOR) == Purged()
        with pytest.raises(CommandError, match="another purge is under way"):
            call_command("events", "purge")
    assert chain in record.left()


@pytest.mark.promise("EV-08")
def test_the_setting_says_how_long_and_a_change_of_it_is_audited(
    record: Record, monkeypatch: pytest.MonkeyPatch
) -> None:
    chain = record.chain(days=91)
    set_days(monkeypatch, 92)
    assert purge_events(actor=ACTOR).chains == 0
    set_days(monkeypatch, 90)
    assert purge_events(actor=ACTOR).chains == 1
    assert chain not in record.left()
    assert [it.detail for it in AuditRow.objects.filter(action="events.retention")] == [
        {"before": 92, "days": 90}, {"before": 365, "days": 92},
    ]  # fmt: skip


@pytest.mark.promise("EV-08")
def test_with_0_days_events_are_kept_for_good_whoever_asks(
    record: Record, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    chain = record.chain(days=9999)
    set_days(monkeypatch, 0)
    assert purge_events(actor=ACTOR) == purgeable_events() == Purged(is_whole=True)
    call_command("events", "purge")
    assert capsys.readouterr().out == (
        "TICKETIQ_RUN_EVENTS_RETENTION_DAYS is 0: events are kept for good\n"
    )
    assert Retention.objects.get().days == 0
    assert record.sql(BY_HAND, 1) == [(0,)]
    assert record.left() == {chain}


@pytest.mark.promise("ruling 28")
@pytest.mark.parametrize("days", [364, 1, 0, -1, -100_000, None])
def test_no_parameter_makes_it_purge_too_early(record: Record, days: int | None) -> None:
    young = record.chain(days=364)
    assert record.sql(BY_HAND, days) == [(0,)]
    assert record.left() == {young}


@pytest.mark.promise("ruling 28")
def test_a_certificate_tells_what_is_so_whatever_it_was_asked_to_tell(record: Record) -> None:
    young, old = record.chain(days=364), record.chain(days=400)
    ask = (
        "INSERT INTO events_purgecertificate (correlation_id, count, hash, kept_days, at, asked_by)"
        " VALUES (%s, 99, 'x', 1, '2020-01-01', 'nobody')"
    )
    with pytest.raises(RestrictViolation, match="kept, and events are kept for 365 days"):
        record.sql(ask, young)
    with pytest.raises(RestrictViolation, match="odd"):
        record.sql(ask, "00000000-0000-0000-0000-000000000001")
    record.sql(ask, old)
    certificate = PurgeCertificate.objects.get()
    assert (certificate.count, certificate.kept_days) == (3, 365)
    assert certificate.at.year > 2020
    assert certificate.asked_by == record.sql("SELECT session_user::text")[0][0]


@pytest.mark.promise("EV-03")
def test_nothing_is_deleted_without_a_certificate(record: Record) -> None:
    record.chain(days=400)
    for table in ("events_runevent", "events_eventhead"):
        with pytest.raises(RestrictViolation, match=f"{table} is append-only: DELETE refused"):
            record.sql(f"DELETE FROM {table}")


@pytest.mark.promise("ruling 28")
def test_a_right_to_delete_is_not_enough_the_trigger_knows_the_owner_by_its_role(
    record: Record, worker_id: str
) -> None:
    chain, role = record.chain(days=400), f"liyagent_tests_{worker_id}_deletes"
    record.sql(
        "INSERT INTO events_purgecertificate (correlation_id, count, hash, kept_days, at, asked_by)"
        " VALUES (%s, 0, 'x', 1, now(), '')",
        chain,
    )
    record.sql(f"CREATE ROLE {role}")
    try:
        record.sql(f"GRANT ALL ON ALL TABLES IN SCHEMA public TO {role}")
        record.sql(f"SET ROLE {role}")
        with pytest.raises(RestrictViolation):
            record.sql("DELETE FROM events_runevent")
        with pytest.raises(InsufficientPrivilege):
            record.sql(BY_HAND, 365)
    finally:
        record.sql("RESET ROLE")
        record.sql(f"DROP OWNED BY {role}")
        record.sql(f"DROP ROLE {role}")
    assert record.left() == {chain}


@pytest.mark.promise("EV-02")
def test_what_is_left_or_written_anew_of_a_purged_chain_is_found(record: Record) -> None:
    whole, anew = record.chain(days=400), record.chain(days=400)
    assert purge_events(actor=ACTOR).chains == 2
    assert list(check_purges(Asked())) == [Looked(check="purges", chains=2)]
    record.sql(
        "INSERT INTO events_eventhead (correlation_id, count, hash) VALUES (%s, 0, '')", anew
    )
    (found,) = [it for it in check_purges(Asked()) if isinstance(it, Finding)]
    assert (found.reason, str(anew) in found.where) == ("not_whole", True)
    assert [
        it for it in check_purges(Asked(first=whole, last=whole)) if isinstance(it, Finding)
    ] == []


@pytest.mark.promise("EV-08")
@pytest.mark.parametrize("days_ago", [-400, -1.1, 1.1])
def test_nothing_is_purged_while_clocks_differ(
    record: Record, days_ago: float, caplog: pytest.LogCaptureFixture
) -> None:
    """A database whose clock was set a year ahead would else forget all within minutes."""
    chains = {record.chain(days=400), record.chain(days=30)}
    record.at(days_ago)
    with pytest.raises(ClocksDiffer, match="nothing is purged until they agree"):
        purge_events(actor=ACTOR)
    assert purge_now_and_then(lambda: False) == 0
    assert "nothing is purged until they agree" in caplog.text
    assert record.left() == chains
    record.at(0.9)
    assert purge_events(actor=ACTOR).chains == 1


@pytest.mark.promise("EV-08")
@pytest.mark.field("FL-82")
def test_a_purged_chain_whose_head_was_written_anew_keeps_no_other_from_being_purged(
    record: Record,
) -> None:
    """Whoever serves can put in a head of any id. A second certificate there cannot be, and each purge would end at it."""
    anew = record.chain(days=410)
    assert purge_events(actor=ACTOR).chains == 1
    record.sql(
        "INSERT INTO events_eventhead (correlation_id, count, hash) VALUES (%s, 0, '')", anew
    )
    record.chain(days=400)
    assert purgeable_events() == Purged(chains=1, events=3, odd=1, is_whole=True)
    assert purge_events(actor=ACTOR) == Purged(chains=1, events=3, odd=1, is_whole=True)
    assert record.left() == {anew}


@pytest.mark.promise("ruling 28")
@pytest.mark.parametrize("told", ["last_at = at - interval '364 days'", "kept_days = 0"])
def test_a_certificate_of_a_purge_that_was_too_early_is_found(record: Record, told: str) -> None:
    record.chain(days=400)
    assert purge_events(actor=ACTOR).chains == 1
    record.sql("ALTER TABLE events_purgecertificate DISABLE TRIGGER USER")
    record.sql(f"UPDATE events_purgecertificate SET {told}")
    (found,) = [it for it in check_purges(Asked()) if isinstance(it, Finding)]
    assert (found.reason, found.is_break) == ("purged_early", True)


def test_the_shell_says_what_would_go_and_what_went(
    record: Record, capsys: pytest.CaptureFixture[str]
) -> None:
    record.chain(days=400)
    call_command("events", "purge", "--dry-run")
    call_command("events", "purge")
    call_command("events", "purge")
    assert capsys.readouterr().out.splitlines() == [
        "1 chains, 3 events would be purged; kept for 365 days",
        "1 chains, 3 events purged; kept for 365 days",
        "0 chains, 0 events purged; kept for 365 days",
    ]


def test_a_purge_finds_its_way_by_indexes_alone(record: Record) -> None:
    """It walks heads in the order of their ids, and asks for each chain by its own."""
    for _ in range(40):
        record.chain(days=400, events=1)
    record.sql("ANALYZE events_eventhead, events_runevent, runs_run")
    record.sql("SET enable_seqscan = off")
    walk = """EXPLAIN (FORMAT JSON) SELECT h.correlation_id FROM events_eventhead h
        WHERE h.correlation_id > '00000000-0000-0000-0000-000000000000'
        AND h.correlation_id < liyagent_first_id_at(liyagent_now() - interval '365 days')
        ORDER BY h.correlation_id LIMIT 500"""
    chain = "'00000000-0000-0000-0000-000000000000'"
    for statement in (
        walk,
        f"EXPLAIN (FORMAT JSON) SELECT 1 FROM runs_run r WHERE r.correlation_id = {chain}",
        f"EXPLAIN (FORMAT JSON) SELECT max(at) FROM events_runevent e WHERE e.correlation_id = {chain}",
        f"EXPLAIN (FORMAT JSON) DELETE FROM events_runevent e WHERE e.correlation_id = {chain}",
    ):
        ((plan,),) = record.sql(statement)
        assert_no_scan(plan[0]["Plan"])


def test_each_event_that_is_purged_asks_for_its_certificate_by_the_index(record: Record) -> None:
    """The plan of the first, made over a table that is known to hold little, is kept for all that a session purges."""
    for _ in range(3):
        record.chain(days=400)
    record.sql("VACUUM ANALYZE events_purgecertificate")
    with record.session.transaction():
        ((chains,),) = record.sql(BY_HAND, 365)
        ((walks,),) = record.sql(
            "SELECT seq_scan FROM pg_stat_xact_user_tables WHERE relname = 'events_purgecertificate'"
        )
    assert (chains, walks) == (3, 0)


def assert_no_scan(plan: dict[str, Any]) -> None:
    """Nothing in it walks a table or sorts."""
    text = json.dumps(plan)
    assert "Seq Scan" not in text
    assert '"Sort"' not in text
