"""What is done meanwhile is done while the server is at the statement: not before it has it, and not after its answer."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest

from liyagent.core.hot_connection import HotConnection
from tests.databases import FreshDatabase

LOCK = 4711
STATE = "SELECT state, query FROM pg_stat_activity WHERE pid = %s"
WAITING = "SELECT pg_advisory_lock(%s), %s::text"


@pytest.fixture
def hot(fresh_db: FreshDatabase) -> Iterator[HotConnection]:
    connection = HotConnection.connect(
        fresh_db.url, autocommit=True, prepare_threshold=0, options="-c statement_timeout=10s"
    )
    yield connection
    connection.close()


def test_it_is_done_while_the_server_is_at_it(fresh_db: FreshDatabase, hot: HotConnection) -> None:
    """The statement waits for a lock that only what is done meanwhile lets go; prepared anew or not."""
    seen = []
    with psycopg.connect(fresh_db.url, autocommit=True) as other:
        for number in range(3):
            other.execute("SELECT pg_advisory_lock(%s)", [LOCK])

            def let_go() -> None:
                seen.append(other.execute("SELECT pg_advisory_unlock(%s)", [LOCK]).fetchone())

            rows = hot.execute_meanwhile(WAITING, (LOCK, str(number)), let_go)
            assert [row[1] for row in rows] == [str(number)]
            hot.execute("SELECT pg_advisory_unlock(%s)", [LOCK])
    assert seen == [(True,)] * 3


def test_the_next_statement_does_nothing_more(hot: HotConnection) -> None:
    done: list[int] = []
    hot.execute_meanwhile("SELECT 1", (), lambda: done.append(1))
    hot.execute("SELECT 2")
    assert done == [1]


def test_what_it_raises_is_raised_and_the_connection_is_not_used_again(hot: HotConnection) -> None:
    def fail() -> None:
        raise ValueError("on the way")

    with pytest.raises(ValueError, match="on the way"):
        hot.execute_meanwhile("SELECT 1", (), fail)
    assert hot.pgconn.transaction_status == psycopg.pq.TransactionStatus.ACTIVE


def test_the_statement_s_own_error_is_told_and_the_next_one_is_answered(hot: HotConnection) -> None:
    with pytest.raises(psycopg.errors.DivisionByZero):
        hot.execute_meanwhile("SELECT 1 / %s", (0,), lambda: None)
    assert hot.execute_meanwhile("SELECT %s::int", (7,), lambda: None) == [(7,)]
