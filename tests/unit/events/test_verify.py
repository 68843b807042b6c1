"""`manage.py events verify`: a record that was changed is named, and one that is as it was written passes."""

from __future__ import annotations

import threading
from datetime import UTC, datetime, timedelta
from io import StringIO
from uuid import UUID

import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from events import reading, verify_chains
from events.checking import FIRST, Asked, Finding, Looked
from events.completeness import RunFacts
from events.management.subcommands.verify import first_chain_since
from events.verify_chains import check_chains
from liyagent.core.errors import BadInput, NotFound
from runs.models import Run
from tests.unit.events.scenes import answered
from tests.unit.runs.carrying.conftest import World, says


def verify(*arguments: str) -> str:
    told = StringIO()
    call_command("events", "verify", *arguments, stdout=told, stderr=StringIO())
    return told.getvalue()


def refused(*arguments: str) -> list[str]:
    """Verify what is broken; the lines, without where they are."""
    told = StringIO()
    with pytest.raises(CommandError, match="broken"):
        call_command("events", "verify", *arguments, stdout=told, stderr=StringIO())
    return [line.partition(": ")[2].partition(":")[0] for line in told.getvalue().splitlines()]


@pytest.fixture
def untied(world: World) -> World:
    """Whoever owns the tables has their triggers off."""
    for table in ("runevent", "eventhead"):
        world.sql(f"ALTER TABLE events_{table} DISABLE TRIGGER ALL")
    return world


def chain_of(run: Run) -> UUID:
    return run.correlation_id


@pytest.mark.promise("EV-02")
def test_a_record_that_is_as_it_was_written_passes(world: World) -> None:
    run, other = answered(world), answered(world)
    assert verify("--run", str(run.id)).startswith("1 chains, 6 events")
    assert verify("--run", str(chain_of(other))).startswith("1 chains, 6 events")
    assert verify("--all").startswith("2 chains, 12 events")
    assert verify().endswith("intact, 0 incomplete\n")


@pytest.mark.promise("EV-02")
@pytest.mark.field("FL-82")
def test_each_of_five_attacks_is_named_and_nothing_else(untied: World) -> None:
    """As FL-82 has them: the end cut off, all of one gone, the beginning gone, two swapped, one copied under another run."""
    cut, gone, beheaded, swapped, copied, left, goes_on = (answered(untied) for _ in range(7))
    sql = untied.sql
    sql("DELETE FROM events_runevent WHERE correlation_id = %s AND number > 3", chain_of(cut))
    sql("DELETE FROM events_runevent WHERE correlation_id = %s", chain_of(gone))
    sql("DELETE FROM events_eventhead WHERE correlation_id = %s", chain_of(gone))
    sql("DELETE FROM events_runevent WHERE correlation_id = %s AND number < 3", chain_of(beheaded))
    sql(
        "UPDATE events_runevent a SET number = -a.number WHERE correlation_id = %s AND number IN (3, 4)",
        chain_of(swapped),
    )
    sql(
        "UPDATE events_runevent SET number = 7 + number WHERE correlation_id = %s AND number < 0",
        chain_of(swapped),
    )
    sql("DELETE FROM events_runevent WHERE correlation_id = %s", chain_of(copied))
    sql("DELETE FROM events_eventhead WHERE correlation_id = %s", chain_of(copied))
    for table, columns in (
        ("events_runevent", "number, run_id, at, kind, mission, recording, content, hash, tag"),
        ("events_eventhead", "count, hash"),
    ):
        sql(
            f"INSERT INTO {table} (correlation_id, {columns}) SELECT %s, {columns} FROM {table} WHERE correlation_id = %s",
            chain_of(copied),
            chain_of(left),
        )
    for run, reasons in (
        (cut, {"cut_off", "no_end"}),
        (gone, {"gone", "no_end"}),
        (beheaded, {"out_of_order", "no_start", "counters"}),
        (swapped, {"changed"}),
        (copied, {"changed", "no_end", "kept_unsealed"}),
    ):
        assert set(refused("--run", str(run.id))) == reasons
    assert refused("--all").count("changed") == 2
    assert "intact, 0 incomplete" in verify("--run", str(left.id))
    assert "intact, 0 incomplete" in verify("--run", str(goes_on.id))


@pytest.mark.promise("EV-02")
def test_events_without_a_head_are_found_among_all(untied: World) -> None:
    """They have no head by which to find them."""
    answered(untied)
    last = answered(untied)
    untied.sql("DELETE FROM events_eventhead WHERE correlation_id = %s", chain_of(last))
    assert refused("--all") == ["no_head"]


@pytest.mark.promise("EV-02")
@pytest.mark.promise("EV-07")
def test_what_is_missing_is_told_and_is_no_break(world: World) -> None:
    run = answered(world)
    world.sql("UPDATE runs_run SET events_missing = 2")
    told = verify("--run", str(run.id))
    assert "INCOMPLETE" in told
    assert told.endswith("intact, 1 incomplete\n")


@pytest.mark.promise("EV-02")
def test_a_run_that_goes_on_meanwhile_is_not_taken_for_one_that_was_changed(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Heads, rows and events are read of one moment, whatever is written between."""
    run = world.start(says("done"))
    process = world.process()
    ((run_id, attempt),) = process.take()

    def go_on() -> None:
        process.go_on(run_id, attempt)
        connection.close()

    threads = [threading.Thread(target=go_on)]

    def write_between(_first: UUID, _last: UUID) -> dict[UUID, list[RunFacts]]:
        if threads:
            threads[0].start()
            threads.pop().join()
        return {}

    monkeypatch.setattr(reading, "FACTS", [*reading.FACTS, write_between])
    assert [it for it in check_chains(Asked()) if isinstance(it, Finding)] == []
    assert Run.objects.get(id=run.id).status == "answered"


def test_it_reads_some_heads_at_a_time_and_tells_how_far_it_is(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(5):
        answered(world)
    monkeypatch.setattr(verify_chains, "HEADS_AT_ONCE", 2)
    monkeypatch.setattr(verify_chains, "EVENTS_OF_ONE_MOMENT", 7)
    told = [it for it in check_chains(Asked()) if isinstance(it, Looked)]
    assert [(it.chains, it.events) for it in told[:-1]] == [(n, 6 * n) for n in range(1, 6)]
    assert told[-1] == told[-2]


def test_chains_begun_since_a_time_are_told_by_their_ids(world: World) -> None:
    answered(world)
    now = datetime.now(UTC)
    assert verify("--since", (now - timedelta(hours=1)).isoformat()).startswith("1 chains")
    assert verify("--since", (now + timedelta(hours=1)).isoformat()).startswith("0 chains")
    assert first_chain_since("1970-01-01T00:00:00Z") == FIRST


@pytest.mark.parametrize("text", ["yesterday", "2026-01-01", "2026-01-01T00:00:00", "", "\u0662"])
def test_a_time_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(BadInput, match="wants a time with its zone"):
        first_chain_since(text)


def test_an_id_that_leads_nowhere_is_refused(world: World) -> None:
    with pytest.raises(BadInput, match="is no id"):
        verify("--run", "x")
    with pytest.raises(NotFound, match="no run and no chain"):
        verify("--run", "0190a0a0-0000-7000-8000-000000000000")
