"""Every write of an attempt is fenced, and answers a repeated question as the first time (rulings 4, 5)."""

from __future__ import annotations

from dataclasses import replace

import psycopg
import pytest

from tests.unit.runs.sleeping import SLEEPERS, hold, hold_and_go_on
from tests.unit.runs.sql import (
    NEXT,
    Server,
    add_holder,
    begin,
    claim,
    config,
    finish,
    head,
    kept,
    lapse,
    mark,
    mark_second,
    release,
    retake,
    settle,
    step,
    sweep,
    value,
)
from tests.unit.runs.sql import WRITERS as AWAKE

WRITERS = (*AWAKE, hold_and_go_on, *SLEEPERS)


@pytest.mark.promise("CR-12")
def test_a_claimed_attempt_writes_nothing(server: Server) -> None:
    connection = server.connect()
    for write in WRITERS:
        fence = begin(connection)
        lapse(connection, fence.holder)
        assert (fence.run, fence.attempt, 1) in sweep(connection, add_holder(connection))
        before = kept(connection)
        assert write(connection, fence, NEXT) is None
        assert kept(connection) == before


@pytest.mark.promise("CR-12")
@pytest.mark.field("FL-13")
def test_an_attempt_writes_nothing_after_its_own_holder_took_the_run_again(server: Server) -> None:
    connection = server.connect()
    for write in WRITERS:
        fence = begin(connection)
        assert claim(connection, fence)
        later = retake(connection, fence, fence.holder)
        assert later.attempt > fence.attempt
        before = kept(connection)
        assert write(connection, fence, NEXT) is None
        assert kept(connection) == before
        assert write(connection, later, NEXT) is not None


@pytest.mark.promise("CR-12")
def test_a_drained_straggler_matches_nothing_once_the_run_is_taken(server: Server) -> None:
    connection = server.connect()
    for write in WRITERS:
        fence = begin(connection)
        assert release(connection, fence, NEXT) is not None
        retake(connection, fence, add_holder(connection))
        before = kept(connection)
        for sequence in (NEXT, NEXT + 1):
            assert write(connection, fence, sequence) is None
        assert kept(connection) == before


@pytest.mark.promise("CR-12")
def test_a_write_that_waits_for_a_claim_writes_nothing(server: Server) -> None:
    claimer, stalled = server.connect(), server.connect()
    for write in WRITERS:
        fence = begin(claimer)
        with claimer.transaction():
            assert claim(claimer, fence)
            waiting = server.start_blocked(stalled, write, fence, NEXT)
            claimed = kept(claimer)
        assert waiting.result(10) is None
        assert kept(claimer) == claimed


@pytest.mark.promise("CR-12")
def test_a_write_that_waits_for_a_claim_and_a_new_take_writes_nothing(server: Server) -> None:
    claimer, stalled = server.connect(), server.connect()
    for write in WRITERS:
        fence = begin(claimer)
        other = add_holder(claimer)
        with claimer.transaction():
            assert claim(claimer, fence)
            retake(claimer, fence, other)
            waiting = server.start_blocked(stalled, write, fence, NEXT)
            taken = kept(claimer)
        assert waiting.result(10) is None
        assert kept(claimer) == taken


@pytest.mark.promise("CR-12")
def test_a_claim_that_waits_for_a_write_takes_the_run_only_if_it_still_runs(server: Server) -> None:
    writer, claimer = server.connect(), server.connect()
    for write in WRITERS:
        fence = begin(writer)
        with writer.transaction():
            assert write(writer, fence, NEXT) is not None
            waiting = server.start_blocked(claimer, claim, fence)
        has_left = write in {finish, release, *SLEEPERS}
        assert len(waiting.result(10)) == (0 if has_left else 1)
        assert head(writer, fence.run, "sequence") == NEXT
        assert head(writer, fence.run, "losses") == (0 if has_left else 1)


def test_a_write_whose_answer_was_lost_answers_again_and_writes_nothing_twice(
    server: Server,
) -> None:
    connection = server.connect()
    for write in WRITERS:
        fence = begin(connection)
        first = write(connection, fence, NEXT)
        after = kept(connection)
        again = write(server.connect(), fence, NEXT)
        assert first is not None
        assert again is not None
        assert again[:2] == first[:2] == (False, config(connection))
        assert kept(connection) == after


