"""An approved call is reserved by the attempt that has its run, once, while all stands; else nothing is written (CR-29)."""

from __future__ import annotations

from typing import Any, LiteralString
from uuid import UUID

import pytest
from psycopg import sql

from tests.unit.approvals.test_wakes import REQUEST
from tests.unit.runs.sleeping import hand_down
from tests.unit.runs.sql import (
    Connection,
    Fence,
    Row,
    Server,
    add_holder,
    claim,
    config,
    kept,
    retake,
    start_run,
    value,
)

HELD = """
    INSERT INTO runs_call (run_id, correlation_id, step, index, provider_call_id, server, tool, intent, approval_id, step_key,
        has_identity, key_window_seconds, intent_digest, attempt, holder, marked_at, deadline, sealed, fate, settlement,
        late_finding)
    VALUES (%s, %s, 1, 0, 'call-0', 'v', 'keyed', 'held', %s, 'key-0', true, 60, 'digest', 1, %s, liyagent_now(),
        liyagent_now(), '', '', '', '')
"""
RESERVE = "SELECT * FROM liyagent_reserve(%s, %s, %s, 'seal', 1, 0, %s, 30, 'sealed', %s)"
SPOIL = "SELECT * FROM liyagent_spoil(%s, %s, %s, 'refused by now')"


def approved_call(connection: Connection, *, status: str = "approved") -> tuple[Fence, UUID]:
    """A running run with a held call, whose request stands at `status`."""
    fence = start_run(connection)
    approval = value(connection, REQUEST, fence.run, fence.correlation)
    connection.execute("UPDATE approvals_approval SET status = %s", [status])
    connection.execute(HELD, [fence.run, fence.correlation, approval, fence.holder])
    return fence, approval


def reserve(
    connection: Connection,
    fence: Fence,
    approval: UUID,
    *,
    sequence: int = 1,
    by: int | None = None,
) -> Row | None:
    judged_by = config(connection) if by is None else by
    values = [fence.run, fence.attempt, sequence, approval, judged_by]
    return connection.execute(RESERVE, values).fetchone()


def stands(connection: Connection) -> Any:
    return connection.execute(
        "SELECT a.status, c.intent, c.key_window_seconds, r.sequence FROM approvals_approval a"
        " JOIN runs_call c ON c.approval_id = a.id JOIN runs_run r ON r.id = c.run_id"
    ).fetchone()


@pytest.mark.promise("CR-10")
@pytest.mark.promise("CR-29")
def test_an_approval_is_consumed_in_the_commit_that_marks_the_call(server: Server) -> None:
    here = server.connect()
    fence, approval = approved_call(here)
    here.execute("UPDATE runs_call SET marked_at = marked_at - interval '1 day'")
    row = reserve(here, fence, approval)
    assert row is not None
    assert row[0] is False
    assert 50 < row[2] <= 60
    assert stands(here) == ("consumed", "sending", 30, 1)
    # Its vendor has not heard of the key before: the window counts from here, and not from the filing.
    age = "SELECT liyagent_now() - marked_at < interval '1 minute' FROM runs_call"
    assert value(here, age) is True


def test_a_reservation_asked_for_again_is_answered_as_the_first_time(server: Server) -> None:
    here = server.connect()
    fence, approval = approved_call(here)
    assert reserve(here, fence, approval)
    before = kept(here)
    row = reserve(here, fence, approval)
    assert row is not None
    assert row[2] is not None
    assert kept(here) == before


@pytest.mark.parametrize("status", ["pending", "rejected", "expired", "withdrawn", "stale"])
def test_what_is_not_approved_is_not_reserved(server: Server, status: str) -> None:
    here = server.connect()
    fence, approval = approved_call(here, status=status)
    row = reserve(here, fence, approval)
    assert row is not None
    assert row[2] is None
    assert stands(here) == (status, "held", 60, 0)


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE approvals_approval SET expires_at = liyagent_now()",
        "UPDATE runs_run SET stop_requested = true",
        "UPDATE agents_configversion SET version = version + 1",
    ],
)
def test_what_changed_just_before_leaves_it_unreserved(server: Server, change: str) -> None:
    here = server.connect()
    fence, approval = approved_call(here)
    judged_by = config(here)
    here.execute(change)
    row = reserve(here, fence, approval, by=judged_by)
    assert row is not None
    assert row[2] is None
    assert stands(here) == ("approved", "held", 60, 0)


@pytest.mark.promise("CR-12")
def test_an_attempt_that_lost_the_run_reserves_and_spoils_nothing(server: Server) -> None:
    here = server.connect()
    fence, approval = approved_call(here)
    assert claim(here, fence)
    assert reserve(here, fence, approval) is None
    assert here.execute(SPOIL, [fence.run, fence.attempt, approval]).fetchall() == []
    later = retake(here, fence, add_holder(here))
    assert reserve(here, fence, approval) is None
    assert here.execute(SPOIL, [fence.run, fence.attempt, approval]).fetchall() == []
    assert stands(here)[:2] == ("approved", "held")
    assert reserve(here, later, approval)
    assert stands(here)[:2] == ("consumed", "sending")


def test_what_was_consumed_is_not_spoiled(server: Server) -> None:
    here = server.connect()
    fence, approval = approved_call(here)
    assert reserve(here, fence, approval)
    here.execute(SPOIL, [fence.run, fence.attempt, approval])
    assert stands(here)[0] == "consumed"


def test_an_approval_reserves_no_other_call(server: Server) -> None:
    here = server.connect()
    fence, approval = approved_call(here)
    here.execute("UPDATE runs_call SET approval_id = gen_random_uuid()")
    with pytest.raises(Exception, match="is not held for approval"):
        reserve(here, fence, approval)
    assert value(here, "SELECT status FROM approvals_approval") == "approved"


@pytest.mark.promise("CR-29")
def test_approved_work_is_handed_down_and_its_approval_consumed_in_one_commit(
    server: Server,
) -> None:
    here = server.connect()
    fence, approval = approved_call(here)
    row = hand_down(here, fence, 1, index=0, key="key-0", approval=approval)
    assert row is not None
    assert row[2] is True
    assert stands(here)[:2] == ("consumed", "sending")
    children = "SELECT loop FROM runs_run WHERE parent_id = %s"
    assert here.execute(children, [fence.run]).fetchall() == [("key-0",)]


@pytest.mark.parametrize(
    "change",
    [
        "expires_at = liyagent_now()",
        *(f"status = '{it}'" for it in ("pending", "rejected", "withdrawn", "consumed", "stale")),
    ],
)
def test_work_is_not_handed_down_on_an_approval_that_no_longer_stands(
    server: Server, change: LiteralString
) -> None:
    here = server.connect()
    fence, approval = approved_call(here)
    here.execute(sql.SQL("UPDATE approvals_approval SET {}").format(sql.SQL(change)))
    before = kept(here)
    row = hand_down(here, fence, 1, index=0, key="key-0", approval=approval)
    assert row is not None
    assert row[2] is False
    assert kept(here) == before


@pytest.mark.parametrize("change", ["approval_id = gen_random_uuid()", "step_key = 'another'"])
def test_an_approval_hands_down_no_other_work(server: Server, change: LiteralString) -> None:
    here = server.connect()
    fence, approval = approved_call(here)
    here.execute(sql.SQL("UPDATE runs_call SET {}").format(sql.SQL(change)))
    with pytest.raises(Exception, match="is not held for approval"):
        hand_down(here, fence, 1, index=0, key="key-0", approval=approval)
    assert value(here, "SELECT status FROM approvals_approval") == "approved"
