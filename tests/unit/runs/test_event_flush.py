"""Events ride in the commit of the step, never at its cost; a loss is told in the chain (ruling 18)."""

from __future__ import annotations

import json
import time
from uuid import UUID

import pytest
from psycopg.rows import class_row

from events.chain import first_break
from tests.unit.events.rows import Event, HeadRow
from tests.unit.runs.sql import (
    NEXT,
    ONE_EVENT,
    WRITERS,
    Connection,
    Fence,
    Server,
    add_holder,
    begin,
    claim,
    config,
    finish,
    flush,
    head,
    mark_second,
    retake,
    start_run,
    step,
    value,
)

# Texts that a column of another type, or a second serialisation, would not give back (FL-36).
ODD_CONTENTS = (
    '{"b":1,"a":2}',
    '{"float":1.0,"large":1e16,"minus":-0.0,"tiny":5e-324}',
    '{"int":12345678901234567890123456789}',
    '{"a":1,"a":2}',
    '{"empty":{},"null":null}',
    '{"composed":"\u00e9","decomposed":"e\u0301","emoji":"\U0001f525","ideograph":"\u6f22"}',
    '{"at":"2026-01-01T00:00:00.1234567Z"}',
    '{"control":"\\u001f\\u0000","quote":"\\"\'\\\\"}',
    " { }  ",
)
REFUSE_BAD = """
CREATE FUNCTION refuse_bad() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.kind = 'bad' THEN RAISE EXCEPTION 'no space left on device' USING ERRCODE = 'disk_full'; END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER refuse_bad BEFORE INSERT ON events_runevent FOR EACH ROW EXECUTE FUNCTION refuse_bad();
"""


def chain(connection: Connection, correlation: UUID) -> list[Event]:
    """Return the events of a chain, having seen that it is intact to its head."""
    with connection.cursor(row_factory=class_row(Event)) as cursor:
        cursor.execute(
            "SELECT * FROM events_runevent WHERE correlation_id = %s ORDER BY number", [correlation]
        )
        events = cursor.fetchall()
    with connection.cursor(row_factory=class_row(HeadRow)) as heads:
        heads.execute(
            "SELECT count, hash FROM events_eventhead WHERE correlation_id = %s", [correlation]
        )
        end = heads.fetchone()
    assert first_break(events, correlation_id=correlation, head=end) is None
    return events


def told(events: list[Event]) -> list[tuple[str, str]]:
    """Return (kind, content) of each."""
    return [(event.kind, event.content) for event in events]


def lock_chain(connection: Connection, fence: Fence) -> None:
    """Lock a chain's head, as another writer under way does."""
    connection.execute(
        "SELECT 1 FROM events_eventhead WHERE correlation_id = %s FOR UPDATE", [fence.correlation]
    )


@pytest.mark.promise("EV-02")
@pytest.mark.field("FL-36")
def test_the_chain_recomputed_outside_equals_the_stored_one_for_every_text(server: Server) -> None:
    connection = server.connect()
    fence = start_run(connection, mission="mission:\u00fc")
    events = [("step", content) for content in ODD_CONTENTS]
    assert step(connection, fence, 1, events=events)
    stored = chain(connection, fence.correlation)
    assert told(stored) == events
    assert [event.number for event in stored] == list(range(1, len(events) + 1))
    assert {(event.run_id, event.mission, event.recording) for event in stored} == {
        (fence.run, "mission:\u00fc", "full")
    }


@pytest.mark.promise("EV-02")
@pytest.mark.field("FL-36")
def test_the_chain_does_not_depend_on_the_settings_of_a_session(server: Server) -> None:
    connection = server.connect()
    fence = start_run(connection)
    for setting in (
        "TimeZone = 'Asia/Kathmandu'", "DateStyle = 'German'", "bytea_output = 'escape'",
        "extra_float_digits = 0", "IntervalStyle = 'sql_standard'",
    ):  # fmt: skip
        connection.execute(f"SET {setting}")
    for sequence in (1, 2):
        assert step(connection, fence, sequence)
    assert len(chain(server.watcher, fence.correlation)) == 2


