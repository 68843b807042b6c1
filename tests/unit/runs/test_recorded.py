"""What was recorded of runs, read again to be used: whole, or told by name why not (ruling 26)."""

from __future__ import annotations

from uuid import UUID

import psycopg
import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from events.keys import tagging_key
from events.reading import one_moment
from events.tags import Tagger
from liyagent.core.ids import new_id
from runs import recorded
from runs.models import Run
from runs.recorded import Recorded, Ref, Unusable, read_recorded
from tests.databases import FreshDatabase
from tests.recorded_runs import APPEND, Made, Past, write_past

CALLS = (
    Made(tool="crm/find", args={"name": "Ann"}, result={"id": 7}),
    Made(tool="crm/close", args={"id": 7}, effect="write"),
)


def read(*runs: UUID) -> dict[UUID, Recorded | Unusable]:
    """Read these runs, a chain that is not there among them, of one moment."""
    chains = dict(Run.objects.filter(id__in=runs).values_list("id", "correlation_id"))
    with one_moment():
        return {it.run_id: it for it in read_recorded([Ref(run, chains[run]) for run in runs])}


def chain_of(run: UUID) -> UUID:
    return Run.objects.get(id=run).correlation_id


def add_child(run: UUID, *, status: str) -> UUID:
    """Add a run of the same family."""
    child = Run.objects.get(id=run)
    child.id, child.loop, child.status, child.parent_id = new_id(), "child", status, run
    child.save(force_insert=True)
    return child.id


def change(url: str, statement: str, *values: object) -> None:
    """Change the log as only who owns the database can."""
    tables = ("events_runevent", "events_eventhead", "events_purgecertificate")
    with psycopg.connect(url, autocommit=True) as database:
        for table in tables:
            database.execute(f"ALTER TABLE {table} DISABLE TRIGGER ALL")
        database.execute(statement, values)
        for table in tables:
            database.execute(f"ALTER TABLE {table} ENABLE TRIGGER ALL")


def test_a_run_is_read_with_its_task_calls_and_results(fresh_db: FreshDatabase) -> None:
    (run,) = write_past(fresh_db.url, [Past(task="close it", calls=CALLS)])
    found = read(run)[run]
    assert isinstance(found, Recorded)
    assert (found.started["task"], found.ended["answer"]) == ("close it", "done")
    told = [(it.name, it.args, it.result, it.effect, it.fate) for it in found.calls]
    assert told == [
        ("crm/find", {"name": "Ann"}, {"id": 7}, "read", "done"),
        ("crm/close", {"id": 7}, "ok", "write", "done"),
    ]


def test_many_runs_take_as_many_statements_as_one(fresh_db: FreshDatabase) -> None:
    few = write_past(fresh_db.url, [Past(calls=CALLS)] * 2)
    many = write_past(fresh_db.url, [Past(calls=CALLS)] * 60)
    counts = []
    for runs in (few, many):
        refs = [Ref(run, chain_of(run)) for run in runs]
        with one_moment(), CaptureQueriesContext(connection) as queries:
            assert sum(isinstance(it, Recorded) for it in read_recorded(refs)) == len(runs)
        counts.append(len(queries))
    assert counts[0] == counts[1] <= 4


def test_events_of_its_family_are_not_its_own(fresh_db: FreshDatabase) -> None:
    (run,) = write_past(fresh_db.url, [Past(calls=CALLS)])
    row = Run.objects.get(id=run)
    chain, mission = row.correlation_id, row.mission
    child = add_child(run, status="answered")
    tagger = Tagger(
        key=tagging_key(), correlation_id=chain, run_id=child, mission=mission, attempt=1
    )
    lines = [tagger.line("run.started", "{}"), tagger.line("run.ended", '{"steps":0,"calls":0}')]
    with psycopg.connect(fresh_db.url, autocommit=True) as database:
        database.execute(APPEND, [chain, child, mission, "full", ["run.started", "run.ended"], lines])  # fmt: skip
    found = read(run)[run]
    assert isinstance(found, Recorded)
    assert [kind for kind, _ in found.events].count("run.started") == 1


@pytest.mark.promise("RT-01")
def test_what_nobody_may_rely_on_is_told_by_name(fresh_db: FreshDatabase) -> None:
    url = fresh_db.url
    runs = write_past(url, [Past(calls=CALLS)] * 8 + [Past(calls=CALLS, recording="metadata"), Past(calls=CALLS, task={"sha256": "0", "bytes": 2})])  # fmt: skip
    well, broken, gap, gone, open_, forged, ended, purged, words, refused = runs
    change(url, "UPDATE events_runevent SET content = replace(content, 'Ann', 'Eve') WHERE run_id = %s", broken)  # fmt: skip
    with psycopg.connect(url, autocommit=True) as database:
        database.execute(
            "SELECT liyagent_append_events(%s, %s, %s, 'full', ARRAY['gap'], ARRAY['{\"missing\":2}'])",
            [chain_of(gap), gap, str(chain_of(gap))],
        )
    add_child(open_, status="queued")
    change(url, "DELETE FROM events_runevent WHERE run_id = %s", gone)
    change(url, "UPDATE events_runevent SET tag = '' WHERE run_id = %s AND number = 3", forged)
    change(url, "DELETE FROM events_runevent WHERE run_id = %s AND kind = 'run.ended'", ended)
    change(url, "DELETE FROM events_runevent WHERE run_id = %s", purged)
    change(url, "DELETE FROM events_eventhead WHERE correlation_id = %s", chain_of(purged))
    change(
        url,
        "INSERT INTO events_purgecertificate (correlation_id, count, hash, kept_days, at, asked_by) VALUES (%s, 1, '', 1, now(), 'x')",
        chain_of(purged),
    )
    found = read(*runs)
    assert isinstance(found[well], Recorded)
    told = {run: it for run, it in found.items() if isinstance(it, Unusable)}
    assert len(told) == len(runs) - 1
    assert str(told[broken]).startswith("its record is broken: this event, or one before it")
    assert (told[broken].reason, told[broken].number) == (recorded.BROKEN, 3)
    assert (told[gap].reason, told[gap].detail[:27]) == (
        recorded.INCOMPLETE,
        "2 events were never written",
    )
    assert told[gone].reason == recorded.NO_RECORD
    assert told[open_].reason == recorded.NOT_OVER
    assert "bears no tag" in told[forged].detail
    assert told[ended].detail.startswith("the chain does not end")
    assert told[purged].reason == recorded.PURGED
    assert (told[words].reason, told[words].number) == (recorded.NO_WORDS, 1)
    assert (told[refused].reason, told[refused].number) == (recorded.NO_WORDS, 1)


def test_a_record_that_is_too_long_or_too_large_is_not_read_to_its_end(
    fresh_db: FreshDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    large = Past(calls=[Made(tool="a/b", result="x" * 3000)] * 3)
    run, other, small = write_past(fresh_db.url, [Past(calls=CALLS * 10), large, Past(calls=CALLS)])
    monkeypatch.setattr(recorded, "MOST_EVENTS", 20)
    monkeypatch.setattr(recorded, "MOST_SIZE", 6000)
    found = read(run, other, small)
    assert str(found[run]) == str(found[other]) == recorded.TOO_LONG
    assert isinstance(found[small], Recorded)


def test_a_key_that_is_not_here_is_told(
    fresh_db: FreshDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    (run,) = write_past(fresh_db.url, [Past(calls=CALLS)])
    monkeypatch.setattr(recorded, "checking_keys", list)
    found = read(run)[run]
    assert isinstance(found, Unusable)
    assert "not among LIYAGENT_SEAL_KEYS" in found.detail
