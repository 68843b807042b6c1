"""How runs change hands: every take raises the attempt, every loss is claimed once (rulings 2 to 4)."""

from __future__ import annotations

from concurrent.futures import Future
from threading import Barrier
from typing import Any
from uuid import UUID, uuid4

import pytest

from tests.unit.runs.sql import (
    NEXT,
    Connection,
    Fence,
    Row,
    Server,
    add_holder,
    add_run,
    begin,
    claim,
    head,
    lapse,
    mark,
    release,
    retake,
    start_run,
    step,
    sweep,
    take,
    value,
    wait_for,
)

ROUNDS = 500


def deadline(connection: Connection, fence: Fence) -> Any:
    """Return the deadline of the only mark of a run."""
    return value(connection, "SELECT deadline FROM runs_call WHERE run_id = %s", fence.run)


def claim_proven(connection: Connection, holder: UUID, *, limit: int = 100) -> list[Row]:
    """Claim the runs of a holder that is proven dead."""
    return connection.execute(
        "SELECT run, attempt, losses FROM liyagent_claim_proven(%s, %s)", [holder, limit]
    ).fetchall()


def hand_over(connection: Connection, holder: UUID) -> list[Row]:
    """Give back all that a holder carries."""
    return connection.execute("SELECT * FROM liyagent_hand_over(%s)", [holder]).fetchall()


# Taking


def test_a_take_sets_holder_and_time_and_raises_the_attempt(server: Server) -> None:
    connection = server.connect()
    fence = start_run(connection)
    assert fence.attempt == 1
    for attempt in (2, 3):
        assert claim(connection, fence)
        fence = retake(connection, fence, add_holder(connection))
        assert fence.attempt == attempt
    assert connection.execute(
        "SELECT status, holder, taken_at <= liyagent_now(), losses FROM runs_run"
    ).fetchall() == [("running", fence.holder, True, 2)]


@pytest.mark.promise("CR-12")
def test_two_takers_never_get_the_same_run(server: Server) -> None:
    one, other = server.connect(), server.connect()
    mine, theirs = add_holder(one), add_holder(one)
    runs = {add_run(one)[0] for _ in range(4)}
    with one.transaction():
        first = {run for run, _ in take(one, mine, fresh=2)}
        second = {run for run, _ in take(other, theirs)}  # skips what is locked, waits for nothing
    assert len(first) == len(second) == 2
    assert first | second == runs
    assert take(one, mine) == []


@pytest.mark.promise("CR-12")
def test_takers_side_by_side_share_the_queue_without_an_overlap(server: Server) -> None:
    connections = [server.connect() for _ in range(3)]
    holders = [add_holder(server.watcher) for _ in connections]
    runs = {add_run(server.watcher)[0] for _ in range(30)}
    barrier = Barrier(len(connections))

    def take_all(connection: Connection, holder: UUID) -> list[UUID]:
        barrier.wait()
        return [run for _ in range(10) for run, _ in take(connection, holder, fresh=3)]

    pairs = zip(connections, holders, strict=True)
    futures = [server.start(take_all, *pair) for pair in pairs]
    taken = [run for future in futures for run in future.result(20)]
    assert len(taken) == len(set(taken)) == 30
    assert set(taken) == runs


def test_only_a_living_holder_that_does_not_drain_takes(server: Server) -> None:
    connection = server.connect()
    run, _ = add_run(connection)
    assert take(connection, uuid4()) == []
    assert take(connection, add_holder(connection, seconds=-0.001)) == []
    assert take(connection, add_holder(connection, is_draining=True)) == []
    assert head(connection, run, "attempt") == 0
    assert take(connection, add_holder(connection)) == [(run, 1)]


def test_only_known_formats_and_keys_are_taken(server: Server) -> None:
    connection = server.connect()
    holder = add_holder(connection)
    newer, _ = add_run(connection, format=2)
    other_key, _ = add_run(connection, key_id="k2")
    newer_again, _ = add_run(connection, format=2, attempt=1)
    assert take(connection, holder) == []
    assert {run for run, _ in take(connection, holder, formats=(1, 2))} == {newer, newer_again}
    assert take(connection, holder, keys=("k1", "k2")) == [(other_key, 1)]


