"""A check over all chains reads some at a time, and each once."""

from __future__ import annotations

from uuid import UUID

import pytest
from django.db import connection

from events.by_chain import by_chain
from events.chain import genesis_hash
from events.checking import Asked
from tests.databases import FreshDatabase

pytestmark = pytest.mark.usefixtures("heads")
READ = "SELECT correlation_id FROM events_eventhead WHERE correlation_id >= %s AND correlation_id <= %s ORDER BY 1 LIMIT %s"
CHAINS = [UUID(int=number) for number in (1, 2, 3, 7, 9)]


@pytest.fixture
def heads(fresh_db: FreshDatabase) -> None:
    with connection.cursor() as cursor:
        for chain in CHAINS:
            cursor.execute(
                "INSERT INTO events_eventhead (correlation_id, count, hash) VALUES (%s, 0, %s)",
                [chain, genesis_hash(chain)],
            )


@pytest.mark.parametrize("at_once", [1, 2, 5, 9])
def test_each_chain_is_read_once_however_few_at_a_time(at_once: int) -> None:
    read = list(by_chain(READ, Asked(), at_once=at_once))
    assert [chain for rows in read for (chain,) in rows] == CHAINS
    assert max(map(len, read)) <= at_once


def test_those_that_are_not_asked_for_are_not_read() -> None:
    asked = Asked(first=CHAINS[1], last=CHAINS[3])
    assert [it for rows in by_chain(READ, asked, at_once=2) for (it,) in rows] == CHAINS[1:4]
    assert list(by_chain(READ, Asked(first=UUID(int=4), last=UUID(int=6)), at_once=2)) == []
