"""Death hinted at by a life-lock: seen across hosts, and never a claim of the living (ruling 3b)."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from contextlib import contextmanager
from uuid import UUID, uuid4

import psycopg
import pytest
from pytest_django import Settings
from pytest_django.plugin import DjangoDbBlocker

from liyagent.leases.life_lock import keep_life_lock
from runs.hint import LOOK_SECONDS, Hints
from tests.fakes.pooler import Pooler
from tests.unit.runs.sql import (
    Connection,
    Fence,
    Row,
    Server,
    add_holder,
    begin,
    head,
    lapse,
    start_run,
    value,
    wait_for,
)

KEY_OF = "SELECT life_lock FROM leases_holder WHERE id = %s"


@dataclasses.dataclass(slots=True)
class Clock:
    """The watcher's clock, which a test moves."""

    now: float = 1000.0

    def __call__(self) -> float:
        return self.now


class Watcher:
    """One process that looks, half a second apart, over one connection."""

    def __init__(self, connection: Connection, clock: Clock) -> None:
        self.connection = connection
        self.clock = clock
        self.holder = add_holder(connection)
        self.hints = Hints()

    def look(self) -> list[UUID]:
        self.clock.now += LOOK_SECONDS
        return self.hints.claim_silent(self.connection, watcher=self.holder)