def test_a_run_is_not_taken_before_its_time_which_is_then_forgotten(server: Server) -> None:
    connection = server.connect()
    holder = add_holder(connection)
    run, _ = add_run(connection)
    connection.execute("UPDATE runs_run SET not_before = liyagent_now() + interval '1 minute'")
    assert take(connection, holder) == []
    connection.execute("UPDATE runs_run SET not_before = liyagent_now()")
    assert take(connection, holder) == [(run, 1)]
    assert head(connection, run, "not_before") is None


def test_nothing_but_queued_runs_is_taken(server: Server) -> None:
    connection = server.connect()
    for status in ("waiting", "paused", "answered", "declined", "failed", "stopped", "interrupted"):
        add_run(connection, status=status)
    start_run(connection)
    assert take(connection, add_holder(connection)) == []


def test_resumes_and_fresh_runs_are_taken_oldest_first_each_up_to_its_number(
    server: Server,
) -> None:
    connection = server.connect()
    holder = add_holder(connection)
    fresh = [add_run(connection)[0] for _ in range(3)]
    again = [add_run(connection, attempt=1)[0] for _ in range(3)]
    assert set(take(connection, holder, again=2, fresh=0)) == {(again[0], 2), (again[1], 2)}
    assert take(connection, holder, again=0, fresh=1) == [(fresh[0], 1)]
    assert sorted(take(connection, holder, again=9, fresh=1)) == sorted(
        [(again[2], 2), (fresh[1], 1)]
    )


def test_a_take_whose_answer_was_lost_is_found_by_its_holder(server: Server) -> None:
    connection = server.connect()
    fence, _ = start_run(connection), start_run(connection)
    assert connection.execute("SELECT * FROM liyagent_mine(%s)", [fence.holder]).fetchall() == [
        (fence.run, fence.attempt)
    ]


# Claiming


@pytest.mark.promise("CR-13")
def test_a_lapsed_run_is_claimed_and_its_loss_counted(server: Server) -> None:
    connection = server.connect()
    fence = begin(connection)
    lapse(connection, fence.holder)
    assert sweep(connection, uuid4()) == [(fence.run, fence.attempt, 1)]
    assert connection.execute(
        "SELECT status, holder, losses, last_loss, sequence FROM runs_run"
    ).fetchall() == [("queued", None, 1, "lapse", 2)]
    assert sweep(connection, uuid4()) == []


@pytest.mark.promise("CR-11")
def test_leases_are_judged_by_the_one_clock(server: Server) -> None:
    connection = server.connect()
    fence = begin(connection)
    clock = (
        "CREATE OR REPLACE FUNCTION liyagent_now() RETURNS timestamptz LANGUAGE sql VOLATILE"
        " AS $$ SELECT clock_timestamp() + interval '{}' $$"
    )
    connection.execute(clock.format("59 seconds"))
    assert sweep(connection, uuid4()) == []
    connection.execute(clock.format("61 seconds"))
    assert sweep(connection, uuid4()) == [(fence.run, fence.attempt, 1)]


@pytest.mark.promise("CR-11")
def test_a_run_whose_holder_renews_is_not_claimed(server: Server) -> None:
    connection = server.connect()
    fence = begin(connection)
    lapse(connection, fence.holder)
    connection.execute("SELECT liyagent_renew(%s, 8, '{}', '{}')", [fence.holder])
    assert sweep(connection, uuid4()) == []
    assert head(connection, fence.run, "losses") == 0


@pytest.mark.promise("CR-13")
@pytest.mark.field("FL-12")
def test_of_two_claims_of_one_loss_one_wins(server: Server) -> None:
    one, other = server.connect(), server.connect()
    fence = begin(one)
    with one.transaction():
        assert len(claim(one, fence)) == 1
        waiting = server.start_blocked(other, claim, fence)
    assert waiting.result(10) == []
    assert head(one, fence.run, "losses") == 1


