"""What the database does for a look at notices where very many are kept: it reads what is due, and nothing else."""

from __future__ import annotations

import re
from typing import Any

import psycopg
import pytest

from liyagent.approvals import outbox
from liyagent.approvals.deliver import OUTBOX
from liyagent.approvals.notice import REMIND
from liyagent.core.outbox import LEASE_SECONDS
from tests.unit.runs.carrying.conftest import World, calls, says

MANY = 20_000
FEW = 60
COPIES = f"""
INSERT INTO approvals_approval SELECT (jsonb_populate_record(a, jsonb_build_object('id', gen_random_uuid(), 'index', n,
        'remind_at', CASE WHEN n %% 2 = 0 THEN liyagent_now() + interval '1 day' END))).*
    FROM approvals_approval a, generate_series(1, {MANY}) AS n;
UPDATE approvals_notice SET state = 'delivered', settled_at = liyagent_now() - interval '1 day' WHERE id %% 4 = 0;
UPDATE approvals_notice SET state = 'dead', settled_at = liyagent_now() - interval '9 days' WHERE id %% 4 = 1;
UPDATE approvals_notice SET failures = 3, next_at = liyagent_now() + interval '10 minutes' WHERE id %% 4 > 1;
UPDATE approvals_notice SET state = 'delivered', settled_at = liyagent_now() - interval '8 days'
    WHERE id IN (SELECT id FROM approvals_notice WHERE state = 'pending' ORDER BY id LIMIT 20);
UPDATE approvals_approval SET remind_at = liyagent_now()
    WHERE id IN (SELECT id FROM approvals_approval WHERE remind_at IS NOT NULL ORDER BY id LIMIT 20)
"""
LOOKS: dict[str, tuple[str, list[Any]]] = {
    "claim": (OUTBOX.claim_statement, [LEASE_SECONDS, None]),
    "remind": (REMIND, [200]),
    "forget delivered": (outbox.FORGET_DELIVERED, [7, 20]),
    "forget dead": (outbox.FORGET_DEAD, [30, 20]),
    "forget untold": (outbox.FORGET_UNTOLD, [1, 20]),
}


@pytest.fixture
def many(held: World) -> World:
    """Half are told or given up, half wait for their next try; a few are old, or to be reminded of."""
    held.start(calls(("v/keyed", {"n": 1})), says("done"))
    held.process().carry()
    for statement in COPIES.split(";\n"):
        held.sql(statement)
    held.sql("VACUUM ANALYZE approvals_notice")
    held.sql("VACUUM ANALYZE approvals_approval")
    return held


def test_each_look_reads_what_is_due_by_an_index(many: World) -> None:
    for name, (statement, values) in LOOKS.items():
        plan = plan_of(many.url, statement, values)
        shown = "\n".join((name, *plan))
        assert "Seq Scan on approvals_" not in shown, shown
        assert max(map(touched, plan)) <= FEW, shown


def plan_of(url: str, statement: str, values: list[Any]) -> list[str]:
    """What the statement did; nothing of it is kept."""
    with psycopg.connect(url) as connection:
        rows = connection.execute(f"EXPLAIN (ANALYZE, TIMING OFF) {statement}", values).fetchall()
        connection.rollback()
        return [row[0] for row in rows]


def touched(line: str) -> int:
    """The rows that a scan met or threw away, its loops together."""
    if "Removed by" in line:
        return int(line.rpartition(" ")[2])
    found = re.search(r"Scan.*actual rows=([\d.]+) loops=(\d+)", line)
    return round(float(found[1]) * int(found[2])) if found else 0