def test_a_write_asked_again_while_the_first_is_still_under_way_answers_as_the_first(
    server: Server,
) -> None:
    first, second = server.connect(), server.connect()
    for write in WRITERS:
        fence = begin(first)
        with first.transaction():
            assert write(first, fence, NEXT) is not None
            waiting = server.start_blocked(second, write, fence, NEXT)
            once = kept(first)
        answer = waiting.result(10)
        assert answer is not None
        assert answer[:2] == (False, config(first))
        assert kept(first) == once


def test_a_sequence_that_skips_or_falls_behind_is_refused(server: Server) -> None:
    connection = server.connect()
    for write in WRITERS:
        fence = begin(connection)
        before = kept(connection)
        for sequence in (0, NEXT - 2, NEXT + 1, NEXT + 100):
            assert write(connection, fence, sequence) is None
        assert kept(connection) == before


def test_an_attempt_that_never_was_is_refused(server: Server) -> None:
    connection = server.connect()
    for write in WRITERS:
        fence = begin(connection)
        before = kept(connection)
        for attempt in (fence.attempt - 1, fence.attempt + 1):
            assert write(connection, replace(fence, attempt=attempt), NEXT) is None
        assert kept(connection) == before


def test_a_write_is_told_of_a_stop_and_of_a_new_configuration(server: Server) -> None:
    connection = server.connect()
    for write in WRITERS:
        fence = begin(connection)
        connection.execute("UPDATE runs_run SET stop_requested = true WHERE id = %s", [fence.run])
        connection.execute("UPDATE agents_configversion SET version = 7")
        for _ in ("first", "again"):
            answer = write(connection, fence, NEXT)
            assert answer is not None
            assert answer[:2] == (True, 7)


def test_no_lock_and_no_transaction_is_left_after_a_write(server: Server) -> None:
    connection = server.connect()
    for write in WRITERS:
        fence = begin(connection)
        before = value(connection, "SHOW lock_timeout")
        assert write(connection, fence, NEXT) is not None
        assert value(connection, "SHOW lock_timeout") == before
        pid = connection.info.backend_pid
        assert (
            value(server.watcher, "SELECT state FROM pg_stat_activity WHERE pid = %s", pid)
            == "idle"
        )
        assert value(server.watcher, "SELECT count(*) FROM pg_locks WHERE pid = %s", pid) == 0


def test_a_write_that_waits_for_the_head_holds_no_lock_on_what_comes_later(server: Server) -> None:
    """The order is head, call, event head: so no two writers can wait for each other."""
    other, writer = server.connect(), server.connect()
    for write in set(WRITERS) - {mark_second}:
        fence = begin(other)
        with other.transaction():
            other.execute("SELECT 1 FROM runs_run WHERE id = %s FOR UPDATE", [fence.run])
            waiting = server.start_blocked(writer, write, fence, NEXT)
            other.execute(
                "SELECT 1 FROM runs_call WHERE run_id = %s FOR UPDATE NOWAIT", [fence.run]
            )
            other.execute(
                "SELECT 1 FROM events_eventhead WHERE correlation_id = %s FOR UPDATE NOWAIT",
                [fence.correlation],
            )
        assert waiting.result(10) is not None


def test_a_write_locks_no_holder(server: Server) -> None:
    """Renewals of the whole process must not wait for one run's write."""
    connection = server.connect()
    for write in WRITERS:
        fence = begin(connection)
        with connection.transaction():
            assert write(connection, fence, NEXT) is not None
            server.watcher.execute(
                "SELECT 1 FROM leases_holder WHERE id = %s FOR UPDATE NOWAIT", [fence.holder]
            )


