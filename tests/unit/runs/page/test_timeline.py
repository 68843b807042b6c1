"""A run is read from top to bottom: each call with its authority, takeovers where they happened, agents nested in their call."""

from __future__ import annotations

import random
import re
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from events.kinds import KINDS
from runs.models import Run
from runs.run_page import MOST_NESTED, page_of
from runs.run_timeline import Material, ShownQuiet, ShownStep, lay_out
from runs.shown_call import ShownCall
from runs.told_events import Told
from tests.unit.events.scenes import (
    answered,
    approved,
    killed_and_resumed,
    unknown_and_settled_by_a_person,
    with_a_gap,
)
from tests.unit.runs.carrying.conftest import World, calls, says
from tests.unit.runs.delegating.conftest import Cast, hands
from tests.unit.runs.page.conftest import Reading, timeline, words

START = datetime(2026, 6, 1, 3, 0, tzinfo=UTC)
RUN = UUID(int=7)


def in_order(shown: str, *told: str) -> None:
    """Each of these stands behind the one before."""
    place = 0
    for it in told:
        found = shown.find(it, place)
        assert found >= 0, (it, shown[place:][:2000])
        place = found + len(it)


def test_a_takeover_stands_behind_the_call_that_it_found_in_doubt(
    world: World, page: Reading
) -> None:
    shown = timeline(page(killed_and_resumed(world)))
    in_order(
        shown,
        "Started",
        "Step 1",
        "1. v/keyed",
        "Authority: let through by every gate",
        "sent again with the same key",
        "Taken over after a loss, the 1st",
        "how the death was seen: its lease lapsed",
        "calls that were left: v/keyed: sent again with the same key",
        "Step 2",
        "Ended: answered",
    )


def test_an_approved_call_says_which_gate_held_it_and_who_decided(
    world: World, page: Reading
) -> None:
    run = approved(world)
    html = page(run)
    in_order(
        timeline(html),
        "1. v/keyed",
        "Authority: held by",
        "approved by olga",
        "held by the gate write posture, and put before a person",
        "approved by olga, 0 s after it was asked for",
        "Ended: answered",
    )
    assert "/admin/approvals/approval/" in html


def test_what_a_person_said_stands_in_the_line_of_its_call(world: World, page: Reading) -> None:
    html = page(unknown_and_settled_by_a_person(world))
    line = html.partition('id="call-1-0"')[2]
    assert "olga looked, and said what happened: done" in words(line.partition("Step 2")[0])


def test_a_gap_is_told_where_events_are_missing(world: World, page: Reading) -> None:
    html = page(with_a_gap(world))
    assert "Events are missing here: " in timeline(html)
    assert "liy-tone-bad" in html
    assert "Not complete:" in words(html)
    assert 'href="?event=' in html


@pytest.fixture
def handed(cast: Cast, world: World) -> Run:
    """Two agents deep: each run ends before the one above goes on."""
    cast.lists = {
        "triage": [hands("reader"), says("all is well")],
        "reader": [hands("fixer"), says("it was read")],
        "fixer": [calls(("v/keyed", {"n": 1})), says("it was fixed")],
    }
    run = world.start()
    process = world.process()
    for _ in range(5):
        process.carry()
    run.refresh_from_db()
    assert run.status == "answered"
    return run


def test_steps_of_agents_are_nested_in_the_call_that_asked_for_them(
    handed: Run, page: Reading
) -> None:
    html = page(handed)
    in_order(
        timeline(html),
        "1. agents/reader",
        "Agent reader: answered, 2 steps",
        "1. agents/fixer",
        "Agent fixer: answered, 2 steps",
        "1. v/keyed",
        "it was fixed",
        "it was read",
        "Step 2",
        "all is well",
        "The family: all runs of this chain",
    )
    assert re.search(r"this run.*↳.*↳ ↳", words(html), re.DOTALL)


