"""Parent and child on two connections: whoever comes first, one child, no deadlock, nobody asleep after its child ended."""

from __future__ import annotations

from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any
from uuid import UUID, uuid4

import pytest

from tests.unit.runs.sleeping import KEY, hand_down, sleep_on
from tests.unit.runs.sql import (
    Connection,
    Fence,
    Row,
    Server,
    add_holder,
    add_run,
    claim,
    config,
    finish,
    head,
    kept,
    retake,
    start_run,
    step,
    take,
    value,
)

ROUNDS = 200
STOP = "UPDATE runs_run SET stop_requested = true, status = CASE status WHEN 'waiting' THEN 'queued' ELSE status END WHERE id = %s"


def children_and_calls(connection: Connection, parent: Fence) -> tuple[int, int]:
    """How many children a parent has, and how many of its calls are marked."""
    children = value(connection, "SELECT count(*) FROM runs_run WHERE parent_id = %s", parent.run)
    calls = value(connection, "SELECT count(*) FROM runs_call WHERE run_id = %s", parent.run)
    return children, calls


@dataclass(slots=True, kw_only=True)
class Family:
    """A parent that was woken while its child is carried: both run."""

    parent: Fence
    child: Fence


def family(connection: Connection) -> Family:
    """Hand work down, take the child, and wake and take the parent as well."""
    parent = start_run(connection)
    assert step(connection, parent, 1) is not None
    child = uuid4()
    told = hand_down(connection, parent, 2, child=child)
    assert told is not None
    assert told[2] is True
    holder = add_holder(connection)
    ((taken, attempt),) = take(connection, holder)
    assert taken == child
    below = Fence(run=child, attempt=attempt, holder=holder, correlation=parent.correlation)
    connection.execute("SELECT liyagent_wake(%s)", [parent.run])
    ((taken, attempt),) = take(connection, parent.holder)
    assert taken == parent.run
    above = Fence(run=taken, attempt=attempt, holder=parent.holder, correlation=parent.correlation)
    return Family(parent=above, child=below)


def stop(connection: Connection, run: UUID) -> None:
    """Stop a parent as `stop_run` does: its own head first, then those below."""
    with connection.transaction():
        connection.execute(STOP, [run])
        connection.execute("SELECT liyagent_stop_children(%s, %s)", [run, run])


def end_child(connection: Connection, both: Family) -> Row | None:
    return finish(connection, both.child, 1)


def is_settled(connection: Connection, both: Family) -> None:
    """After the child's end its parent does not sleep."""
    assert head(connection, both.child.run, "status") == "answered"
    assert head(connection, both.parent.run, "status") in {"queued", "running"}
    assert head(connection, both.parent.run, "wakes") == 2


@pytest.mark.promise("CR-23")
@pytest.mark.field("FL-81")
def test_work_handed_down_twice_by_one_attempt_at_the_same_moment_has_one_child(
    server: Server,
) -> None:
    """Asked again while the first is still under way, as after a lost answer."""
    first, second = server.connect(), server.connect()
    parent = start_run(first)
    assert step(first, parent, 1) is not None
    with first.transaction():
        assert hand_down(first, parent, 2) is not None
        waiting = server.start_blocked(second, hand_down, parent, 2)
    told = waiting.result(timeout=5)
    assert told is not None
    assert children_and_calls(first, parent) == (1, 1)


@pytest.mark.promise("CR-23")
@pytest.mark.promise("CR-12")
@pytest.mark.field("FL-81")
@pytest.mark.parametrize("is_old_first", [True, False])
def test_of_one_that_stalled_and_the_one_that_took_over_one_hands_the_work_down(
    server: Server, is_old_first: bool
) -> None:
    """Whoever is first has the head; the other finds it asleep, or another's."""
    first, second = server.connect(), server.connect()
    old = start_run(first)
    assert step(first, old, 1) is not None
    if is_old_first:
        with first.transaction():
            assert hand_down(first, old, 2) is not None
            claiming = server.start_blocked(second, claim, old)
        assert claiming.result(timeout=5) == []
    else:
        with first.transaction():
            assert claim(first, old)
            later = retake(first, old, add_holder(first))
            assert hand_down(first, later, 2) is not None
            waiting = server.start_blocked(second, hand_down, old, 2)
        assert waiting.result(timeout=5) is None
    assert head(first, old.run, "status") == "waiting"
    assert children_and_calls(first, old) == (1, 1)


@pytest.mark.promise("CR-23")
def test_the_same_key_finds_the_child_that_is_there(server: Server) -> None:
    connection = server.connect()
    parent = start_run(connection)
    assert step(connection, parent, 1) is not None
    first, _ = add_run(connection, correlation=parent.correlation, loop=KEY, parent_id=parent.run)
    assert hand_down(connection, parent, 2) is not None
    rows = connection.execute("SELECT id FROM runs_run WHERE loop = %s", [KEY]).fetchall()
    assert rows == [(first,)]