@pytest.fixture
def watcher(server: Server, settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Watcher:
    """A watcher whose grace has passed."""
    settings.LIYAGENT = dataclasses.replace(settings.LIYAGENT, lease_seconds=0.0, sweep_seconds=0.0)
    clock = Clock()
    monkeypatch.setattr("runs.hint.time.monotonic", clock)
    return Watcher(server.connect(), clock)


@contextmanager
def life(server: Server, holder: UUID) -> Iterator[Connection]:
    """The renewing session of a process on another host, which ends with it.

    It has ended when its server process is gone: that one lets go of its locks a moment after its client has closed.
    """
    with psycopg.connect(server.url, autocommit=True) as session:
        assert keep_life_lock(session, holder=holder) is not None
        backend = session.info.backend_pid
        yield session
    gone = "SELECT count(*) = 0 FROM pg_stat_activity WHERE pid = %s"
    wait_for(lambda: bool(value(server.watcher, gone, backend)))


def died(server: Server, connection: Connection) -> Fence:
    """A run whose process died: its session is gone, and its lease has passed."""
    fence = begin(connection)
    with life(server, fence.holder):
        pass
    lapse(connection, fence.holder)
    return fence


def claim_hinted(connection: Connection, holder: UUID, key: int, *, grace: float = 0) -> list[Row]:
    return connection.execute(
        "SELECT run, attempt, losses FROM liyagent_claim_hinted(%s, %s, 100, %s)",
        [holder, key, grace],
    ).fetchall()


@pytest.mark.promise("CR-13")
def test_a_lock_free_in_two_looks_after_the_lease_claims_each_run_once(
    server: Server, watcher: Watcher
) -> None:
    fence = died(server, watcher.connection)
    assert watcher.look() == []
    assert watcher.look() == [fence.run]
    found = watcher.connection.execute("SELECT status, losses, last_loss FROM runs_run").fetchall()
    assert found == [("queued", 1, "hint")]
    assert watcher.look() == []


def test_any_watcher_claims_and_needs_no_leader(server: Server, watcher: Watcher) -> None:
    """What the hint buys over lapse."""
    died(server, watcher.connection)
    value(watcher.connection, "SELECT count(*) FROM leases_lease")
    watcher.look()
    assert len(watcher.look()) == 1
    assert value(watcher.connection, "SELECT count(*) FROM leases_lease") == 0


@pytest.mark.promise("CR-12")
def test_a_free_lock_before_the_end_of_the_lease_claims_nothing(
    server: Server, watcher: Watcher
) -> None:
    """A session is ended under a living holder: it renews, and takes a lock anew, before its lease ends."""
    fence = begin(watcher.connection)
    with life(server, fence.holder):
        pass
    watcher.connection.execute("UPDATE leases_holder SET renew_by = liyagent_now() + '900 ms'")
    assert [watcher.look() for _ in range(4)] == [[]] * 4
    lapse(watcher.connection, fence.holder)
    assert watcher.look() == [fence.run]


def test_a_lock_that_is_kept_claims_nothing_however_late_the_renewal(
    server: Server, watcher: Watcher
) -> None:
    """A stalled process: its lease is the sweep's to judge."""
    fence = begin(watcher.connection)
    with life(server, fence.holder):
        lapse(watcher.connection, fence.holder)
        assert [watcher.look() for _ in range(4)] == [[]] * 4
        key = value(watcher.connection, KEY_OF, fence.holder)
        assert claim_hinted(watcher.connection, fence.holder, key) == []


@pytest.mark.promise("CR-12")
def test_a_holder_that_took_a_lock_anew_between_two_looks_is_not_claimed(
    server: Server, watcher: Watcher
) -> None:
    fence = died(server, watcher.connection)
    seen = value(watcher.connection, KEY_OF, fence.holder)
    assert watcher.look() == []
    with life(server, fence.holder):
        assert watcher.look() == []
        assert claim_hinted(watcher.connection, fence.holder, seen) == []
    assert watcher.look() == []  # another lock, seen free for the first time
    assert watcher.look() == [fence.run]


@pytest.mark.promise("CR-12")
def test_a_holder_that_renews_in_time_is_not_claimed_though_no_session_keeps_its_lock(
    server: Server, watcher: Watcher
) -> None:
    fence = died(server, watcher.connection)
    watcher.look()
    watcher.connection.execute("SELECT liyagent_renew(%s, 8, '{}', '{}')", [fence.holder])
    assert [watcher.look() for _ in range(4)] == [[]] * 4
    assert head(watcher.connection, fence.run, "losses") == 0


def test_a_holder_whose_renewal_is_under_way_is_left_to_it(
    server: Server, watcher: Watcher
) -> None:
    fence = died(server, watcher.connection)
    key = value(watcher.connection, KEY_OF, fence.holder)
    other = server.connect()
    with other.transaction():
        other.execute("SELECT liyagent_renew(%s, 8, '{}', '{}')", [fence.holder])
        assert claim_hinted(watcher.connection, fence.holder, key) == []


@pytest.mark.promise("CR-12")
@pytest.mark.field("FL-13")
def test_nothing_is_claimed_by_hint_until_one_grace_after_the_watcher_s_reconnect(
    server: Server, watcher: Watcher
) -> None:
    """After the server came back every lock is free and every lease has passed."""
    fence = died(server, watcher.connection)
    key = value(watcher.connection, KEY_OF, fence.holder)
    fresh = server.connect()
    assert claim_hinted(fresh, fence.holder, key, grace=30) == []
    assert claim_hinted(fresh, fence.holder, key) == [(fence.run, fence.attempt, 1)]


def test_what_was_seen_over_a_lost_connection_is_forgotten(
    server: Server, watcher: Watcher
) -> None:
    fence = died(server, watcher.connection)
    watcher.look()
    watcher.hints.forget()
    assert watcher.look() == []
    assert watcher.look() == [fence.run]


def test_a_watcher_never_claims_from_itself(server: Server, watcher: Watcher) -> None:
    fence = died(server, watcher.connection)
    watcher.holder = fence.holder
    assert [watcher.look() for _ in range(3)] == [[]] * 3


def test_a_hint_is_no_proof_so_the_marks_of_the_silent_holder_keep_their_deadlines(
    server: Server, watcher: Watcher
) -> None:
    fence = died(server, watcher.connection)
    watcher.connection.execute(
        "UPDATE runs_call SET deadline = liyagent_now() + interval '5 s', holder = %s",
        [fence.holder],
    )
    watcher.look()
    assert watcher.look() == [fence.run]
    waits = "SELECT r.settle_after = c.deadline FROM runs_run r JOIN runs_call c ON c.run_id = r.id"
    assert value(watcher.connection, waits) is True


def test_a_watcher_looks_and_never_holds_a_lock(server: Server, watcher: Watcher) -> None:
    died(server, watcher.connection)
    watcher.look()
    locks = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = %s"
    assert value(server.watcher, locks, watcher.connection.info.backend_pid) == 0


def test_a_holder_behind_a_pooler_keeps_no_lock_and_is_left_to_lapse(
    server: Server, watcher: Watcher, django_db_blocker: DjangoDbBlocker
) -> None:
    fence = begin(watcher.connection)
    pooler = Pooler(server.url)
    with psycopg.connect(pooler.url, autocommit=True) as session:
        assert keep_life_lock(session, holder=fence.holder) is None
        assert value(watcher.connection, KEY_OF, fence.holder) is None
    pooler.close()
    lapse(watcher.connection, fence.holder)
    assert [watcher.look() for _ in range(3)] == [[]] * 3
    assert value(watcher.connection, "SELECT count(*) FROM liyagent_sweep(%s, 9, 0)", uuid4()) == 1


@pytest.mark.promise("CR-12")
def test_two_holders_with_one_key_claim_neither_while_it_lives(
    server: Server, watcher: Watcher, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One in 2^63. The second is told that there is no lock for it, and is judged by its lease alone."""
    monkeypatch.setattr("liyagent.leases.life_lock.secrets.randbits", lambda _bits: 7)
    first, second = begin(watcher.connection), begin(watcher.connection)
    with psycopg.connect(server.url, autocommit=True) as other:
        with life(server, first.holder):
            assert keep_life_lock(other, holder=second.holder) is None
            assert value(watcher.connection, KEY_OF, second.holder) is None
        assert [watcher.look() for _ in range(3)] == [[]] * 3  # free now, but both leases last
    assert head(watcher.connection, first.run, "losses") == 0


@pytest.mark.parametrize("key", [0, 1, 2**31, 2**32 - 1, 2**32, 2**40 + 5, 2**63 - 1])
def test_a_key_of_any_size_is_found_among_the_locks(server: Server, key: int) -> None:
    connection, other = server.connect(), server.connect()
    locked = "SELECT liyagent_is_locked(%s::bigint)"
    assert value(connection, locked, key) is False
    other.execute("SELECT pg_advisory_lock(%s)", [key])
    assert value(connection, locked, key) is True


def test_a_lock_of_another_database_or_of_two_keys_is_none_of_ours(server: Server) -> None:
    connection = server.connect()
    connection.execute("SELECT pg_advisory_lock(0, 5)")
    assert value(connection, "SELECT liyagent_is_locked(5::bigint)") is False
    elsewhere = server.url.rsplit("/", 1)[0] + "/postgres"
    with psycopg.connect(elsewhere, autocommit=True) as other:
        other.execute("SELECT pg_advisory_lock(5::bigint)")
        assert value(connection, "SELECT liyagent_is_locked(5::bigint)") is False


def test_holders_without_runs_are_not_looked_up(server: Server, watcher: Watcher) -> None:
    """Those of long ago stay a day; none of them makes every look read all locks."""
    fence = died(server, watcher.connection)
    watcher.connection.execute("DELETE FROM runs_run")
    silent = "SELECT count(*) FROM liyagent_silent_holders(%s, 1)"
    assert value(watcher.connection, silent, uuid4()) == 0
    start_run(watcher.connection)
    assert value(watcher.connection, silent, fence.holder) == 0