@pytest.mark.promise("CR-13")
@pytest.mark.field("FL-12")
def test_a_claim_that_waited_for_another_claim_and_a_take_takes_nothing_from_the_new_attempt(
    server: Server,
) -> None:
    one, other = server.connect(), server.connect()
    fence = begin(one)
    with one.transaction():
        claim(one, fence)
        later = retake(one, fence, add_holder(one))
        waiting = server.start_blocked(other, claim, fence)
    assert waiting.result(10) == []
    assert head(one, fence.run, "holder") == later.holder


@pytest.mark.promise("CR-13")
@pytest.mark.field("FL-12")
def test_two_sweeps_at_the_same_instant_claim_each_loss_once(server: Server) -> None:
    one, other = server.connect(), server.connect()
    fence = start_run(server.watcher)
    sweepers = (uuid4(), uuid4())
    barrier = Barrier(3)

    def sweep_often(connection: Connection, sweeper: UUID) -> list[int]:
        claims = []
        for _ in range(ROUNDS):
            barrier.wait(20)
            claims.append(len(sweep(connection, sweeper)))
            barrier.wait(20)
        return claims

    futures: list[Future[Any]] = [
        server.start(sweep_often, one, sweepers[0]),
        server.start(sweep_often, other, sweepers[1]),
    ]
    for lost in range(1, ROUNDS + 1):
        lapse(server.watcher, fence.holder)
        barrier.wait(20)
        barrier.wait(20)
        assert head(server.watcher, fence.run, "losses") == lost
        server.watcher.execute("UPDATE runs_run SET not_before = NULL")
        fence = retake(server.watcher, fence, add_holder(server.watcher))
    won = [sum(pair) for pair in zip(*(future.result(20) for future in futures), strict=True)]
    assert won == [1] * ROUNDS


def test_two_claims_of_many_runs_in_opposite_orders_do_not_wait_for_each_other_in_a_circle(
    server: Server,
) -> None:
    one, other = server.connect(), server.connect()
    fences = [start_run(one) for _ in range(2)]
    runs = sorted(fence.run for fence in fences)
    query = "SELECT run FROM liyagent_claim(%s, '{1,1}', 'lapse', NULL)"
    with one.transaction():
        one.execute("SELECT 1 FROM runs_run WHERE id = %s FOR UPDATE", [runs[0]])
        waiting = server.start_blocked(other, lambda c: c.execute(query, [runs[::-1]]).fetchall())
        one.execute("SELECT 1 FROM runs_run WHERE id = %s FOR UPDATE NOWAIT", [runs[1]])
    assert sorted(waiting.result(10)) == [(run,) for run in runs]


def test_a_run_whose_head_is_locked_does_not_hold_up_the_sweep_of_others(server: Server) -> None:
    one, other = server.connect(), server.connect()
    stuck, free = begin(one), begin(one)
    lapse(one, stuck.holder)
    lapse(one, free.holder)
    with one.transaction():
        one.execute("SELECT 1 FROM runs_run WHERE id = %s FOR UPDATE", [stuck.run])
        assert [row[0] for row in server.start(sweep, other, uuid4()).result(10)] == [free.run]
    assert [row[0] for row in sweep(other, uuid4())] == [stuck.run]


def test_a_process_never_claims_its_own_runs(server: Server) -> None:
    connection = server.connect()
    fence = begin(connection)
    lapse(connection, fence.holder)
    assert sweep(connection, fence.holder) == []
    assert len(sweep(connection, add_holder(connection))) == 1


def test_a_sweeper_that_holds_nothing_needs_no_holder(server: Server) -> None:
    connection = server.connect()
    fence = begin(connection)
    lapse(connection, fence.holder)
    assert len(sweep(connection, None)) == 1


