"""While nothing is appended, whether there is something to seal is asked of one index, and nothing is written."""

from __future__ import annotations

import json

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from events.seal_heads import LOOKED, seal_due
from runs.rounds import ROUNDS, due_of
from tests.unit.events.seals.chains import append, new_chain, sql, without_triggers

pytestmark = pytest.mark.usefixtures("fresh_db")

# A page of each index that is asked, and one of the newest root.
MOST_BLOCKS = 6
SEALED = 300


def asked_by_a_look() -> tuple[list[str], list[str]]:
    """The rounds that are due, and the statements that it took to ask."""
    with CaptureQueriesContext(connection) as queries:
        found = due_of({"seals": ROUNDS["seals"]})
    return found, [it["sql"] for it in queries]


@pytest.mark.promise("EV-02")
def test_where_nothing_changed_one_statement_asks_one_index_and_writes_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    chains = [new_chain(1) for _ in range(SEALED)]
    assert seal_due(lambda: False) == 1
    with without_triggers():
        sql("UPDATE events_root SET at = at - interval '1 hour'")
    monkeypatch.setattr(LOOKED, "at", float("-inf"))
    sql("ANALYZE events_eventhead, events_root")
    sql("SET enable_seqscan = off")
    # What was sealed leaves entries in the index that the first look takes out.
    assert asked_by_a_look()[0] == []
    with transaction.atomic():
        found, statements = asked_by_a_look()
        (wrote,) = sql("SELECT pg_current_xact_id_if_assigned() IS NOT NULL")
    assert (found, len(statements), wrote) == ([], 1, (False,))
    ((plan,),) = sql(f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {statements[0]}")
    told = json.dumps(plan)
    assert "Seq Scan" not in told
    assert "events_unsealed" in told
    assert (
        plan[0]["Plan"]["Shared Hit Blocks"] + plan[0]["Plan"]["Shared Read Blocks"] <= MOST_BLOCKS
    )
    append(chains[0])
    assert asked_by_a_look()[0] == ["seals"]