@pytest.mark.promise("EV-02")
@pytest.mark.field("FL-36")
def test_a_chain_verifies_after_it_was_written_out_and_read_in_again(server: Server) -> None:
    """As a dump and a restore do it, by text, into tables without our types' help."""
    connection, elsewhere = server.connect(), server.connect()
    fence = start_run(connection, mission="mission:\u00fc")
    assert step(connection, fence, 1, events=[("step", content) for content in ODD_CONTENTS])
    before = chain(connection, fence.correlation)
    connection.execute("SET TimeZone = 'Asia/Kathmandu'")
    for table in ("events_runevent", "events_eventhead"):
        with connection.cursor().copy(f"COPY {table} TO STDOUT") as out:
            dumped = b"".join(out)
        elsewhere.execute(f"CREATE TEMP TABLE {table} (LIKE public.{table})")
        with elsewhere.cursor().copy(f"COPY pg_temp.{table} FROM STDIN") as into:
            into.write(dumped)
    # A temporary table stands before one of its name.
    assert chain(elsewhere, fence.correlation) == before
    elsewhere.execute("UPDATE events_runevent SET content = content || ' ' WHERE number = 3")
    with pytest.raises(AssertionError):
        chain(elsewhere, fence.correlation)


@pytest.mark.promise("EV-05")
def test_a_resumed_run_and_its_children_continue_the_same_chain(server: Server) -> None:
    connection = server.connect()
    parent = begin(connection)
    assert claim(connection, parent)
    later = retake(connection, parent, add_holder(connection))
    child = start_run(connection, correlation=parent.correlation)
    assert step(connection, child, 1, events=[("step", '{"child":true}')])
    assert step(connection, later, NEXT, events=[("step", '{"n":2}')])
    events = chain(connection, parent.correlation)
    assert [(event.number, event.run_id) for event in events] == [
        (1, parent.run), (2, child.run), (3, parent.run),
    ]  # fmt: skip


@pytest.mark.promise("EV-07")
def test_a_blocked_chain_costs_a_write_about_100_ms_and_its_events_but_not_itself(
    server: Server,
) -> None:
    connection, other = server.connect(), server.connect()
    waits = []
    for write in set(WRITERS) - {mark_second}:
        fence = begin(connection)
        with other.transaction():
            lock_chain(other, fence)
            started = time.monotonic()
            assert write(connection, fence, NEXT) is not None
            waits.append(time.monotonic() - started)
        assert head(connection, fence.run, "sequence") == NEXT
        assert head(connection, fence.run, "events_missing") == 1
        assert len(chain(connection, fence.correlation)) == 1
    # The shortest is the function's own; a longer one may be the machine's.
    assert 0.09 < min(waits) < 0.5


@pytest.mark.promise("EV-07")
@pytest.mark.field("FL-85")
def test_events_that_were_dropped_are_counted_and_told_by_the_next_flush(server: Server) -> None:
    connection, other = server.connect(), server.connect()
    fence = begin(connection)
    with other.transaction():
        lock_chain(other, fence)
        assert step(connection, fence, NEXT, events=[*ONE_EVENT, *ONE_EVENT])
        assert step(connection, fence, NEXT + 1)
        assert head(connection, fence.run, "events_missing") == 3
    assert flush(connection, fence, NEXT + 2, events=[("step", '{"n":9}')])
    assert told(chain(connection, fence.correlation))[1:] == [
        ("gap", '{"missing":3}'),
        ("step", '{"n":9}'),
    ]
    assert head(connection, fence.run, "events_missing") == 0
    assert flush(connection, fence, NEXT + 3)
    assert [kind for kind, _ in told(chain(connection, fence.correlation))].count("gap") == 1


@pytest.mark.promise("EV-07")
@pytest.mark.field("FL-85")
def test_an_insert_that_fails_drops_the_flush_whole_and_the_chain_stays_intact(
    server: Server,
) -> None:
    connection = server.connect()
    connection.execute(REFUSE_BAD)
    fence = begin(connection)
    notices: list[str] = []
    connection.add_notice_handler(lambda notice: notices.append(str(notice.message_primary)))
    assert step(connection, fence, NEXT, events=[("step", "{}"), ("bad", "{}")]) == (
        False,
        config(connection),
    )
    assert value(connection, "SELECT count(*) FROM runs_part WHERE run_id = %s", fence.run) == 2
    assert head(connection, fence.run, "events_missing") == 2
    assert len(chain(connection, fence.correlation)) == 1
    assert any(str(fence.run) in notice and "no space left" in notice for notice in notices)
    assert step(connection, fence, NEXT + 1)
    assert told(chain(connection, fence.correlation))[1:] == [("gap", '{"missing":2}'), *ONE_EVENT]


