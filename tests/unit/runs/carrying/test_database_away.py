"""A database that lets nobody in for a while: no loss of the attempt, no end of the threads (ruling 10)."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from uuid import UUID

import psycopg
import pytest
from django.contrib.auth.models import User
from django.db import connection
from psycopg import sql

from liyagent.leases.holding import register_holder
from liyagent.leases.identity import own_identity
from runs.checkpoint import keyring
from runs.models import Run
from runs.renewal import Renewal
from runs.runner import FORMATS, Runner
from tests.databases import FreshDatabase, url_of
from tests.unit.runs.carrying.conftest import World, calls, says
from tests.unit.runs.carrying.vendor import Killed, die_after_effect


def register(*, lease_seconds: float = 30) -> UUID:
    """Register as the process does it, which leaves no connection behind."""
    try:
        return register_holder(
            own_identity(),
            name="a",
            lease_seconds=lease_seconds,
            formats=FORMATS,
            key_ids=keyring().ids,
        )
    finally:
        connection.close()


def eventually(holds: Callable[[], bool]) -> None:
    until = time.monotonic() + 10
    while not holds():
        assert time.monotonic() < until, "it never came true"
        time.sleep(0.02)


@contextmanager
def closed_to_newcomers(database: FreshDatabase) -> Iterator[None]:
    """Who is connected stays connected; every new connection is refused, as by a server that has just come up."""
    name = sql.Identifier(database.name)
    with psycopg.connect(url_of(database.url, "postgres"), autocommit=True) as admin:
        admin.execute(sql.SQL("ALTER DATABASE {} ALLOW_CONNECTIONS false").format(name))
        try:
            yield
        finally:
            admin.execute(sql.SQL("ALTER DATABASE {} ALLOW_CONNECTIONS true").format(name))


@pytest.mark.field("FL-19")
@pytest.mark.promise("CR-13")
def test_a_database_that_goes_away_in_a_resume_is_no_further_loss(
    world: World, fresh_db: FreshDatabase, caplog: pytest.LogCaptureFixture
) -> None:
    """A resume asks Django whether its starter may still run agents."""
    User.objects.create_superuser("olga")
    run = world.start(calls(("v/keyed", {"n": 1})), says("done"), started_by="olga")
    first = world.process("first")
    die_after_effect("keyed")
    with pytest.raises(Killed):
        first.carry()
    runner = Runner(register(), name="second")
    connection.ensure_connection()
    with closed_to_newcomers(fresh_db):
        with connection.cursor() as cursor:
            cursor.execute("SELECT * FROM liyagent_claim_proven(%s, 9)", [first.holder])
        thread = threading.Thread(target=runner.take_until_drained, daemon=True)
        thread.start()
        eventually(lambda: "went away under this attempt" in caplog.text)
    eventually(lambda: Run.objects.get(id=run.id).status == "answered")
    runner.drain(seconds=2)
    thread.join(timeout=2)
    ended = Run.objects.get(id=run.id)
    assert (ended.losses, ended.attempt) == (1, 2)
    assert len(world.vendor.of("keyed")) == 1
    assert len(world.audit("agent.run.crash_resumed")) == 1


@pytest.mark.field("FL-26")
def test_a_renewal_that_cannot_register_a_new_life_tries_again(
    world: World, fresh_db: FreshDatabase, caplog: pytest.LogCaptureFixture
) -> None:
    runner = Runner(register(lease_seconds=0.5), name="a")
    forgotten = runner.holder
    ended = threading.Event()
    renewal = Renewal(runner, register=register)
    thread = threading.Thread(target=renewal.renew_until, args=(ended,), daemon=True)
    thread.start()
    renewed = "SELECT renew_by > created_at + interval '0.6 s' FROM leases_holder WHERE id = %s"
    eventually(lambda: world.sql(renewed, forgotten) == [(True,)])
    connection.ensure_connection()
    with closed_to_newcomers(fresh_db):
        with connection.cursor() as cursor:
            cursor.execute("DELETE FROM leases_holder")
        eventually(lambda: "not renewed, the database is away" in caplog.text)
    eventually(lambda: runner.holder != forgotten)
    ended.set()
    thread.join(timeout=2)
    assert world.sql("SELECT id FROM leases_holder") == [(runner.holder,)]
