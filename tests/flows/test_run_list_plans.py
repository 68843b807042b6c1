"""What the database does for a page of 200,000 runs, whatever is asked."""

from __future__ import annotations

import itertools
from collections.abc import Mapping

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from runs.listing import list_runs
from tests.databases import FreshDatabase, Template
from tests.flows.many import MANY, template_of_many

# Rows that a page may touch: what is looked through for the other filters, twice, and some.
MOST_TOUCHED = 25_000
VALUES = {
    "status": "paused",
    "agent": "agent-3",
    "entry": "cron",
    "mission": "M-77",
    "error": "lost",
    "started_by": "rare",
    "since": "2026-01-20T00:00:00Z",
    "until": "2026-01-10T00:00:00Z",
}
PAIRS = [
    *itertools.combinations(("status", "agent", "entry", "error", "started_by"), 2),
    *(("since", name) for name in VALUES if name not in {"since", "until"}),
    *(("until", name) for name in VALUES if name not in {"since", "until"}),
]


@pytest.fixture
def cloned_from(migrated_template: Template) -> str:
    return template_of_many(migrated_template)


def plans(asked: Mapping[str, str]) -> list[str]:
    """The plans, with the rows they touched, of the statements that a page takes."""
    with CaptureQueriesContext(connection) as queries:
        list_runs(asked)
    told = []
    for query in queries:
        with connection.cursor() as cursor:
            cursor.execute(f"EXPLAIN (ANALYZE, TIMING OFF) {query['sql']}")
            told.append("\n".join(row[0] for row in cursor.fetchall()))
    return told


def test_no_filter_walks_through_all_runs(fresh_db: FreshDatabase) -> None:
    asked = [
        {},
        *({name: value} for name, value in VALUES.items()),
        {"status": "answered"},
        {"status": "failed"},
        {"since": VALUES["until"], "until": VALUES["since"]},
        *({name: VALUES[name] for name in pair} for pair in PAIRS),
    ]
    walking = [(it, plan) for it in asked for plan in plans(it) if "Seq Scan on runs_run" in plan]
    assert walking == []
    for it in asked:
        for plan in plans(it):
            assert touched(plan) <= MOST_TOUCHED, (it, plan)


def touched(plan: str) -> int:
    """The most rows that any scan of runs met, those it threw away included."""
    most = 0
    for line in plan.splitlines():
        words = line.split()
        if "Filter:" in line and "Removed" in line:
            most = max(most, int(words[-1]))
        if "runs_run" in line and "rows=" in line:
            most = max(most, int(float(line.rpartition("rows=")[2].split()[0])))
    return most


def test_following_next_finds_each_run_that_fits_once_through_pages_that_may_be_empty(
    fresh_db: FreshDatabase,
) -> None:
    found: list[str] = []
    asked = {"entry": "cron"}
    pages = 0
    while True:
        page = list_runs(asked)
        found += [str(run.id) for run in page.runs]
        pages += 1
        if not page.next_cursor:
            break
        asked["cursor"] = page.next_cursor
    assert len(found) == len(set(found)) == MANY // 50_000
    assert MANY // 10_000 <= pages <= MANY // 10_000 + 1