def test_a_page_asks_as_often_for_many_agents_and_steps_as_for_few(
    handed: Run, world: World, page: Reading
) -> None:
    page(handed)
    child = Run.objects.get(parent_id=handed.id)
    with CaptureQueriesContext(connection) as few:
        page(handed)
    world.sql(
        "INSERT INTO runs_run SELECT (jsonb_populate_record(r, jsonb_build_object('id', gen_random_uuid(), 'loop', n::text))).*"
        " FROM runs_run r, generate_series(1, 50) AS n WHERE r.parent_id = %s",
        handed.id,
    )
    world.sql(
        "INSERT INTO events_runevent (correlation_id, number, run_id, at, kind, mission, recording, content, hash)"
        " SELECT %s, 1000 + n, %s, now(), 'step', 'm', 'full', '{\"step\":' || n || '}', '\\x00' FROM generate_series(1, 2000) AS n",
        handed.correlation_id,
        child.id,
    )
    with CaptureQueriesContext(connection) as many:
        shown = page(handed)
    assert len(many) == len(few)
    assert shown.count("neurology") <= MOST_NESTED + 60
    assert "This page of steps holds more events than are shown" in shown


def test_a_step_of_which_no_event_tells_is_shown_between_those_beside_it(world: World) -> None:
    run = answered(world)
    world.sql("ALTER TABLE events_runevent DISABLE TRIGGER ALL")
    world.sql(
        "DELETE FROM events_runevent WHERE run_id = %s AND kind = 'step' AND number < 4", run.id
    )
    steps = page_of(run, 1, with_words=True).steps
    assert [(it.number, it.event is None) for it in steps] == [(1, True), (2, False)]
    assert [it.name for it in steps[0].calls] == ["v/keyed", "v/look"]


def told(*events: tuple[int, str, dict[str, Any]]) -> list[Told]:
    """Events at these seconds."""
    return [
        Told(number, START + timedelta(seconds=seconds), RUN, kind, content)
        for number, (seconds, kind, content) in enumerate(events, 1)
    ]


def test_the_model_took_what_its_reads_did_not() -> None:
    """Events of reads go into the commit of the next step: their time is not the model's."""
    call = {"step": 1, "index": 0, "server": "v", "tool": "look", "fate": "done", "ms": 4000}
    material = Material(
        told=told(
            (10, "run.started", {}), (10, "step", {"step": 1}), (17, "tool.call", call), (17, "step", {"step": 2}),
        ),
        begun=START,
    )  # fmt: skip
    steps = [it for it in lay_out(material, with_words=True) if isinstance(it, ShownStep)]
    assert [it.seconds for it in steps] == [10.0, 3.0]


def test_a_time_in_which_nothing_was_written_is_said_to_be_so() -> None:
    material = Material(
        told=told(
            (0, "step", {"step": 1}), (95, "run.resumed", {"losses": 1}), (96, "run.ended", {})
        )
    )
    quiet = [it.seconds for it in lay_out(material, with_words=True) if isinstance(it, ShownQuiet)]
    assert quiet == [95.0]


ODD: list[Any] = [None, True, -1, 2.5, 10**40, "", "x", [], [1, 2], [{"call": 1}], {}, {"sha256": 1, "bytes": 2}, {"cut": 1, "of": []}]  # fmt: skip
NAMES = sorted({name for it in KINDS.values() for name in (*it.fields, *it.may_have)})
VALUES = [*ODD, 0, 1, 2, 3]
ROUNDS = 500


@pytest.mark.parametrize("with_words", [True, False])
def test_whatever_stands_in_the_log_is_laid_out(*, with_words: bool) -> None:
    """Nothing raises, and each event is on the page once: as an entry, or as a line of its call."""
    chance = random.Random(7)
    for _ in range(ROUNDS):
        rows = told(*(odd_event(chance, number) for number in range(chance.randrange(9))))
        entries = lay_out(Material(told=rows, shells=range(1, 4)), with_words=with_words)
        assert numbers_of(entries) == [it.number for it in rows]


def odd_event(chance: random.Random, second: int) -> tuple[int, str, dict[str, Any]]:
    """An event of any kind, of which anything may be anything."""
    names = [*chance.sample(NAMES, chance.randrange(9)), "step", "index"]
    return second, chance.choice([*KINDS, "x"]), {name: chance.choice(VALUES) for name in names}


def numbers_of(entries: list[Any]) -> list[int]:
    """The events that are on the page, in order."""
    items = [x for it in entries for x in ([it, *it.items] if isinstance(it, ShownStep) else [it])]
    found = [it.event if isinstance(it, ShownStep) else getattr(it, "number", None) for it in items]
    lines = [line.number for it in items if isinstance(it, ShownCall) for line in it.lines]
    return sorted(it for it in (*found, *lines) if it is not None)
