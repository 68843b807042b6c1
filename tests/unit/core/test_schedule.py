"""When a line fires: over the nights on which clocks change, at the edges, and what is refused (ruling 31, FL-67)."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from itertools import islice, pairwise, takewhile

import pytest

from liyagent.core.schedule import (
    ScheduleBad,
    ZoneUnknown,
    check_schedule,
    check_zone,
    latest_slot,
    next_slot,
    slots,
)

BERLIN, LORD_HOWE, HAVANA = "Europe/Berlin", "Australia/Lord_Howe", "America/Havana"


def utc(text: str) -> datetime:
    return datetime.fromisoformat(f"{text}+00:00")


def told(line: str, zone: str, *, since: str, until: str) -> str:
    """The slots after `since` up to `until`, in UTC, hours and minutes alone."""
    found = takewhile(lambda it: it <= utc(until), slots(line, zone, utc(since)))
    return " ".join(f"{it:%d.%H:%M}" for it in found)


# Berlin goes back at 2026-10-25 01:00Z and forward at 2027-03-28 01:00Z, by an hour; Lord Howe back at 2026-04-04 15:00Z and
# forward at 2026-10-03 15:30Z, by half an hour; Havana back at 2026-11-01 05:00Z, at its one o'clock, to midnight.
NIGHTS = [
    ("30 2 * * *", BERLIN, "2026-10-24T00:00", "2026-10-26T23:00", "24.00:30 25.00:30 26.01:30"),
    ("30 2 * * *", BERLIN, "2027-03-26T23:00", "2027-03-29T23:00", "27.01:30 28.01:00 29.00:30"),
    ("45 1 * * *", LORD_HOWE, "2026-04-03T12:00", "2026-04-05T23:00", "03.14:45 04.14:45 05.15:15"),
    ("15 2 * * *", LORD_HOWE, "2026-10-02T12:00", "2026-10-04T23:00", "02.15:45 03.15:30 04.15:15"),
    ("0,30 2 * * *", BERLIN, "2027-03-27T12:00", "2027-03-29T12:00", "28.01:00 29.00:00 29.00:30"),
    ("*/15 2 * * *", BERLIN, "2027-03-27T12:00", "2027-03-28T12:00", "28.01:00"),
    ("*/15 2 * * *", BERLIN, "2026-10-24T12:00", "2026-10-25T12:00", "25.00:00 25.00:15 25.00:30 25.00:45"),
    ("30 2,3 * * *", BERLIN, "2027-03-27T12:00", "2027-03-28T12:00", "28.01:00 28.01:30"),
    ("0 2,3 * * *", BERLIN, "2027-03-27T12:00", "2027-03-28T12:00", "28.01:00"),
    ("30 1-4 * * *", BERLIN, "2026-10-24T12:00", "2026-10-25T12:00", "24.23:30 25.00:30 25.02:30 25.03:30"),
    ("*/15 * * * *", BERLIN, "2026-10-25T00:30", "2026-10-25T01:45", "25.00:45 25.01:00 25.01:15 25.01:30 25.01:45"),
    ("*/15 * * * *", BERLIN, "2027-03-28T00:30", "2027-03-28T01:30", "28.00:45 28.01:00 28.01:15 28.01:30"),
    ("*/15 * * * *", LORD_HOWE, "2026-04-04T14:30", "2026-04-04T15:30", "04.14:45 04.15:00 04.15:15 04.15:30"),
    ("0 * * * *", BERLIN, "2026-10-24T23:00", "2026-10-25T02:00", "25.00:00 25.01:00 25.02:00"),
    ("0 * * * *", BERLIN, "2027-03-27T23:00", "2027-03-28T03:00", "28.00:00 28.01:00 28.02:00 28.03:00"),
    # Half an hour back: each hour on the wall is looked at as it is shown, twice where it is.
    ("15 */2 * * *", LORD_HOWE, "2026-04-04T12:30", "2026-04-04T18:00", "04.13:15 04.15:45 04.17:45"),
    ("45 * * * *", LORD_HOWE, "2026-04-04T14:00", "2026-04-04T16:30", "04.14:45 04.15:15 04.16:15"),
    ("15 */24 1 11 *", HAVANA, "2026-11-01T00:00", "2026-11-02T00:00", "01.04:15 01.05:15"),
    ("15 0 1 11 *", HAVANA, "2026-11-01T00:00", "2026-11-02T00:00", "01.04:15"),
]  # fmt: skip


@pytest.mark.field("FL-67")
@pytest.mark.parametrize(("line", "zone", "since", "until", "right"), NIGHTS)
def test_over_a_change_of_clocks_each_slot_comes_once(
    line: str, zone: str, since: str, until: str, right: str
) -> None:
    assert told(line, zone, since=since, until=until) == right


@pytest.mark.field("FL-67")
@pytest.mark.parametrize("line", sorted({it[0] for it in NIGHTS}))
@pytest.mark.parametrize("zone", [BERLIN, LORD_HOWE, HAVANA, "America/St_Johns", "Africa/Casablanca", "Antarctica/Troll"])  # fmt: skip
def test_asked_again_after_any_instant_the_next_slot_is_the_one_that_was_to_come(
    line: str, zone: str
) -> None:
    """A process knows only the slot before: what it works out from there is what anybody else would."""
    found = list(islice(slots(line, zone, utc("2026-03-20T00:00")), 300))
    assert all(a < b for a, b in pairwise(found))
    chosen = random.Random(7)
    for before, after in chosen.sample(list(pairwise(found)), 40):
        between = before + (after - before) * chosen.random()
        assert next_slot(line, zone, before) == after
        assert next_slot(line, zone, between) == after


@pytest.mark.parametrize(
    ("line", "kept"),
    [
        ("30 2 * * *", "30 2 * * *"),
        ("  5\t4 * *  sun ", "5 4 * * sun"),
        ("0 0 29 2 *", "0 0 29 2 *"),
        ("0 0 L * *", "0 0 L * *"),
        ("0 9 * * MON#1", "0 9 * * MON#1"),
        ("0 0 31 2 1", "0 0 31 2 1"),
    ],
)
def test_a_line_is_kept_with_one_space_between_its_fields(line: str, kept: str) -> None:
    if "\t" in line:
        with pytest.raises(ScheduleBad, match="on one line"):
            check_schedule(line)
        line = line.replace("\t", " ")
    assert check_schedule(line) == kept


BAD = [
    ("0 30 2 * * *", "six fields"),
    ("30 2 * * * 2027", "six fields"),
    ("@daily", "write '0 0 \\* \\* \\*'"),
    ("@reboot", "minute, hour"),
    ("0 0 31 2 *", "a day that no month has"),
    ("0 0 30 2 *", "a day that no month has"),
    ("0 0 31 4,6,9,11 *", "a day that no month has"),
    ("0 0 */31 * MON#2", "never fires"),
    ("61 * * * *", "Bad minute"),
    ("0 24 * * *", "Bad hour"),
    ("0 0 0 * *", "Bad day-of-month"),
    ("0 0 * 13 *", "Bad month"),
    ("0 0 * * 8", "Bad day-of-week"),
    ("*/0 * * * *", "Bad minute"),
    ("5-1 * * * *", "Bad minute"),
    ("* * * *", "has 4 fields"),
    ("", "has 0 fields"),
    ("* * * * *\n", "on one line"),
    ("\uff11 * * * *", "ASCII"),
    ("0" * 201, "at most 200"),
    ("a b c d e", "Bad minute"),
]


@pytest.mark.field("FL-67")
@pytest.mark.parametrize(("line", "said"), BAD)
def test_a_line_that_cannot_be_kept_is_refused_with_what_to_write(line: str, said: str) -> None:
    with pytest.raises(ScheduleBad, match=said):
        check_schedule(line)


def test_nothing_that_is_typed_does_anything_but_fire_or_be_refused() -> None:
    chosen = random.Random(11)
    for _ in range(3000):
        line = " ".join(
            "".join(chosen.choices("0123456789*/,-#LWASUN", k=chosen.randint(1, 4)))
            for _ in range(5)
        )
        try:
            kept = check_schedule(line)
        except ScheduleBad:
            continue
        assert next_slot(kept, BERLIN, utc("2026-10-25T00:59")) > utc("2026-10-25T00:59")


@pytest.mark.parametrize("line", ["", "*", "* * * * * *", "0 0 31 2 *", "a b c d e"])
def test_a_line_that_was_not_checked_fires_never_and_is_told(line: str) -> None:
    with pytest.raises(ScheduleBad):
        next_slot(line, "UTC", utc("2026-01-01T00:00"))


@pytest.mark.parametrize("zone", ["", "CET+1", "europe/berlin", "../../etc/passwd", "Mars/Olympus", "/etc/localtime", "\x00", "Europe", "x" * 300])  # fmt: skip
def test_a_zone_that_is_not_there_is_refused(zone: str) -> None:
    with pytest.raises(ZoneUnknown):
        check_zone(zone)
    if zone != "europe/berlin":
        with pytest.raises(ZoneUnknown):
            next_slot("* * * * *", zone, utc("2026-01-01T00:00"))


@pytest.mark.parametrize("line", ["* * * * *", "30 2 * * *", "0 0 29 2 *", "*/7 3 * * 1-5"])
def test_the_latest_slot_is_found_without_walking_through_years(line: str) -> None:
    chosen = random.Random(3)
    first = next_slot(line, BERLIN, utc("2020-01-01T00:00"))
    for _ in range(15):
        until = first + timedelta(seconds=chosen.randint(0, 200_000_000))
        found = latest_slot(line, BERLIN, first=first, until=until)
        assert first <= found <= until
        assert next_slot(line, BERLIN, found) > until
        assert found == first or next_slot(line, BERLIN, found - timedelta(seconds=1)) == found


def test_a_slot_that_is_due_itself_is_the_latest() -> None:
    slot = utc("2026-10-25T00:30")
    assert latest_slot("30 2 * * *", BERLIN, first=slot, until=slot) == slot
    assert slot.tzinfo is UTC
