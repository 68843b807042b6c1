"""A run whose very end goes wrong is no tight loop: it is taken again later and later."""

from __future__ import annotations

import pytest

from tests.unit.runs.sql import Connection, Fence, Server, begin, head, value

WAITS = "SELECT extract(epoch FROM not_before - liyagent_now()) FROM runs_run WHERE id = %s"
CLAIM = "SELECT * FROM liyagent_claim(ARRAY[%s], ARRAY[%s], 'thread', NULL)"


def claimed_after(connection: Connection, losses: int) -> Fence:
    fence = begin(connection)
    connection.execute("UPDATE runs_run SET losses = %s WHERE id = %s", [losses, fence.run])
    assert connection.execute(CLAIM, [fence.run, fence.attempt]).fetchone()
    assert head(connection, fence.run, "losses") == losses + 1
    return fence


@pytest.mark.promise("CR-18")
@pytest.mark.parametrize("losses", [0, 1, 2])
def test_a_run_that_was_lost_up_to_three_times_waits_for_nothing(
    server: Server, losses: int
) -> None:
    connection = server.connect()
    fence = claimed_after(connection, losses)
    assert head(connection, fence.run, "not_before") is None


@pytest.mark.promise("CR-18")
@pytest.mark.parametrize(("losses", "seconds"), [(3, 2), (4, 4), (7, 32), (20, 300), (30_000, 300)])
def test_one_whose_end_went_wrong_waits_twice_as_long_each_time_and_at_most_five_minutes(
    server: Server, losses: int, seconds: int
) -> None:
    connection = server.connect()
    fence = claimed_after(connection, losses)
    assert seconds - 1.5 < float(value(connection, WAITS, fence.run)) <= seconds