@pytest.mark.promise("CR-09")
def test_a_step_is_one_statement_one_commit(server: Server) -> None:
    connection, steps = server.connect(), 20
    fence = begin(connection)

    def commits() -> int:
        connection.execute("SELECT pg_stat_force_next_flush()")
        number = value(
            server.watcher,
            "SELECT pg_stat_get_db_xact_commit(oid) FROM pg_database WHERE datname = current_database()",
        )
        assert isinstance(number, int)
        return number

    before = commits()
    for sequence in range(NEXT, NEXT + steps):
        assert step(connection, fence, sequence) is not None
    # A few more are the counting's own and the server's housekeeping.
    assert (commits() - before) // steps == 1
    assert (
        value(connection, "SELECT count(*) FROM runs_part WHERE run_id = %s", fence.run)
        == steps + 1
    )


@pytest.mark.promise("CR-09")
def test_a_step_that_cannot_be_stored_whole_is_not_stored_at_all(server: Server) -> None:
    connection = server.connect()
    fence = begin(connection)
    before = kept(connection)
    with pytest.raises(psycopg.errors.UniqueViolation):
        step(connection, fence, NEXT, part=1)
    assert kept(connection) == before


@pytest.mark.parametrize(("recording", "kept"), [("metadata", 0), ("full", 1)])
def test_the_end_settles_open_marks_as_unknown_with_a_late_look_and_keeps_parts_of_full_runs_alone(
    server: Server, recording: str, kept: int
) -> None:
    connection = server.connect()
    fence = begin(connection)
    connection.execute("UPDATE runs_run SET recording = %s", [recording])
    assert finish(connection, fence, NEXT, late=30.0) is not None
    assert connection.execute(
        "SELECT fate, settlement, round(extract(epoch FROM late_look_at - settled_at)) FROM runs_call"
    ).fetchall() == [("unknown", "run_ended", 30)]
    assert value(connection, "SELECT count(*) FROM runs_part") == kept
    assert connection.execute("SELECT run_id, sealed FROM transcripts_transcript").fetchall() == [
        (fence.run, b"transcript")
    ]
    assert value(connection, "SELECT action FROM audit_auditrow") == "agent.run.ended"
    assert head(connection, fence.run, "holder") is None


def test_a_settled_call_keeps_its_outcome_audit_and_event_in_one_commit(server: Server) -> None:
    connection = server.connect()
    fence = begin(connection)
    with connection.transaction(force_rollback=True):
        assert settle(connection, fence, NEXT, late=5.0) is not None
        call = "SELECT fate, settlement, outcome, late_look_at > settled_at FROM runs_call"
        assert connection.execute(call).fetchall() == [("done", "routed", b"outcome", True)]
        assert (
            value(connection, "SELECT count(*) FROM audit_auditrow WHERE run_id = %s", fence.run)
            == 1
        )
        assert value(connection, "SELECT count(*) FROM events_runevent") == 2
    assert value(connection, "SELECT fate FROM runs_call") == ""
    assert value(connection, "SELECT count(*) FROM audit_auditrow") == 0
    assert value(connection, "SELECT count(*) FROM events_runevent") == 1


def test_a_call_that_is_not_open_cannot_be_settled(server: Server) -> None:
    connection = server.connect()
    fence = begin(connection)
    assert settle(connection, fence, NEXT) is not None
    before = kept(connection)
    for index in (0, 1):
        with pytest.raises(psycopg.errors.RaiseException, match="is not open"):
            settle(connection, fence, NEXT + 1, index=index, fate="failed")
    assert kept(connection) == before


def test_a_settled_call_cannot_be_marked_again(server: Server) -> None:
    connection = server.connect()
    fence = begin(connection)
    assert settle(connection, fence, NEXT) is not None
    before = kept(connection)
    with pytest.raises(psycopg.errors.RaiseException, match="is settled"):
        mark(connection, fence, NEXT + 1)
    assert kept(connection) == before


@pytest.mark.parametrize("fate", ["", "done", "unknown"])
def test_a_call_that_was_sent_or_settled_is_not_held(server: Server, fate: str) -> None:
    """What left once may have happened: no person is asked whether it should."""
    connection = server.connect()
    fence = begin(connection)
    if fate:
        assert settle(connection, fence, NEXT, fate=fate) is not None
    before = kept(connection)
    with pytest.raises(psycopg.errors.RaiseException, match="is settled or was sent"):
        hold(connection, fence, NEXT + bool(fate), index=0)
    assert kept(connection) == before
