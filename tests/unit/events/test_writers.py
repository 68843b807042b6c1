"""Many that append to one chain at once: one chain, no hole, nothing lost, and no lock over another's (FL-83)."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg import errors

from events.chain import genesis_hash
from events.completeness import RunFacts
from events.keys import checking_keys, tagger_of
from events.reading import one_moment, read_head, stream_events
from events.tags import BESIDE, Tagger
from events.verdict import Verdict, verdict_of
from liyagent.core.ids import new_id
from tests.databases import FreshDatabase

APPEND = (
    "SELECT liyagent_append_events(%s, %s, 'INC-1', 'full', ARRAY['run.handed_over'], ARRAY[%s])"
)
SECONDS = 1.0
SUB_AGENTS = 4


def begin(url: str) -> UUID:
    """An empty chain."""
    chain = new_id()
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(
            "INSERT INTO events_eventhead (correlation_id, count, hash) VALUES (%s, 0, %s)",
            [chain, genesis_hash(chain)],
        )
    return chain


def writer(url: str, chain: UUID, tagger: Tagger, told: list[int]) -> Callable[[], None]:
    """Append as fast as it goes, a commit each; what was committed is counted."""

    def write() -> None:
        until = time.monotonic() + SECONDS
        with psycopg.connect(url, autocommit=True) as connection:
            while time.monotonic() < until:
                line = tagger.line("run.handed_over", '{"holder":"a"}')
                connection.execute(APPEND, [chain, tagger.run_id, line])
                told.append(1)

    return write


def verdict(chain: UUID) -> tuple[Verdict, int]:
    with one_moment():
        head = read_head(chain)
        assert head is not None
        rows = list(stream_events(chain, chain))
    runs = {it.run_id: RunFacts(run_id=it.run_id, is_ended=False) for it in rows}
    told = verdict_of(
        rows, correlation_id=chain, head=head, keys=checking_keys(), runs=runs.values()
    )
    return told, len(rows)


@pytest.mark.promise("EV-02")
@pytest.mark.promise("EV-07")
@pytest.mark.field("FL-83")
def test_a_family_and_people_append_to_one_chain_while_one_is_killed(
    fresh_db: FreshDatabase,
) -> None:
    url, told = fresh_db.url, list[int]()
    chain, other = begin(url), begin(url)
    taggers = [
        tagger_of(correlation_id=chain, run_id=uuid4(), mission="INC-1", attempt=1)
        for _ in range(1 + SUB_AGENTS)
    ]
    taggers.append(tagger_of(correlation_id=chain, run_id=uuid4(), mission="INC-1", attempt=BESIDE))
    threads = [threading.Thread(target=writer(url, chain, it, told)) for it in taggers]
    for it in threads:
        it.start()
    _die_in_the_middle(url, chain)
    slow = _append_to(url, other)
    for it in threads:
        it.join()
    found, count = verdict(chain)
    assert (found.broken, found.lacks) == (None, ())
    assert count == len(told)
    assert slow == 0


def _die_in_the_middle(url: str, chain: UUID) -> None:
    """One that has inserted, and holds the chain's head, is killed before it commits."""
    dying = tagger_of(correlation_id=chain, run_id=uuid4(), mission="INC-1", attempt=1)
    with psycopg.connect(url) as victim:
        line = dying.line("run.handed_over", '{"holder":"x"}')
        victim.execute(APPEND, [chain, dying.run_id, line])
        with psycopg.connect(url, autocommit=True) as killer:
            killer.execute("SELECT pg_terminate_backend(%s)", [victim.info.backend_pid])
        with pytest.raises(psycopg.OperationalError):
            victim.execute("SELECT 1")


def _append_to(url: str, chain: UUID) -> int:
    """Append to another chain meanwhile; how often it waited 50 ms for a lock."""
    tagger = tagger_of(correlation_id=chain, run_id=uuid4(), mission="INC-1", attempt=1)
    slow = 0
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("SET lock_timeout = '50ms'")
        for _ in range(50):
            try:
                line = tagger.line("run.handed_over", '{"holder":"b"}')
                connection.execute(APPEND, [chain, tagger.run_id, line])
            except errors.LockNotAvailable:
                slow += 1
    return slow
