"""A run that was lost twice has a door of its own: the normal take leaves it (ruling 11)."""

from __future__ import annotations

from uuid import UUID

import pytest

from tests.unit.runs.sql import (
    Connection,
    Server,
    add_holder,
    add_run,
    claim,
    head,
    start_run,
    take,
    take_one,
)


def due_alone(connection: Connection, *, limit: int = 16) -> list[UUID]:
    rows = connection.execute(
        "SELECT run FROM liyagent_due_alone('{1}', '{k1}', %s)", [limit]
    ).fetchall()
    return [row[0] for row in rows]


@pytest.mark.field("FL-21")
def test_a_run_lost_twice_is_left_to_a_process_of_its_own(server: Server) -> None:
    """Lost more often it is only told that it failed, which whoever comes may do."""
    connection = server.connect()
    runs = [add_run(connection, attempt=losses + 1, losses=losses)[0] for losses in range(4)]
    taken = {run for run, _ in take(connection, add_holder(connection))}
    assert taken == {runs[0], runs[1], runs[3]}
    assert due_alone(connection) == [runs[2]]


@pytest.mark.field("FL-21")
def test_a_stopped_run_that_was_lost_twice_ends_alone_too_and_first(server: Server) -> None:
    """On its way to its end it may settle a write, and so do again what has killed two processes."""
    connection = server.connect()
    waiting, _ = add_run(connection, attempt=3, losses=2)
    stopped, _ = add_run(connection, attempt=3, losses=2, stop_requested=True, key_id="gone")
    assert take(connection, add_holder(connection)) == []
    assert due_alone(connection) == [stopped, waiting]
    assert take_one(connection, add_holder(connection), stopped) == [(stopped, 4)]


@pytest.mark.promise("CR-12")
def test_taking_exactly_one_run_raises_its_attempt_and_only_the_first_has_it(
    server: Server,
) -> None:
    connection = server.connect()
    first, second = add_holder(connection), add_holder(connection)
    run, _ = add_run(connection, attempt=3, losses=2)
    bystander, _ = add_run(connection, attempt=3, losses=2)
    assert take_one(connection, first, run) == [(run, 4)]
    assert take_one(connection, second, run) == []
    assert (head(connection, run, "holder"), head(connection, run, "status")) == (first, "running")
    assert head(connection, bystander, "status") == "queued"


def test_two_that_ask_for_one_run_at_the_same_instant_do_not_both_get_it(server: Server) -> None:
    one, other = server.connect(), server.connect()
    run, _ = add_run(one, attempt=3, losses=2)
    mine, theirs = add_holder(one), add_holder(one)
    with one.transaction():
        assert take_one(one, mine, run) == [(run, 4)]
        waiting = server.start_blocked(other, take_one, theirs, run)
    assert waiting.result(10) == []
    assert head(one, run, "holder") == mine


def test_one_run_is_taken_by_a_living_holder_when_it_is_due(server: Server) -> None:
    connection = server.connect()
    run, _ = add_run(connection, attempt=3, losses=2)
    connection.execute("UPDATE runs_run SET not_before = liyagent_now() + interval '1 minute'")
    assert due_alone(connection) == []
    assert take_one(connection, add_holder(connection), run) == []
    connection.execute("UPDATE runs_run SET not_before = liyagent_now()")
    assert due_alone(connection) == [run]
    assert take(connection, add_holder(connection)) == []
    assert take_one(connection, add_holder(connection, seconds=-1), run) == []
    assert take_one(connection, add_holder(connection, is_draining=True), run) == []
    assert take_one(connection, add_holder(connection), run) == [(run, 4)]


def test_the_third_loss_opens_the_normal_door_again(server: Server) -> None:
    connection = server.connect()
    fence = start_run(connection, attempt=2, losses=2 - 1)
    assert [row[2] for row in claim(connection, fence)] == [2]
    ((_, attempt),) = take_one(connection, fence.holder, fence.run)
    again = type(fence)(
        run=fence.run, attempt=attempt, holder=fence.holder, correlation=fence.correlation
    )
    assert [row[2] for row in claim(connection, again)] == [3]
    assert take(connection, add_holder(connection)) == [(fence.run, attempt + 1)]


def test_no_more_are_named_than_were_asked_for(server: Server) -> None:
    connection = server.connect()
    runs = [add_run(connection, attempt=3, losses=2)[0] for _ in range(5)]
    assert due_alone(connection, limit=3) == runs[:3]