@pytest.mark.field("FL-85")
def test_a_gap_survives_the_attempt_that_left_it(server: Server) -> None:
    connection = server.connect()
    connection.execute(REFUSE_BAD)
    fence = begin(connection)
    assert step(connection, fence, NEXT, events=[("bad", "{}")])
    assert claim(connection, fence)
    later = retake(connection, fence, add_holder(connection))
    assert finish(connection, later, NEXT + 1)
    assert told(chain(connection, fence.correlation))[1:] == [
        ("gap", '{"missing":1}'),
        ("run.ended", "{}"),
    ]


def test_a_gap_that_fails_with_its_flush_is_still_owed(server: Server) -> None:
    connection = server.connect()
    connection.execute(REFUSE_BAD)
    fence = begin(connection)
    for sequence in (NEXT, NEXT + 1):
        assert step(connection, fence, sequence, events=[("bad", "{}")])
    assert head(connection, fence.run, "events_missing") == 2
    assert len(chain(connection, fence.correlation)) == 1


def test_a_chain_without_a_head_costs_the_events_alone(server: Server) -> None:
    connection = server.connect()
    fence = start_run(connection)
    connection.execute(
        "ALTER TABLE events_eventhead DISABLE TRIGGER events_eventhead_refuse_rows; DELETE FROM events_eventhead"
    )
    assert step(connection, fence, 1) == (False, config(connection))
    assert head(connection, fence.run, "events_missing") == 1


@pytest.mark.promise("EV-07")
def test_a_write_waits_for_its_own_chain_alone(server: Server) -> None:
    connection, other = server.connect(), server.connect()
    fence, stranger = begin(connection), begin(connection)
    with other.transaction():
        lock_chain(other, stranger)
        assert step(connection, fence, NEXT)
    assert head(connection, fence.run, "events_missing") == 0
    assert len(chain(connection, fence.correlation)) == 2


def test_a_write_without_events_does_not_touch_the_chain(server: Server) -> None:
    connection, other = server.connect(), server.connect()
    fence = begin(connection)
    with other.transaction():
        lock_chain(other, fence)
        assert step(connection, fence, NEXT, events=())
    assert head(connection, fence.run, "events_missing") == 0


@pytest.mark.parametrize("kind", ["step", "bad"])
def test_the_short_lock_timeout_ends_with_the_flush(server: Server, kind: str) -> None:
    connection = server.connect()
    connection.execute(REFUSE_BAD)
    connection.execute("SET lock_timeout = '7s'")
    fence = begin(connection)
    with connection.transaction():
        assert step(connection, fence, NEXT, events=[(kind, "{}")])
        assert value(connection, "SHOW lock_timeout") == "7s"
    assert value(connection, "SHOW lock_timeout") == "7s"


@pytest.mark.promise("EV-02")
def test_writers_side_by_side_on_one_chain_leave_it_intact_and_every_event_accounted_for(
    server: Server,
) -> None:
    parent = start_run(server.watcher)
    child = start_run(server.watcher, correlation=parent.correlation)
    steps = 40

    def write_all(connection: Connection, fence: Fence) -> None:
        for sequence in range(1, steps + 1):
            assert step(connection, fence, sequence)

    writers = [(server.connect(), fence) for fence in (parent, child)]
    futures = [server.start(write_all, *writer) for writer in writers]
    for future in futures:
        future.result(30)
    events = chain(server.watcher, parent.correlation)
    missing = sum(json.loads(event.content)["missing"] for event in events if event.kind == "gap")
    owed = value(server.watcher, "SELECT sum(events_missing) FROM runs_run")
    assert sum(event.kind == "step" for event in events) + missing + owed == 2 * steps


@pytest.mark.promise("EV-02")
def test_a_writer_that_waits_for_the_chain_goes_on_from_where_the_other_left_it(
    server: Server,
) -> None:
    first, second = server.connect(), server.connect()
    fence = start_run(first)

    def append(connection: Connection) -> None:
        connection.execute(
            "SELECT liyagent_append_events(%s, %s, 'm', 'full', '{step}', ARRAY['{}'])",
            [fence.correlation, fence.run],
        )

    with first.transaction():
        append(first)
        waiting = server.start_blocked(second, append)
    waiting.result(10)
    assert len(chain(first, fence.correlation)) == 2
