"""Hand-offs that are kept in the commit of what they belong to, by SQL."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import orjson
import pytest
from django.db import connection

from handoffs.models import Reading, Snapshot, Version
from handoffs.ride import reading_of, ride_of
from liyagent.audit.models import AuditRow
from tests.databases import FreshDatabase

THREAD, RUN, CHAIN = UUID(int=1), UUID(int=2), UUID(int=3)


def ride(number: int = 1, **given: Any) -> dict[str, Any]:
    values = {
        "thread": THREAD, "number": number, "sender": "agent:a", "recipient": "agent:b", "kind": "delegation",
        "body": {"task": f"number {number}"}, "author": "agent:a", "mission": "INC-1", "run_id": RUN,
        "correlation_id": CHAIN, **given,
    }  # fmt: skip
    return ride_of(**values)


def hand(*rides: Any) -> None:
    with connection.cursor() as cursor:
        for it in rides:
            text = None if it is None else orjson.dumps(it).decode()
            cursor.execute("SELECT liyagent_hand(%s::jsonb)", [text])


@pytest.mark.promise("HO-03")
def test_versions_are_put_down_with_their_parents_and_audited(fresh_db: FreshDatabase) -> None:
    first = ride(request_id="req-1")
    second = ride(2, reader="agent:a", reader_run=RUN)
    hand(first, second)
    one, two = Version.objects.all()
    assert (one.number, one.parent, one.snapshot_id) == (1, "", first["digest"])
    assert (two.number, two.parent, two.snapshot_id) == (2, first["digest"], second["digest"])
    assert (two.author, two.run_id, two.correlation_id, two.mission) == (
        "agent:a",
        RUN,
        CHAIN,
        "INC-1",
    )
    assert Snapshot.objects.get(digest=first["digest"]).body == '{"task":"number 1"}'
    (read,) = Reading.objects.all()
    assert (read.number, read.digest, read.reader, read.run_id) == (
        2,
        second["digest"],
        "agent:a",
        RUN,
    )
    rows = list(AuditRow.objects.filter(action="agent.handoff").order_by("id"))
    assert [it.detail["version"] for it in rows] == [1, 2]
    assert rows[0].detail == {
        "thread": str(THREAD), "version": 1, "digest": first["digest"], "kind": "delegation", "from": "agent:a",
        "to": "agent:b",
    }  # fmt: skip
    told = (rows[0].actor, rows[0].agent, rows[0].mission, rows[0].run_id, rows[0].request_id)
    assert told == ("agent:a", "a", "INC-1", RUN, "req-1")


def test_a_statement_asked_again_does_nothing(fresh_db: FreshDatabase) -> None:
    both = [ride(), ride(2, reader="agent:a", reader_run=RUN)]
    hand(both, both, both[1])
    assert (Version.objects.count(), Reading.objects.count(), Snapshot.objects.count()) == (2, 1, 2)
    assert AuditRow.objects.filter(action="agent.handoff").count() == 2


def test_nothing_is_handed_where_nothing_is_given(fresh_db: FreshDatabase) -> None:
    hand(None, [])
    with connection.cursor() as cursor:
        cursor.execute("SELECT liyagent_hand('null'::jsonb)")
    assert not Version.objects.exists()


def test_what_came_back_without_a_task_is_not_written(fresh_db: FreshDatabase) -> None:
    """As of a delegation that an earlier release made."""
    hand(ride(2, reader="agent:a", reader_run=RUN))
    for table in (Version, Snapshot, Reading):
        assert not table.objects.exists()


def test_what_a_run_read_is_said_alone(fresh_db: FreshDatabase) -> None:
    first = ride()
    read = reading_of(
        thread=THREAD, number=1, digest=first["digest"], reader="agent:b", run_id=CHAIN
    )
    hand(first, read, read)
    (kept,) = Reading.objects.all()
    assert (kept.reader, kept.run_id, kept.digest) == ("agent:b", CHAIN, first["digest"])
    assert AuditRow.objects.filter(action="agent.handoff").count() == 1


def test_text_that_a_database_has_no_character_for_is_kept(fresh_db: FreshDatabase) -> None:
    first = ride(body="a\x00b \N{PERSONAL COMPUTER}")
    hand(first)
    assert Snapshot.objects.get().body == first["body"] == '"a\\u0000b \N{PERSONAL COMPUTER}"'