@pytest.mark.promise("CR-11")
@pytest.mark.field("FL-18")
def test_a_holder_without_a_row_has_lapsed(server: Server) -> None:
    connection = server.connect()
    fence = begin(connection)
    connection.execute("DELETE FROM leases_holder WHERE id = %s", [fence.holder])
    assert sweep(connection, add_holder(connection)) == [(fence.run, fence.attempt, 1)]


@pytest.mark.field("FL-18")
def test_a_new_life_of_the_same_name_does_not_keep_the_old_life_s_runs(server: Server) -> None:
    connection = server.connect()
    fence = begin(connection)
    lapse(connection, fence.holder)
    reborn = add_holder(connection)  # the same name, boot and process number
    connection.execute("SELECT liyagent_renew(%s, 8, '{}', '{}')", [reborn])
    assert sweep(connection, reborn) == [(fence.run, fence.attempt, 1)]


def test_a_sweep_claims_no_more_than_its_limit(server: Server) -> None:
    connection = server.connect()
    holder = add_holder(connection)
    for _ in range(3):
        start_run(connection, holder=holder)
    lapse(connection, holder)
    assert len(sweep(connection, uuid4(), limit=2)) == 2
    assert len(sweep(connection, uuid4(), limit=2)) == 1


def test_nothing_is_claimed_for_lapse_until_one_grace_after_the_server_s_start(
    server: Server,
) -> None:
    """Holders could not renew while the server was down (ruling 3)."""
    connection = server.connect()
    fence = begin(connection)
    lapse(connection, fence.holder)
    up = value(
        connection, "SELECT extract(epoch FROM clock_timestamp() - pg_postmaster_start_time())"
    )
    assert sweep(connection, uuid4(), grace=float(up) + 60) == []
    assert head(connection, fence.run, "status") == "running"


def test_nothing_is_claimed_for_lapse_until_one_grace_after_the_sweeper_s_reconnect(
    server: Server,
) -> None:
    """After a crash of its backends the server's start is as it was; only connections are new (ruling 3)."""
    connection = server.connect()
    fence = begin(connection)
    lapse(connection, fence.holder)
    age = (
        "SELECT extract(epoch FROM clock_timestamp() - backend_start)"
        " FROM pg_stat_activity WHERE pid = pg_backend_pid()"
    )
    wait_for(lambda: bool(value(connection, age) > 1))
    fresh = server.connect()
    grace = float(value(connection, age))  # the fresh one is a second younger, however slow we are
    assert sweep(fresh, uuid4(), grace=grace) == []
    assert len(sweep(connection, uuid4(), grace=grace)) == 1


@pytest.mark.promise("CR-13")
def test_a_holder_proven_dead_loses_its_runs_before_its_lease_ends_and_others_keep_theirs(
    server: Server,
) -> None:
    connection = server.connect()
    dead, living = begin(connection), begin(connection)
    assert claim_proven(connection, dead.holder) == [(dead.run, dead.attempt, 1)]
    assert head(connection, dead.run, "last_loss") == "proof"
    assert head(connection, living.run, "status") == "running"
    assert claim_proven(connection, dead.holder) == []


# When what was in doubt may be read back


def test_a_claim_waits_for_the_open_mark_s_own_deadline(server: Server) -> None:
    connection = server.connect()
    fence = begin(connection)
    assert claim(connection, fence)
    assert head(connection, fence.run, "settle_after") == deadline(connection, fence)


def test_a_claim_without_open_marks_waits_for_nothing(server: Server) -> None:
    connection = server.connect()
    fence = start_run(connection)
    assert step(connection, fence, 1)
    assert claim(connection, fence)
    assert head(connection, fence.run, "settle_after") is None


def test_settle_after_never_moves_back(server: Server) -> None:
    connection = server.connect()
    fence = begin(connection)
    for moved in ("1 hour", "-2 hours"):
        connection.execute(
            "UPDATE runs_run SET settle_after = liyagent_now() + %s::interval", [moved]
        )
        before = head(connection, fence.run, "settle_after")
        assert claim(connection, fence)
        latest = max(before, deadline(connection, fence))
        assert head(connection, fence.run, "settle_after") == latest
        fence = retake(connection, fence, fence.holder)


