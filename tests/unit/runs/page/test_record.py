"""What the page says of the record, what went wrong alone, and each event as it is stored; words for those who may read them."""

from __future__ import annotations

import json
from datetime import datetime
from uuid import UUID

import pytest

from events.chain import event_hash
from events.seal_heads import seal_now
from runs import gone_wrong, record_told
from runs.models import Run
from tests.unit.events.scenes import answered, killed_and_resumed
from tests.unit.runs.carrying.conftest import World, calls, says
from tests.unit.runs.page.conftest import EVENTS, WORDS, Reading, reader, timeline, words

SECRET = "only-for-readers-of-words"


@pytest.fixture
def untied(world: World) -> World:
    """Whoever owns the tables has their triggers off."""
    world.sql("ALTER TABLE events_runevent DISABLE TRIGGER ALL")
    return world


@pytest.mark.promise("EV-02")
def test_a_record_as_it_was_written_is_said_to_be_so(world: World, page: Reading) -> None:
    shown = words(page(answered(world)))
    assert "Intact: none of its 6 events was changed" in shown
    assert "Complete: nothing is known to be missing" in shown
    assert "Agrees: what its events come to is what its row says" in shown
    assert "What to do" not in shown


@pytest.mark.promise("EV-02")
def test_an_edited_record_names_its_first_break_marks_the_place_and_says_what_to_do(
    untied: World, page: Reading
) -> None:
    run = answered(untied)
    untied.sql(
        "UPDATE events_runevent SET content = replace(content, 'keyed', 'other') WHERE run_id = %s AND number = 3",
        run.id,
    )
    html = page(run)
    shown = words(html)
    assert "Not intact: at event 3, this event, or one before it, is not what was hashed" in shown
    assert 'href="?event=3#break"' in html
    assert f"manage.py events verify --run {run.id}" in shown
    assert "events export" not in shown  # no pack is made of it
    place = timeline(html).partition("The record is broken here, at event 3.")
    assert "Step 1" in place[0]
    assert "v/other" not in place[0]
    assert "Ended: answered" in place[2]


def test_a_run_whose_record_was_taken_away_has_a_page_that_says_so(
    untied: World, page: Reading
) -> None:
    run = answered(untied)
    untied.sql("ALTER TABLE events_eventhead DISABLE TRIGGER ALL")
    untied.sql("DELETE FROM events_runevent")
    untied.sql("DELETE FROM events_eventhead")
    shown = words(page(run))
    assert "Not intact:" in shown
    assert "its event is not in the log" in shown
    assert "v/keyed" in shown


def test_of_a_record_that_was_written_anew_nothing_is_said_to_be_relied_on(
    world: World, page: Reading
) -> None:
    run = answered(world)
    seal_now()
    for table in ("events_runevent", "events_eventhead"):
        world.sql(f"ALTER TABLE {table} DISABLE TRIGGER ALL")
    world.sql("UPDATE events_eventhead SET seal = decode(repeat('00', length(seal)), 'hex')")
    shown = words(page(run))
    assert "Rely on nothing of this record, what stands before that event among it" in shown
    assert "what stands before it is as it was written" not in shown
    assert "The record is broken here, at event 1" in shown


def test_events_that_are_no_json_leave_the_page_whole(untied: World, page: Reading) -> None:
    run = answered(untied)
    for number, content in ((2, "{"), (3, "x" * 5000), (4, "[1]"), (5, '{"step": "\\u0000"}')):
        untied.sql(
            "UPDATE events_runevent SET content = %s WHERE run_id = %s AND number = %s",
            content, run.id, number,
        )  # fmt: skip
    assert "Not intact: at event 2" in words(page(run))
    page(run, "change/?only=failed")
    assert "xxxx" in page(run, "event/3/")


def test_a_row_that_was_changed_beside_the_record_is_told(world: World, page: Reading) -> None:
    run = answered(world)
    world.sql("UPDATE runs_run SET status = 'failed', model_steps = 1 WHERE id = %s", run.id)
    assert "Differs from its row: status: its events say answered, its row failed" in words(
        page(run)
    )


