"""A mark's deadline is its own, its first time never moves, and the same intent is found (rulings 6, 8, 9)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.runs.sql import (
    Connection,
    Fence,
    Row,
    Server,
    add_holder,
    claim,
    kept,
    mark,
    retake,
    settle,
    start_run,
    step,
    value,
)


def call(connection: Connection, fence: Fence, columns: str) -> Row | None:
    """Return columns of the only call of a run."""
    query = f"SELECT {columns} FROM runs_call WHERE run_id = %s"
    return connection.execute(query, [fence.run]).fetchone()


def renew_by(connection: Connection, fence: Fence) -> Any:
    """Return how long the holder's lease lasts."""
    return value(connection, "SELECT renew_by FROM leases_holder WHERE id = %s", fence.holder)


def renew(connection: Connection, fence: Fence, seconds: float) -> None:
    """Renew the holder's lease."""
    connection.execute("SELECT liyagent_renew(%s, %s, '{}', '{}')", [fence.holder, seconds])


def seconds_left(answer: Row | None) -> float:
    """Return what a mark answered."""
    assert answer is not None
    return float(answer[2])


def unknown(connection: Connection, fence: Fence) -> int:
    """Mark and settle the first call of a run as unknown; return the call's id."""
    assert mark(connection, fence, 1)
    assert settle(connection, fence, 2, fate="unknown")
    row = call(connection, fence, "id")
    assert row is not None
    return int(row[0])


@pytest.mark.promise("CR-10")
def test_a_mark_stores_what_will_be_sent_and_that_it_is_in_doubt(server: Server) -> None:
    connection = server.connect()
    fence = start_run(connection)
    assert mark(connection, fence, 1)
    columns = "intent, fate, sealed, step_key, attempt, holder, correlation_id, marked_at <= liyagent_now()"
    assert call(connection, fence, columns) == (
        "sending", "", b"sealed", "key-0", 1, fence.holder, fence.correlation, True,
    )  # fmt: skip


@pytest.mark.promise("CR-11")
def test_a_mark_s_deadline_is_the_holder_s_at_this_moment_and_later_renewals_do_not_move_it(
    server: Server,
) -> None:
    connection = server.connect()
    fence = start_run(connection)
    at_mark = renew_by(connection, fence)
    left = seconds_left(mark(connection, fence, 1))
    assert 50 < left <= 60
    renew(connection, fence, 3600)
    assert renew_by(connection, fence) > at_mark
    assert call(connection, fence, "deadline") == (at_mark,)


@pytest.mark.promise("CR-11")
def test_a_mark_asked_again_after_a_renewal_answers_with_its_stored_deadline(
    server: Server,
) -> None:
    connection = server.connect()
    fence = start_run(connection)
    first = seconds_left(mark(connection, fence, 1))
    renew(connection, fence, 3600)
    after = kept(connection)
    assert seconds_left(mark(connection, fence, 1)) < first
    assert kept(connection) == after


def test_a_mark_by_a_holder_that_lapsed_leaves_no_time_to_send(server: Server) -> None:
    connection = server.connect()
    fence = start_run(connection)
    connection.execute("UPDATE leases_holder SET renew_by = liyagent_now() - interval '1 second'")
    assert seconds_left(mark(connection, fence, 1)) < 0


def test_a_holder_without_a_row_marks_nothing(server: Server) -> None:
    connection = server.connect()
    fence = start_run(connection)
    connection.execute("DELETE FROM leases_holder")
    before = kept(connection)
    assert mark(connection, fence, 1) is None
    assert kept(connection) == before


def test_a_new_mark_of_the_same_call_has_a_new_deadline_and_the_first_time(server: Server) -> None:
    connection = server.connect()
    fence = start_run(connection)
    assert mark(connection, fence, 1)
    first = call(connection, fence, "marked_at")
    renew(connection, fence, 3600)
    assert seconds_left(mark(connection, fence, 2)) > 3500
    assert call(connection, fence, "marked_at") == first
    assert call(connection, fence, "deadline") == (renew_by(connection, fence),)
    assert value(connection, "SELECT count(*) FROM runs_call") == 1


@pytest.mark.promise("CR-10")
def test_a_resumed_attempt_marks_again_under_its_own_holder_and_keeps_bytes_key_and_first_time(
    server: Server,
) -> None:
    connection = server.connect()
    fence = start_run(connection)
    assert mark(connection, fence, 1)
    before = call(connection, fence, "marked_at, sealed, step_key")
    assert claim(connection, fence)
    later = retake(connection, fence, add_holder(connection, seconds=600))
    assert seconds_left(mark(connection, later, 2, key="another", sealed=b"masked anew")) > 500
    assert call(connection, fence, "attempt, holder") == (later.attempt, later.holder)
    assert call(connection, fence, "marked_at, sealed, step_key") == before


def test_the_same_intent_after_an_unknown_outcome_is_named_and_not_marked(server: Server) -> None:
    connection = server.connect()
    fence = start_run(connection)
    earlier = unknown(connection, fence)
    before = kept(connection)
    for _ in ("first", "again"):
        answer = mark(connection, fence, 3, index=1)
        assert answer is not None
        assert answer[2:] == (0.0, earlier)
    assert kept(connection) == before
    assert step(connection, fence, 3) is not None  # the sequence was not used up


def test_the_same_intent_is_found_across_the_runs_of_one_correlation_id_alone(
    server: Server,
) -> None:
    connection = server.connect()
    parent = start_run(connection)
    earlier = unknown(connection, parent)
    child = start_run(connection, holder=parent.holder, correlation=parent.correlation)
    stranger = start_run(connection, holder=parent.holder)
    answer = mark(connection, child, 1)
    assert answer is not None
    assert answer[3] == earlier
    other = mark(connection, stranger, 1)
    assert other is not None
    assert other[3] is None


@pytest.mark.parametrize("fate", ["done", "failed", "refused"])
def test_the_same_intent_after_a_known_outcome_is_marked(server: Server, fate: str) -> None:
    connection = server.connect()
    fence = start_run(connection)
    assert mark(connection, fence, 1)
    assert settle(connection, fence, 2, fate=fate)
    answer = mark(connection, fence, 3, index=1)
    assert answer is not None
    assert answer[3] is None
    assert value(connection, "SELECT count(*) FROM runs_call WHERE fate = ''") == 1


def test_another_intent_after_an_unknown_outcome_is_marked(server: Server) -> None:
    connection = server.connect()
    fence = start_run(connection)
    unknown(connection, fence)
    answer = mark(connection, fence, 3, index=1, intent="other")
    assert answer is not None
    assert answer[3] is None
