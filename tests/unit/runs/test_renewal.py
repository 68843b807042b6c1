"""One statement on the holder's row renews all it holds and says what is no longer its own (ruling 2)."""

from __future__ import annotations

from typing import Any
from uuid import UUID, uuid4

import pytest

from tests.unit.runs.sql import (
    Connection,
    Fence,
    Server,
    add_holder,
    claim,
    config,
    lapse,
    retake,
    start_run,
    sweep,
    value,
)

Answer = tuple[Any, ...] | None


def renew(connection: Connection, holder: UUID, *fences: Fence, seconds: float = 8.0) -> Answer:
    """Renew `holder`, which names these attempts: (config, lost, orphans, their attempts, stops)."""
    runs, attempts = [fence.run for fence in fences], [fence.attempt for fence in fences]
    return connection.execute(
        "SELECT * FROM liyagent_renew(%s, %s, %s::uuid[], %s::int[])",
        [holder, seconds, runs, attempts],
    ).fetchone()


def seconds_left(connection: Connection, holder: UUID) -> float:
    """Return how long the lease of a holder lasts still."""
    query = "SELECT extract(epoch FROM renew_by - liyagent_now()) FROM leases_holder WHERE id = %s"
    return float(value(connection, query, holder))


@pytest.mark.promise("CR-11")
def test_a_renewal_lasts_from_now_and_asks_nothing_of_the_runs(server: Server) -> None:
    connection = server.connect()
    holder = add_holder(connection, seconds=1)
    fence = start_run(connection, holder=holder)
    row = "SELECT xmin::text FROM runs_run"
    before = value(connection, row)
    assert renew(connection, holder, fence) == (config(connection), None, None, None, None)
    assert 7 < seconds_left(connection, holder) <= 8
    assert value(connection, row) == before


@pytest.mark.promise("CR-11")
def test_a_renewal_never_shortens_a_lease(server: Server) -> None:
    connection = server.connect()
    holder = add_holder(connection, seconds=60)
    assert renew(connection, holder, seconds=1)
    assert seconds_left(connection, holder) > 50


def test_a_holder_whose_row_is_gone_is_told_nothing(server: Server) -> None:
    connection = server.connect()
    fence = start_run(connection)
    connection.execute("DELETE FROM leases_holder")
    assert renew(connection, fence.holder, fence) is None
    assert renew(connection, uuid4()) is None


@pytest.mark.promise("CR-11")
def test_a_lease_that_lapsed_unclaimed_is_taken_up_again(server: Server) -> None:
    connection = server.connect()
    fence = start_run(connection)
    lapse(connection, fence.holder)
    assert renew(connection, fence.holder, fence) == (config(connection), None, None, None, None)
    assert sweep(connection, uuid4()) == []


@pytest.mark.promise("CR-12")
@pytest.mark.field("FL-13")
def test_runs_that_are_no_longer_its_own_are_named_also_after_it_took_them_again(
    server: Server,
) -> None:
    connection = server.connect()
    holder = add_holder(connection)
    kept_run, claimed, moved, again = (start_run(connection, holder=holder) for _ in range(4))
    assert claim(connection, moved)
    retake(connection, moved, add_holder(connection))
    assert claim(connection, again)
    newer = retake(connection, again, holder)
    assert claim(connection, claimed)
    answer = renew(connection, holder, kept_run, claimed, moved, again)
    assert answer is not None
    assert sorted(answer[1]) == sorted([claimed.run, moved.run, again.run])
    assert answer[2:4] == ([again.run], [newer.attempt])


def test_running_rows_that_it_did_not_name_are_orphans_with_their_attempts(server: Server) -> None:
    connection = server.connect()
    holder = add_holder(connection)
    named, first, second = (start_run(connection, holder=holder) for _ in range(3))
    assert claim(connection, second)
    second = retake(connection, second, holder)
    start_run(connection)  # another holder's
    answer = renew(connection, holder, named)
    assert answer is not None
    assert answer[1] is None
    orphans = dict(zip(answer[2], answer[3], strict=True))
    assert orphans == {first.run: 1, second.run: 2}


def test_a_stop_is_told_of_named_runs(server: Server) -> None:
    connection = server.connect()
    holder = add_holder(connection)
    stopped, other = (start_run(connection, holder=holder) for _ in range(2))
    connection.execute("UPDATE runs_run SET stop_requested = true WHERE id = %s", [stopped.run])
    connection.execute("UPDATE agents_configversion SET version = 9")
    assert renew(connection, holder, stopped, other) == (9, None, None, None, [stopped.run])


def test_a_renewal_waits_for_no_run(server: Server) -> None:
    """A head that is locked, or a claim under way, must not cost the process its other runs."""
    connection, other = server.connect(), server.connect()
    fence = start_run(connection)
    with other.transaction():
        assert claim(other, fence)
        assert renew(connection, fence.holder, fence) == (
            config(connection),
            None,
            None,
            None,
            None,
        )
    answer = renew(connection, fence.holder, fence)
    assert answer is not None
    assert answer[1] == [fence.run]


def test_no_lock_is_left_after_a_renewal(server: Server) -> None:
    connection = server.connect()
    fence = start_run(connection)
    assert renew(connection, fence.holder, fence)
    pid = connection.info.backend_pid
    assert value(server.watcher, "SELECT state FROM pg_stat_activity WHERE pid = %s", pid) == "idle"
    assert value(server.watcher, "SELECT count(*) FROM pg_locks WHERE pid = %s", pid) == 0
