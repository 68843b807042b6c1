"""What a hot statement does where the server is there and refuses: wait for another, or say so at once."""

from __future__ import annotations

import threading

import psycopg
import pytest
from psycopg import sql

from liyagent.core.database import hot_pool
from runs import hot
from tests.databases import FreshDatabase

WRITE = (
    "INSERT INTO leases_lease (name, holder, epoch, until)"
    " VALUES ('one', gen_random_uuid(), 2, liyagent_now()) RETURNING epoch"
)


def set_read_only(database: FreshDatabase, *, on: bool) -> None:
    """Let every new session of the database be that of a standby, or of none."""
    statement = sql.SQL("ALTER DATABASE {} SET default_transaction_read_only = {}")
    with psycopg.connect(database.url, autocommit=True) as admin:
        admin.execute("SET default_transaction_read_only = off")
        admin.execute(statement.format(sql.Identifier(database.name), sql.Literal(str(on))))


@pytest.mark.field("FL-19")
def test_a_server_that_became_a_standby_is_waited_for_and_its_sessions_are_left(
    fresh_db: FreshDatabase,
) -> None:
    set_read_only(fresh_db, on=True)
    was_refused = threading.Event()
    answers: list[tuple[int]] = []

    def refused() -> bool:
        was_refused.set()
        return False

    asking = threading.Thread(
        target=lambda: answers.extend(hot.ask(WRITE, (), give_up=refused)), daemon=True
    )
    asking.start()
    assert was_refused.wait(5)
    set_read_only(fresh_db, on=False)
    asking.join(timeout=5)
    assert answers == [(2,)]


def test_what_is_too_much_for_the_server_is_not_asked_for_ever(fresh_db: FreshDatabase) -> None:
    """More columns than a row may have, as any limit of the server: the attempt breaks, and is counted."""
    columns = ", ".join(f"{number} AS c{number}" for number in range(1700))
    with pytest.raises(psycopg.errors.OperationalError) as refusal:
        hot.ask(f"SELECT {columns}", (), give_up=lambda: False)
    assert refusal.value.sqlstate == "54011"
    with hot_pool().connection() as connection:
        assert connection.execute("SELECT 1").fetchone() == (1,)
