"""The nights on which clocks change, looked through with the one clock moved: each slot one outcome, none twice (FL-67)."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import NamedTuple

import pytest

from runs.models import Run
from tests.unit.entry.cron.conftest import Cron


class Night(NamedTuple):
    """From when to when it is looked, in UTC, and what is fired of each line meanwhile."""

    zone: str
    since: str
    until: str
    fired: dict[str, list[str]]


QUARTERS_BACK = ["00:00", "00:15", "00:30", "00:45", "01:00", "01:15", "01:30", "01:45", "02:00"]
QUARTERS_ON = ["00:30", "00:45", "01:00", "01:15", "01:30", "01:45"]
NIGHTS = [
    Night("Europe/Berlin", "2026-10-24T23:50", "2026-10-25T02:00", {"30 2 * * *": ["00:30"], "*/15 * * * *": QUARTERS_BACK}),
    Night("Europe/Berlin", "2027-03-28T00:20", "2027-03-28T01:45", {"30 2 * * *": ["01:00"], "*/15 * * * *": QUARTERS_ON}),
    Night("Australia/Lord_Howe", "2026-04-04T14:20", "2026-04-04T15:45", {"45 1 * * *": ["14:45"], "*/15 * * * *": ["14:30", "14:45", "15:00", "15:15", "15:30", "15:45"]}),
]  # fmt: skip


@pytest.mark.field("FL-67")
@pytest.mark.promise("CR-03")
@pytest.mark.parametrize("night", NIGHTS, ids=lambda it: f"{it.zone} {it.since}")
def test_over_the_night_each_slot_has_one_outcome(cron: Cron, night: Night) -> None:
    cron.at(night.since)
    for number, line in enumerate(night.fired):
        cron.save(line, key=f"t{number}", timezone=night.zone)
    now, until = datetime.fromisoformat(night.since), datetime.fromisoformat(night.until)
    while now < until:
        now += timedelta(minutes=5)
        cron.at(now.isoformat())
        cron.look()
        cron.look()
        cron.carry()
    day = night.until.partition("T")[0]
    for number, fired in enumerate(night.fired.values()):
        assert cron.fires(f"t{number}") == [(f"{day}T{it}:00Z", "answered") for it in fired]
    assert Run.objects.count() == sum(map(len, night.fired.values()))


@pytest.mark.field("FL-67")
def test_the_night_slept_through_is_caught_up_once(cron: Cron) -> None:
    cron.at("2026-10-24T12:00")
    cron.save("30 2 * * *", timezone="Europe/Berlin")
    cron.at("2026-10-25T09:00")
    assert cron.look() == 1
    cron.carry()
    assert cron.fires() == [("2026-10-25T00:30:00Z", "answered")]
    # As where the clock of the database was put back, by its own keeper: a slot that was fired is not fired again.
    cron.at("2026-10-25T00:30")
    assert cron.look() == 0
    cron.save("29 2 * * *", timezone="Europe/Berlin")
    cron.save("30 2 * * *", timezone="Europe/Berlin")
    cron.world.sql("UPDATE cron_crontrigger SET next_slot = '2026-10-25T00:30Z'")
    assert cron.look() == 1
    assert Run.objects.count() == 1
