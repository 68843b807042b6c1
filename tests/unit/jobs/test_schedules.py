"""A source with a schedule is synced once at each of its slots."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Event

import pytest
from django.db import connection

from liyagent.jobs.models import Job
from liyagent.jobs.sources import due
from liyagent.jobs.sources.due import sync_due
from liyagent.jobs.sources.errors import SourceInvalid
from liyagent.jobs.sources.models import Source
from liyagent.jobs.sources.save import save_source
from tests.flows.conftest import make_user
from tests.unit.jobs.conftest import Shop, never

HOURLY = {"schedule": "0 * * * *", "timezone": "Europe/Berlin"}
SLOT = "2026-03-01T08:00:00+00:00"


def scheduled(shop: Shop, *, by: str = "cli:olga", slot: str = SLOT, **given: str) -> Source:
    """A source that is due since a slot of long ago."""
    shop.source()
    source = save_source("handbook", {**HOURLY, **given}, actor=by)
    assert source.next_slot is not None
    shop.sql("UPDATE sources_source SET next_slot = %s::timestamptz", slot)
    return source


def test_what_is_due_is_synced_once_and_the_next_slot_is_to_come(shop: Shop) -> None:
    shop.folder(a_md="text")
    scheduled(shop)
    assert sync_due(never) == 1
    assert sync_due(never) == 0
    job = Job.objects.get()
    assert (job.kind, job.subject, job.asked_by) == ("source_sync", "handbook", "cli:olga")
    assert job.params["slot"].endswith(":00:00+00:00")
    shop.hand().work()
    assert shop.documents() == {"a.md": "text"}
    ((is_later, is_soon),) = shop.sql("SELECT next_slot > liyagent_now(), next_slot <= liyagent_now() + interval '1 hour' FROM sources_source")  # fmt: skip
    assert (is_later, is_soon) == (True, True)


@pytest.mark.promise("CR-06")
def test_of_two_processes_one_asks_for_a_slot(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    scheduled(shop)
    first_has_it, second_is_done = Event(), Event()

    def waits(_asked_by: str, *_permissions: str) -> str:
        if not first_has_it.is_set():
            first_has_it.set()
            assert second_is_done.wait(20)
        return ""

    monkeypatch.setattr(due, "standing_of", waits)

    def look() -> int:
        try:
            return sync_due(never)
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(look)
        assert first_has_it.wait(20)
        second = sync_due(never)
        second_is_done.set()
        assert (first.result(), second) == (1, 0)
    assert (Job.objects.count(), len(shop.audit("job.asked"))) == (1, 1)
    assert not shop.audit("source.sync_skipped")


def test_a_slot_of_a_source_whose_sync_goes_on_is_skipped_and_told(shop: Shop) -> None:
    scheduled(shop)
    sync_due(never)
    shop.sql("UPDATE sources_source SET next_slot = liyagent_now() - interval '1 s'")
    assert sync_due(never) == 1
    assert Job.objects.count() == 1
    assert shop.audit("source.sync_skipped")[0]["source"] == "handbook"


def test_whoever_saved_it_last_must_still_be_allowed_to_operate(shop: Shop) -> None:
    user = make_user("olga", "agents.operate")
    scheduled(shop, by="olga")
    user.user_permissions.clear()
    assert sync_due(never) == 1
    source = Source.objects.get()
    assert (source.next_slot, source.problem) == (None, "olga, who asked for it, no longer holds agents.operate")  # fmt: skip
    assert shop.audit("source.schedule_stopped")[0]["why"] == source.problem
    assert not Job.objects.exists()
    source = save_source("handbook", {}, actor="cli:olga")
    assert (source.problem, source.next_slot is None) == ("", False)


def test_without_a_schedule_it_is_synced_when_it_is_asked_for_alone(shop: Shop) -> None:
    scheduled(shop)
    source = save_source("handbook", {"schedule": ""}, actor="cli:olga")
    assert (source.schedule, source.next_slot) == ("", None)
    assert sync_due(never) == 0


def test_another_line_begins_from_now_and_the_same_one_goes_on(shop: Shop) -> None:
    scheduled(shop)
    same = save_source("handbook", {"agents": ["a"]}, actor="cli:olga")
    assert same.next_slot is not None
    assert same.next_slot.isoformat() == SLOT
    other = save_source("handbook", {"schedule": "30 3 * * *"}, actor="cli:olga")
    assert other.next_slot is not None
    assert other.next_slot.isoformat() != SLOT


@pytest.mark.parametrize(("given", "told"), [
    ({"schedule": "* * *"}, "schedule has 3 fields"),
    ({"schedule": "0 0 30 2 *"}, "schedule '0 0 30 2"),
    ({"schedule": 7}, "schedule wants"),
    ({"timezone": "Mars/Base"}, "timezone 'Mars/Base' is no time zone"),
])  # fmt: skip
def test_a_line_that_is_none_is_refused_where_it_is_given(shop: Shop, given: dict[str, object], told: str) -> None:  # fmt: skip
    shop.source()
    with pytest.raises(SourceInvalid, match=told):
        save_source("handbook", given, actor="cli:olga")
