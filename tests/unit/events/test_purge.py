"""Purging: whole chains whose time is over, each with a certificate; by one function, which cannot be talked into more."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from django.conf import settings
from django.db import connection
from django.test.utils import CaptureQueriesContext
from psycopg.errors import RestrictViolation

from events.chain import genesis_hash
from events.models import EventHead, PurgeCertificate, Retention, RunEvent
from events.purge import purge_events, purgeable_events
from liyagent.audit.models import AuditRow
from liyagent.core.ids import new_id
from tests.databases import FreshDatabase

DAY_MS = 86_400_000
ACTOR = "cli:ann"


def set_days(monkeypatch: pytest.MonkeyPatch, days: int) -> None:
    """`TICKETIQ_RUN_EVENTS_RETENTION_DAYS` says so many."""
    conf = dataclasses.replace(settings.LIYAGENT, run_events_retention_days=days)
    monkeypatch.setattr(settings, "LIYAGENT", conf)


@dataclasses.dataclass(frozen=True, slots=True)
class Record:
    """The owner's session, and chains of any age."""

    session: psycopg.Connection[tuple[Any, ...]]

    def sql(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        cursor = self.session.execute(statement, values)
        return cursor.fetchall() if cursor.description else []

    def chain(self, *, days: float, events: int = 3, rested: float | None = None) -> UUID:
        """A chain begun so many days ago, its last event `rested` days ago, and no run that goes on."""
        chain = UUID(int=new_id().int - (int(days * DAY_MS) << 80))
        self.sql(
            "INSERT INTO events_eventhead (correlation_id, count, hash) VALUES (%s, 0, %s)",
            chain, genesis_hash(chain),
        )  # fmt: skip
        for number in range(events):
            age = days if number + 1 < events or rested is None else rested
            self.at(age)
            self.sql(
                "SELECT liyagent_append_events(%s, %s, 'm', 'full', '{step}', ARRAY['{}'])",
                chain,
                chain,
            )
        self.at(0)
        self.sql("UPDATE events_eventhead SET is_unsealed = false WHERE correlation_id = %s", chain)
        return chain

    def at(self, days_ago: float) -> None:
        """The database's clock says that it is so many days ago."""
        self.sql(
            "CREATE OR REPLACE FUNCTION liyagent_now() RETURNS timestamptz LANGUAGE sql VOLATILE"
            f" AS $$ SELECT clock_timestamp() - interval '{days_ago} days' $$"
        )

    def left(self) -> set[UUID]:
        """The chains that have events or a head."""
        rows = self.sql(
            "SELECT correlation_id FROM events_eventhead UNION SELECT correlation_id FROM events_runevent"
        )
        return {chain for (chain,) in rows}


@pytest.fixture
def record(fresh_db: FreshDatabase) -> Iterator[Record]:
    with psycopg.connect(fresh_db.url, autocommit=True) as session:
        yield Record(session)


@pytest.mark.promise("EV-08")
def test_a_chain_is_purged_whole_once_its_last_event_rested_long_enough(record: Record) -> None:
    old = record.chain(days=400)
    kept = {
        record.chain(days=364),
        record.chain(days=400, rested=364),
        record.chain(days=1),
    }
    (last,) = record.sql("SELECT count, hash FROM events_eventhead WHERE correlation_id = %s", old)
    counted = purgeable_events()
    assert (counted.chains, counted.events) == (1, 3)
    assert record.left() == {old, *kept}
    purged = purge_events(actor=ACTOR)
    assert (purged.chains, purged.events, purged.odd, purged.is_whole) == (1, 3, 0, True)
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