def test_a_long_chain_is_looked_at_when_somebody_asks(
    world: World, page: Reading, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = answered(world)
    monkeypatch.setattr(record_told, "MOST_AT_ONCE", 5)
    assert "Not looked at: its chain has 6 events" in words(page(run))
    assert "Intact: none of its 6 events" in words(page(run, "change/?check=yes"))
    monkeypatch.setattr(record_told, "MOST_ASKED_FOR", 5)
    shown = words(page(run, "change/?check=yes"))
    assert "Look at it now" not in shown
    assert f"manage.py events verify --run {run.id}" in shown


def test_only_what_went_wrong_is_told_and_leads_to_its_place(world: World, page: Reading) -> None:
    lost = killed_and_resumed(world)
    html = page(lost, "change/?only=failed")
    shown = timeline(html)
    assert "Taken over after a loss" in shown
    assert "Step 1" not in shown
    assert "Ended" not in shown
    assert "?event=" in html
    well = timeline(page(answered(world), "change/?only=failed"))
    assert "Nothing went wrong" in well


def test_an_argument_that_imitates_an_outcome_hides_no_failed_call(
    world: World, page: Reading
) -> None:
    run = world.start(
        calls(("v/nothing", {"fate": "done", "gate": ""}), ("v/look", {"fate": "failed"})),
        says("done"),
    )
    world.process().carry()
    shown = timeline(page(Run.objects.get(id=run.id), "change/?only=failed"))
    assert "v/nothing" in shown
    assert "v/look" not in shown


def test_a_long_run_is_looked_through_piece_by_piece(
    world: World, page: Reading, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = killed_and_resumed(world)
    monkeypatch.setattr(gone_wrong, "LOOKED_THROUGH", 2)
    html = page(run, "change/?only=failed")
    assert "Nothing went wrong in the events 0 to 2 of the chain" in words(html)
    assert "?only=failed&amp;from=3#steps" in html
    for asked in ("x", "-1", "9" * 18, "9" * 40, "%F0%9F%92%A9"):
        page(run, f"change/?only=failed&from={asked}")
        page(run, f"change/?event={asked}")


def test_a_stored_event_is_shown_so_that_its_hash_can_be_made_again(
    world: World, page: Reading
) -> None:
    run = answered(world)
    html = page(run, "event/3/")
    text = words(html.partition('aria-label="The stored event">')[2].partition("</pre>")[0])
    row = json.loads(text)
    assert text.isascii()
    made = event_hash(
        bytes.fromhex(row["hash_before"]), correlation_id=UUID(row["correlation_id"]), number=row["number"],
        run_id=UUID(row["run_id"]), at=datetime.fromisoformat(row["at"]), kind=row["kind"], mission=row["mission"],
        recording=row["recording"], content=row["content"],
    )  # fmt: skip
    assert made.hex() == row["hash"]
    assert "written by attempt 1 as its number 2" in words(html)


@pytest.mark.promise("EV-06")
def test_words_are_withheld_from_who_may_not_read_them_everywhere_on_the_page(
    world: World, page: Reading
) -> None:
    run = world.start(calls(("v/nothing", {"q": SECRET}), text=SECRET), says(SECRET), task=SECRET)
    world.process().carry()
    vera, rita = reader(EVENTS), reader(EVENTS, WORDS)
    numbers = [it.number for it in world.events(run)]
    for asked in ("change/", "change/?only=failed", *(f"event/{it}/" for it in numbers)):
        assert SECRET not in page(run, asked, by=vera), asked
    assert page(run, by=rita).count(SECRET) >= 4
    assert SECRET in page(run, "event/1/", by=rita)
    assert "&quot;content&quot;" not in page(run, "event/1/", by=vera)


def test_stored_events_are_for_those_who_may_see_events(world: World, page: Reading) -> None:
    run = answered(world)
    nobody = reader()
    assert nobody.get(f"/admin/runs/run/{run.id}/event/1/").status_code == 403
    assert f"/admin/runs/run/{run.id}/event/1/" not in page(run, by=nobody)
    seer = reader(EVENTS)
    for number in (0, 7, 10**30):
        assert seer.get(f"/admin/runs/run/{run.id}/event/{number}/").status_code == 404
    assert seer.post(f"/admin/runs/run/{run.id}/event/1/").status_code == 403