def test_proof_of_death_clears_the_dead_holder_s_own_marks_alone(server: Server) -> None:
    connection = server.connect()
    fence = begin(connection)
    assert claim(connection, fence, proven=fence.holder)
    assert head(connection, fence.run, "settle_after") is None
    # The mark is still the first holder's: the death of the second proves nothing about it.
    second = retake(connection, fence, add_holder(connection))
    assert claim(connection, second, proven=second.holder)
    assert head(connection, fence.run, "settle_after") == deadline(connection, fence)


@pytest.mark.promise("CR-10")
def test_a_claim_that_waits_for_a_mark_under_way_sees_its_deadline(server: Server) -> None:
    marking, claiming = server.connect(), server.connect()
    fence = start_run(marking)
    with marking.transaction():
        assert mark(marking, fence, 1)
        waiting = server.start_blocked(claiming, claim, fence)
    assert len(waiting.result(10)) == 1
    assert head(marking, fence.run, "settle_after") == deadline(marking, fence)


@pytest.mark.promise("CR-10")
def test_a_run_handed_over_while_a_mark_is_under_way_waits_for_its_deadline(server: Server) -> None:
    marking, leaving = server.connect(), server.connect()
    fence = start_run(marking)
    with marking.transaction():
        assert mark(marking, fence, 1)
        waiting = server.start_blocked(leaving, hand_over, fence.holder)
    assert waiting.result(10) == [(fence.run, fence.attempt)]
    assert head(marking, fence.run, "settle_after") == deadline(marking, fence)


# Giving back


def test_a_run_given_back_is_no_loss_and_keeps_what_was_written(server: Server) -> None:
    connection = server.connect()
    fence = begin(connection)
    assert release(connection, fence, NEXT)
    assert connection.execute(
        "SELECT status, holder, losses, handovers, sequence, not_before FROM runs_run"
    ).fetchall() == [("queued", None, 0, 1, NEXT, None)]
    assert head(connection, fence.run, "settle_after") == deadline(connection, fence)
    assert value(connection, "SELECT count(*) FROM runs_part") == 1
    assert retake(connection, fence, add_holder(connection)).attempt == 2


def test_a_run_that_waits_to_settle_is_taken_when_its_marks_deadlines_are_over(
    server: Server,
) -> None:
    connection = server.connect()
    fence = begin(connection)
    assert release(connection, fence, NEXT, is_handover=False, until_settled=True)
    assert head(connection, fence.run, "handovers") == 0
    assert head(connection, fence.run, "not_before") == deadline(connection, fence)
    holder = add_holder(connection)
    assert take(connection, holder) == []
    connection.execute("UPDATE runs_run SET not_before = liyagent_now()")
    assert take(connection, holder) == [(fence.run, 2)]


def test_a_holder_that_ends_gives_back_all_it_carries_and_nothing_else(server: Server) -> None:
    connection = server.connect()
    fence, other = begin(connection), begin(connection)
    assert hand_over(connection, fence.holder) == [(fence.run, fence.attempt)]
    assert step(connection, fence, NEXT) is None
    assert (head(connection, fence.run, "losses"), head(connection, fence.run, "handovers")) == (
        0,
        1,
    )
    assert head(connection, other.run, "status") == "running"


def test_no_lock_is_left_after_taking_claiming_and_giving_back(server: Server) -> None:
    connection = server.connect()
    pid = connection.info.backend_pid

    def is_free() -> bool:
        locks = value(server.watcher, "SELECT count(*) FROM pg_locks WHERE pid = %s", pid)
        state = value(server.watcher, "SELECT state FROM pg_stat_activity WHERE pid = %s", pid)
        return bool(locks == 0 and state == "idle")

    fence = begin(connection)
    assert is_free()
    lapse(connection, fence.holder)
    assert sweep(connection, uuid4())
    assert is_free()
    fence = retake(connection, fence, add_holder(connection))
    assert claim_proven(connection, fence.holder)
    assert is_free()
