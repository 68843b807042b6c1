"""The audit log by each of its stamps, alone and together, a page at a time."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from uuid import UUID

import psycopg
import pytest

from liyagent.audit import listing
from liyagent.audit.export import begin_export
from liyagent.audit.listing import page_of_audit
from liyagent.core.errors import BadInput
from tests.databases import FreshDatabase

RUN = "00000000-0000-7000-8000-00000000000%d"
# One row a minute: row n is by agent n % 2, by actor n % 3, of run n % 4, and every fifth names a mission.
INSERT = """
INSERT INTO audit_auditrow (at, action, actor, agent, mission, run_id, request_id, detail)
SELECT timestamptz '2026-01-01T00:00:00Z' + n * interval '1 minute',
    (ARRAY['agent.run.started', 'agent.run.ended', 'agent.runner', 'job.asked', 'agent.run'])[n %% 5 + 1], 'actor-' || n %% 3,
    'agent-' || n %% 2, CASE WHEN n %% 5 = 0 THEN 'M-5' ELSE '' END,
    ('00000000-0000-7000-8000-00000000000' || n %% 4)::uuid, '', '{}'
FROM generate_series(1, %s) AS n
"""


@pytest.fixture(autouse=True)
def filled(fresh_db: FreshDatabase) -> None:
    with psycopg.connect(fresh_db.url, autocommit=True) as connection:
        connection.execute(INSERT, [60])


def fitting(asked: Mapping[str, str]) -> list[int]:
    """The numbers of the rows that fit, by the rule of the filling."""
    below = {
        "agent.run": {0, 1, 4},
        "agent.run.": {0, 1},
        "agent": {0, 1, 2, 4},
        "agent.run.ended": {1},
        "agen": set(),
    }
    return [
        n
        for n in range(60, 0, -1)
        if asked.get("actor", f"actor-{n % 3}") == f"actor-{n % 3}"
        and asked.get("agent", f"agent-{n % 2}") == f"agent-{n % 2}"
        and asked.get("run", RUN % (n % 4)) == RUN % (n % 4)
        and ("mission" not in asked or n % 5 == 0)
        and ("action" not in asked or n % 5 in below[asked["action"]])
        and ("since" not in asked or n >= 20)
        and ("until" not in asked or n < 40)
    ]


def all_pages(asked: Mapping[str, str]) -> list[int]:
    """The numbers of all pages of seven."""
    found, cursor = [], ""
    while True:
        page = page_of_audit({**asked, "limit": "7", **({"cursor": cursor} if cursor else {})})
        found += [it.pk for it in page.rows]
        cursor = page.next_cursor
        if not cursor:
            return found


SINCE, UNTIL = {"since": "2026-01-01T00:20:00Z"}, {"until": "2026-01-01T01:40:00+01:00"}
ASKED: tuple[dict[str, str], ...] = (
    {},
    {"actor": "actor-1"},
    {"agent": "agent-1"},
    {"run": RUN % 2},
    {"mission": "M-5"},
    {"action": "agent.run"},
    {"action": "agent.run.ended"},
    {"action": "agent.run."},
    {"action": "agen"},
    SINCE,
    UNTIL,
    {**SINCE, **UNTIL},
    {**SINCE, **UNTIL, "action": "agent"},
    {**SINCE, **UNTIL, "actor": "actor-2", "action": "agent.run"},
    {"actor": "actor-1", "agent": "agent-0", "run": RUN % 0, "mission": "M-5"},
    {"since": "2026-01-01T00:20:00Z", "mission": "M-5"},
)


@pytest.mark.promise("MI-03")
def test_a_filter_finds_each_row_that_fits_once_and_no_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for slack in (listing.SLACK, 1):
        monkeypatch.setattr(listing, "SLACK", slack)
        for asked in ASKED:
            assert all_pages(asked) == fitting(asked), asked


def test_what_was_looked_through_in_vain_leads_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listing, "MOST_LOOKED_THROUGH", 3)
    for asked in ASKED:
        assert all_pages(asked) == fitting(asked)


def test_an_export_tells_the_same_oldest_first_and_goes_on_where_it_was_cut(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("liyagent.audit.export.PAGE", 7)
    for asked in ASKED:
        export = begin_export(asked, actor="test")
        *rows, last = [json.loads(it) for it in b"".join(export.lines()).splitlines()]
        # What the test itself exported is told of too once it is old enough.
        numbers = [it["id"] for it in rows if it["id"] <= 60]
        assert numbers == fitting(asked)[::-1]
        assert last == {"is_complete": True, "rows": len(rows), "after": export.upto}
        assert export.upto >= 60
        if len(numbers) > 10:
            again = b"".join(begin_export(asked, actor="test", after=numbers[9]).lines())
            told = [json.loads(it).get("id", 61) for it in again.splitlines()]
            assert [it for it in told if it <= 60] == numbers[10:]


def test_a_page_and_a_part_of_an_export_end_before_their_details_are_too_much(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(listing, "PAGE_SIZE", 5)
    first = page_of_audit({"actor": "actor-1"})
    # Each detail has two characters: the third is the last before which there were no more than five.
    assert [it.pk for it in first.rows] == fitting({"actor": "actor-1"})[:3]
    for asked in ASKED:
        assert [it for it in all_pages(asked) if it <= 60] == fitting(asked), asked
        *parts, last = begin_export(asked, actor="test").lines()
        assert max((it.count(b"\n") for it in parts), default=0) <= 3
        told = [json.loads(it) for it in b"".join([*parts, last]).splitlines()]
        assert [it["id"] for it in told[:-1] if it["id"] <= 60] == fitting(asked)[::-1]
        assert told[-1]["rows"] == len(told) - 1


def test_a_time_of_no_row_finds_none() -> None:
    assert page_of_audit({"since": "2027-01-01T00:00:00Z"}).rows == []
    assert page_of_audit({"until": "2025-01-01T00:00:00Z"}).rows == []
    assert page_of_audit({"until": "2025-01-01T00:00:00Z", "action": "agent"}).rows == []
    assert page_of_audit({"since": "2027-01-01T00:00:00Z", "action": "agent"}).rows == []


WRONG: tuple[dict[str, str], ...] = (
    {"mission": "M 5"},
    {"mission": ""},
    {"run": "x"},
    {"actor": ""},
    {"actor": "a" * 201},
    {"actor": "a\x00"},
    {"agent": "a b"},
    {"action": "Agent"},
    {"action": "%"},
    {"since": "2026-01-01"},
    {"since": "2026-01-01T00:00:00"},
    {"until": "0001-01-01T00:00:00+14:00"},
    {"cursor": "x"},
    {"limit": "0"},
    {"limit": "201"},
    {"missions": "M-5"},
)


def test_what_cannot_be_looked_for_is_refused() -> None:
    for wrong in WRONG:
        with pytest.raises(BadInput):
            page_of_audit(wrong)


def test_times_are_told_in_utc() -> None:
    (row,) = page_of_audit({"limit": "1"}).rows
    assert row.at == datetime(2026, 1, 1, 1, 0, tzinfo=UTC)
    assert row.run_id == UUID(RUN % 0)
