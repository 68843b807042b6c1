"""What runs every few seconds reads what it may have to change, never all runs there are (ruling 12)."""

from __future__ import annotations

from uuid import UUID

import pytest

from tests.unit.runs.sql import Connection, Server, add_holder, add_run, lapse, sweep, value

MANY = 3000
READ = """
SELECT seq_tup_read + idx_tup_fetch FROM pg_stat_xact_user_tables WHERE relname = 'runs_run'
"""
COPY = """
INSERT INTO runs_run SELECT (jsonb_populate_record(r, jsonb_build_object('id', u, 'correlation_id', u,
        'status', %s::text, 'holder', %s::uuid))).*
    FROM runs_run r, (SELECT gen_random_uuid() AS u FROM generate_series(1, %s)) AS n WHERE r.id = %s
"""


def add_many(connection: Connection, run: UUID, *, status: str, holder: UUID | None = None) -> None:
    connection.execute(COPY, [status, holder, MANY, run])


def read_by(connection: Connection, statement: str, *values: object) -> int:
    """Return how many rows of runs a statement looks at."""
    connection.execute("VACUUM ANALYZE runs_run")
    with connection.transaction():
        connection.execute(statement, values)
        return int(value(connection, READ))


@pytest.mark.promise("CR-13")
def test_a_sweep_does_not_look_at_the_runs_of_living_holders(server: Server) -> None:
    here = server.connect()
    run, _ = add_run(here)
    for _ in range(2):
        add_many(here, run, status="running", holder=add_holder(here))
    dead = add_holder(here)
    add_many(here, run, status="running", holder=dead)
    look = "SELECT * FROM liyagent_sweep(NULL, 100, 0)"
    assert read_by(here, look) < 100
    lapse(here, dead)
    assert len(sweep(here, None)) == 100
    lost = "SELECT count(*) FROM runs_run WHERE holder = %s"
    assert value(here, lost, dead) == MANY - 100


def test_a_look_for_missing_keys_does_not_look_at_runs_whose_key_is_there(server: Server) -> None:
    here = server.connect()
    add_holder(here)
    run, _ = add_run(here)
    add_many(here, run, status="queued")
    add_many(here, run, status="answered")
    gone, _ = add_run(here, key_id="gone")
    look = "SELECT * FROM liyagent_pause_unreadable()"
    assert [row[:2] for row in here.execute(look)] == [(gone, "paused")]
    assert read_by(here, look) < 100


@pytest.mark.field("FL-19")
@pytest.mark.field("FL-41")
def test_no_run_is_paused_while_no_process_is_known_to_be_alive(server: Server) -> None:
    """As just after an outage: the leader looks before anybody could renew."""
    here = server.connect()
    lapse(here, add_holder(here))
    add_run(here)
    assert here.execute("SELECT * FROM liyagent_pause_unreadable()").fetchall() == []


def test_a_take_does_not_look_at_runs_whose_time_is_ahead(server: Server) -> None:
    """Nor at those that are left to a process of their own. What sets it up counts in its own session."""
    here, before = server.connect(), server.watcher
    holder = add_holder(before)
    run, _ = add_run(before, attempt=1)
    before.execute("UPDATE runs_run SET not_before = liyagent_now() + interval '1 hour'")
    add_many(before, run, status="queued")
    twice, _ = add_run(before, attempt=2, losses=2)
    add_many(before, twice, status="queued")
    look = "SELECT * FROM liyagent_take(%s, 50, 50, '{1}', '{k1}')"
    assert read_by(here, look, holder) < 100
    assert here.execute(look, [holder]).fetchall() == []


def test_a_look_for_runs_to_carry_alone_reads_as_many_as_it_may_return(server: Server) -> None:
    here, before = server.connect(), server.watcher
    run, _ = add_run(before, attempt=2, losses=2)
    before.execute("UPDATE runs_run SET not_before = liyagent_now() + interval '1 hour'")
    due, _ = add_run(before, attempt=2, losses=2)
    other, _ = add_run(before)
    for many in (run, due, other):
        add_many(before, many, status="queued")
    look = "SELECT * FROM liyagent_due_alone('{1}', '{k1}', 8)"
    assert read_by(here, look) < 100
    assert len(here.execute(look).fetchall()) == 8