@pytest.mark.parametrize("why", ["a stop", "a change of the configuration"])
def test_nothing_is_written_where_the_parent_was_stopped_or_judged_by_another_configuration(
    server: Server, why: str
) -> None:
    connection = server.connect()
    parent = start_run(connection)
    assert step(connection, parent, 1) is not None
    if why == "a stop":
        connection.execute(STOP, [parent.run])
    before = kept(connection)
    version = config(connection) - (why != "a stop")
    told = hand_down(connection, parent, 2, version=version)
    assert told == (why == "a stop", config(connection), False)
    assert kept(connection) == before


@pytest.mark.promise("CR-12")
@pytest.mark.parametrize("statement", [hand_down, sleep_on])
def test_an_attempt_that_is_out_hands_nothing_down_and_puts_nobody_to_sleep(
    server: Server, statement: Any
) -> None:
    connection = server.connect()
    parent = start_run(connection)
    assert step(connection, parent, 1) is not None
    connection.execute("UPDATE runs_run SET attempt = attempt + 1 WHERE id = %s", [parent.run])
    before = kept(connection)
    more = {"wakes": 0} if statement is sleep_on else {}
    assert statement(connection, parent, 2, **more) is None
    assert kept(connection) == before


@pytest.mark.promise("CR-23")
@pytest.mark.field("FL-81")
def test_a_parent_about_to_sleep_as_its_child_ends_is_awake_after_both(server: Server) -> None:
    """Its wakes were read before the child ended; each goes first."""
    first, second = server.connect(), server.connect()
    both = family(first)
    with first.transaction():
        end_child(first, both)
        waiting: Future[Any] = server.start_blocked(
            second, lambda connection: sleep_on(connection, both.parent, 3, wakes=1)
        )
    assert waiting.result(timeout=5) is not None
    is_settled(first, both)
    assert head(first, both.parent.run, "status") == "queued"
    both = family(first)
    with first.transaction():
        sleep_on(first, both.parent, 3, wakes=1)
        waiting = server.start_blocked(second, end_child, both)
    assert waiting.result(timeout=5) is not None
    is_settled(first, both)


def test_a_child_cannot_end_before_the_commit_that_hands_it_its_work(server: Server) -> None:
    first, second = server.connect(), server.connect()
    parent, holder = start_run(first), add_holder(second)
    assert step(first, parent, 1) is not None
    with first.transaction():
        assert hand_down(first, parent, 2) is not None
        assert take(second, holder) == []
    assert len(take(second, holder)) == 1


@pytest.mark.field("FL-81")
@pytest.mark.parametrize("of_parent", ["sleeps", "ends", "stops", "is claimed"])
def test_parent_and_child_at_the_same_moment_never_stand_in_each_other_s_way(
    server: Server, of_parent: str
) -> None:
    """Two hundred times, each on its own connection, started together: the parent's head is locked before the child's."""
    first, second = server.connect(), server.connect()
    for _ in range(ROUNDS):
        both = family(first)
        acts = {
            "sleeps": lambda it: sleep_on(first, it.parent, 3, wakes=1),
            "ends": lambda it: finish(first, it.parent, 3, status="failed"),
            "stops": lambda it: stop(first, it.parent.run),
            "is claimed": lambda it: first.execute(
                "SELECT * FROM liyagent_hand_over(%s)", [it.parent.holder]
            ),
        }
        one = server.start(acts[of_parent], both)
        other = server.start(end_child, second, both)
        one.result(timeout=10)
        assert other.result(timeout=10) is not None
        assert head(first, both.child.run, "status") == "answered"
        status = head(first, both.parent.run, "status")
        assert status in ({"failed"} if of_parent == "ends" else {"queued", "running"})
        first.execute(
            "UPDATE runs_run SET status = 'failed', holder = NULL WHERE id = %s", [both.parent.run]
        )


def test_whoever_ends_a_child_has_its_parent_s_head_before_its_own(server: Server) -> None:
    """Blocked by whoever has the parent's, it holds nothing that this one may want next."""
    first, second = server.connect(), server.connect()
    both = family(first)
    with first.transaction():
        first.execute("SELECT 1 FROM runs_run WHERE id = %s FOR NO KEY UPDATE", [both.parent.run])
        waiting = server.start_blocked(second, end_child, both)
        first.execute(
            "SELECT 1 FROM runs_run WHERE id = %s FOR NO KEY UPDATE NOWAIT", [both.child.run]
        )
    assert waiting.result(timeout=5) is not None
    is_settled(first, both)


def test_a_parent_that_ends_waits_for_its_child_s_end_or_stops_it(server: Server) -> None:
    """Blocked each way once: no order of locks but parent, child."""
    first, second = server.connect(), server.connect()
    both = family(first)
    with first.transaction():
        end_child(first, both)
        waiting = server.start_blocked(
            second, lambda it: finish(it, both.parent, 3, status="failed")
        )
    assert waiting.result(timeout=5) is not None
    both = family(first)
    with first.transaction():
        finish(first, both.parent, 3, status="failed")
        waiting = server.start_blocked(second, end_child, both)
    assert waiting.result(timeout=5) is not None
    assert head(first, both.child.run, "stop_requested") is True


def test_a_parent_that_is_answered_stops_nobody(server: Server) -> None:
    connection = server.connect()
    both = family(connection)
    assert finish(connection, both.parent, 3) is not None
    assert head(connection, both.child.run, "stop_requested") is False
