"""The pass over an agent's recent runs: what counts, what does not, and what it costs (RT-01)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from uuid import UUID

import psycopg
import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from liyagent.core.ids import new_id
from routines import scan as room
from routines.pattern import pattern_of
from routines.scan import Batch, scan
from runs import recorded
from tests.databases import FreshDatabase
from tests.recorded_runs import AGENT, Made, Past, write_past

FIND, CLOSE = Made(tool="crm/find", args={"name": "Ann"}), Made(tool="crm/close", effect="write")
PAIR = Past(calls=(FIND, CLOSE))


def scanned(agent: str = AGENT) -> tuple[dict[str, list[UUID]], Counter[str], list[Batch]]:
    batches = list(scan(agent))
    seen: dict[str, list[UUID]] = {}
    skipped: Counter[str] = Counter()
    for it in batches:
        skipped += it.skipped
        for pattern, runs in it.seen.items():
            seen.setdefault(pattern, []).extend(runs)
    return seen, skipped, batches


def one(fate: str, **facts: str) -> Past:
    return Past(calls=(FIND, Made(tool="crm/close", fate=fate, **facts)))


def requested(kind: str) -> Sequence[tuple[str, dict[str, object]]]:
    return [(kind, {"approval": "a", "step": 1, "index": 0, "server": "crm", "tool": "close"})]


@pytest.mark.promise("RT-01")
def test_runs_are_grouped_by_their_tools_in_their_order(fresh_db: FreshDatabase) -> None:
    pair = write_past(fresh_db.url, [PAIR, PAIR])
    (turned,) = write_past(fresh_db.url, [Past(calls=(CLOSE, FIND))])
    (single,) = write_past(fresh_db.url, [Past(calls=(FIND,))])
    write_past(fresh_db.url, [Past(calls=(FIND,), agent="other")])
    seen, skipped, _ = scanned()
    assert seen == {
        pattern_of(AGENT, ["crm/find", "crm/close"]): pair[::-1],
        pattern_of(AGENT, ["crm/close", "crm/find"]): [turned],
        pattern_of(AGENT, ["crm/find"]): [single],
    }
    assert not skipped


@pytest.mark.promise("RT-01")
def test_a_run_that_is_no_part_of_a_pattern_is_counted_by_reason(fresh_db: FreshDatabase) -> None:
    odd = {
        room.PART: Past(calls=PAIR.calls, parent=new_id()),
        room.OF_WORKFLOW: Past(calls=PAIR.calls, workflow="work"),
        room.NOT_ANSWERED: Past(calls=PAIR.calls, status="failed"),
        room.METADATA: Past(calls=PAIR.calls, recording="metadata"),
        room.NO_CALLS: Past(calls=()),
        room.MANY_CALLS: Past(calls=(FIND,) * (room.MOST_CALLS + 1)),
        room.FATES["failed"]: one("failed"),
        room.FATES["refused"]: one("refused", posture="refused"),
        room.FATES["unknown"]: one("unknown"),
        room.HELD: one("held", posture="held"),
    }
    also_held = [one("done", approval="a-1"), one("done", posture="held"), Past(calls=PAIR.calls, also=requested("approval.requested"))]  # fmt: skip
    write_past(fresh_db.url, [*odd.values(), *also_held, PAIR])
    approved = [("approval.decided", {"approval": "a-1", "decision": "approved"})]
    write_past(fresh_db.url, [Past(calls=one("done", approval="a-1").calls, also=approved)])
    seen, skipped, _ = scanned()
    assert [len(it) for it in seen.values()] == [1]
    # Of one that was made as approved, and nothing tells of the approval, the record is not complete.
    assert skipped == Counter(dict.fromkeys(odd, 1)) + Counter(
        {room.HELD: 3, recorded.INCOMPLETE: 1}
    )


@pytest.mark.promise("RT-01")
def test_a_run_whose_record_nobody_may_rely_on_is_skipped_by_name(fresh_db: FreshDatabase) -> None:
    well, broken = write_past(fresh_db.url, [PAIR, PAIR])
    with psycopg.connect(fresh_db.url, autocommit=True) as database:
        database.execute("ALTER TABLE events_runevent DISABLE TRIGGER ALL")
        database.execute("UPDATE events_runevent SET content = replace(content, 'Ann', 'Eve') WHERE run_id = %s", [broken])  # fmt: skip
    seen, skipped, (batch,) = scanned()
    assert list(seen.values()) == [[well]]
    assert skipped == {recorded.BROKEN: 1}
    (named,) = batch.named
    assert (named.run_id, named.reason[-9:]) == (broken, "(event 3)")


def test_a_run_that_has_not_ended_does_not_count_yet(fresh_db: FreshDatabase) -> None:
    write_past(fresh_db.url, [Past(calls=PAIR.calls, status="queued")])
    seen, skipped, _ = scanned()
    assert (seen, skipped) == ({}, {room.GOES_ON: 1})


def test_the_pass_goes_on_behind_each_batch_and_looks_at_no_run_twice(
    fresh_db: FreshDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = write_past(fresh_db.url, [PAIR] * 10)
    with psycopg.connect(fresh_db.url, autocommit=True) as database:
        # Several of one moment: the id decides.
        database.execute("UPDATE runs_run SET created_at = (SELECT max(created_at) FROM runs_run)")
    monkeypatch.setattr(room, "ROWS_AT_ONCE", 4)
    seen, _, batches = scanned()
    assert [it.looked_at for it in batches] == [4, 4, 2]
    assert list(seen.values()) == [sorted(runs, reverse=True)]
    again = list(scan(AGENT, after=batches[0].place, looked_at=4))
    assert [it.looked_at for it in again] == [4, 2]


def test_no_more_runs_are_looked_at_than_are_recent(
    fresh_db: FreshDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = Past(calls=PAIR.calls, days_ago=room.WINDOW_DAYS + 1)
    runs = write_past(fresh_db.url, [old, *[PAIR] * 9])
    monkeypatch.setattr(room, "ROWS_AT_ONCE", 4)
    seen, _, _ = scanned()
    assert list(seen.values()) == [runs[:0:-1]]
    monkeypatch.setattr(room, "MOST_RUNS", 6)
    seen, _, batches = scanned()
    assert [it.looked_at for it in batches] == [4, 2]
    assert list(seen.values()) == [runs[:3:-1]]


def test_a_batch_takes_as_many_statements_whatever_it_holds(fresh_db: FreshDatabase) -> None:
    counts = []
    for more in (3, 150):
        write_past(fresh_db.url, [PAIR] * more)
        with CaptureQueriesContext(connection) as queries:
            assert sum(it.counted for it in scan(AGENT)) >= more
        counts.append(len(queries))
    assert counts[0] == counts[1] <= 8
