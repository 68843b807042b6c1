"""What the database does for the pages and lists of the record, whatever stands behind them: no walk, and no more statements."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from uuid import UUID

import psycopg
import pytest
from django.contrib.auth.models import User
from django.core.cache import cache
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from liyagent.audit.listing import SLACK
from runs.models import Run
from tests.bench.filling import write_audit, write_chains
from tests.bench.telling import AGENT, MISSION
from tests.databases import FreshDatabase

# 2,500 chains, which lie in some thousand blocks of 8 KB.
EVENTS_OF_A_RUN, RUNS, LONG_RUN = 8, 2_500, 300
MOST_BLOCKS = 400
# Where times and numbers do not agree as many rows are asked for by their number.
MOST_ROWS = 2 * SLACK
LARGE = ("events_runevent", "events_eventhead", "runs_run", "audit_auditrow", "missions_mission")


@dataclass(frozen=True, slots=True)
class Log:
    """A client that may see all, a run with a long chain, and one of a mission that nobody named."""

    client: Client
    long: UUID
    short: UUID
    unnamed: str

    def statements(self, page: str) -> list[str]:
        """What a page asks of the tables that grow."""
        cache.clear()
        with CaptureQueriesContext(connection) as queries:
            assert self.client.get(page).status_code == 200, page
        asked = [it["sql"].partition("CURSOR FOR ")[2] or it["sql"] for it in queries]
        return [it for it in asked if any(table in it for table in LARGE)]


@pytest.fixture
def log(fresh_db: FreshDatabase) -> Log:
    write_chains(fresh_db.url, 1, length=LONG_RUN)
    long = Run.objects.get().id
    write_chains(fresh_db.url, RUNS, length=EVENTS_OF_A_RUN)
    with psycopg.connect(fresh_db.url, autocommit=True) as database:
        write_audit(database, 20_000)
        database.execute("VACUUM ANALYZE")
        query = "SELECT mission, id FROM runs_run WHERE mission = correlation_id::text LIMIT 1"
        unnamed, short = database.execute(query).fetchall()[0]
    client = Client()
    client.force_login(User.objects.create_superuser("root"))
    return Log(client, long, short, unnamed)


@pytest.mark.promise("EV-08")
@pytest.mark.promise("MI-06")
def test_no_page_of_the_record_walks_through_what_is_behind_it(log: Log) -> None:
    wrong = []
    for page in (
        f"/api/run-events/{log.long}",
        f"/api/run-events/{log.short}",
        f"/api/agents/{AGENT}/run-events",
        "/admin/events/",
        f"/admin/events/?q={log.long}&from=200",
        f"/admin/runs/run/{log.long}/change/",
        f"/admin/runs/run/{log.long}/change/?steps=2",
        f"/api/missions/{MISSION}",
        f"/api/missions/{MISSION}?source=events",
        f"/api/missions/{log.unnamed}",
        f"/admin/mission/{MISSION}/",
        "/api/missions",
        "/admin/missions/mission/",
        "/admin/missions/mission/?p=20",
        f"/admin/missions/mission/?q={log.unnamed}",
        "/admin/audit/auditrow/?p=100",
    ):
        for statement in log.statements(page):
            plan, blocks = explained(statement)
            walks = [it for it in scans_in(plan) if it in LARGE]
            if walks or blocks > MOST_BLOCKS:
                wrong.append((page, walks, blocks, statement[:300]))
    assert wrong == [], "\n".join(map(str, wrong))


@pytest.mark.promise("MI-03")
@pytest.mark.parametrize(
    "times", ["", "&since=2020-01-01T00:00:00Z", "&until=2100-01-01T00:00:00Z"]
)
def test_an_action_is_read_from_its_index_as_far_as_the_page_goes(log: Log, times: str) -> None:
    """Not all rows of it, to be sorted: of a common one there are as many as half of the log."""
    statements = log.statements(f"/api/audit?action=agent.run&limit=20{times}")
    read = [most_rows(explained(it)[0]) for it in statements]
    assert max(read) <= MOST_ROWS, read


@pytest.mark.promise("EV-08")
def test_a_long_run_takes_no_more_statements_than_a_short_one(log: Log) -> None:
    for page in ("/api/run-events/{run}", "/admin/runs/run/{run}/change/"):
        asked = {it: page.format(run=it) for it in (log.short, log.long)}
        for it in asked.values():
            # What a process asks once and keeps is asked here.
            log.statements(it)
        assert len(log.statements(asked[log.long])) == len(log.statements(asked[log.short]))


def explained(statement: str) -> tuple[Any, int]:
    """The plan, and how many blocks of tables and indexes it touched."""
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, FORMAT JSON) {statement}")
        plan = cursor.fetchone()[0][0]["Plan"]
    return plan, plan["Shared Hit Blocks"] + plan["Shared Read Blocks"]


def scans_in(plan: Any) -> list[str]:
    """The tables that a plan walks through to their end: not those of which it stops at a limit."""
    found: list[str] = []

    def see(node: dict[str, Any], *, is_limited: bool) -> None:
        if node["Node Type"] == "Seq Scan" and not is_limited:
            found.append(node["Relation Name"])
        for it in node.get("Plans", ()):
            see(it, is_limited=is_limited or node["Node Type"] == "Limit")

    see(plan, is_limited=False)
    return found


def most_rows(plan: dict[str, Any]) -> int:
    """The most rows that a part of a plan met each time that it was asked, those that it threw away included."""
    own = plan["Actual Rows"] + plan.get("Rows Removed by Filter", 0)
    return max([int(own), *(most_rows(it) for it in plan.get("Plans", ()))])
