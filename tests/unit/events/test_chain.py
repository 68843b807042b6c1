"""The pure chain: any dropped, edited, reordered or foreign event is found at its number (EV-02)."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from typing import Any
from uuid import UUID

import pytest

from events.chain import Break, BreakReason, event_hash, first_break, genesis_hash
from tests.unit.events.rows import Event, HeadRow

CHAIN = UUID("0190f5fe-7c00-7a00-8000-000000000001")
RUN = UUID("0190f5fe-7c00-7a00-8000-000000000002")
OTHER = UUID("0190f5fe-7c00-7a00-8000-000000000003")
AT = datetime(2026, 3, 29, 1, 30, 0, 123457, tzinfo=UTC)


def hashed(event: Event, previous: bytes) -> Event:
    """Return the event with the hash it has after `previous`."""
    fields: dict[str, Any] = {
        name: getattr(event, name)
        for name in (
            "correlation_id",
            "number",
            "run_id",
            "at",
            "kind",
            "mission",
            "recording",
            "content",
        )
    }
    return replace(event, hash=event_hash(previous, **fields))


def intact(count: int = 4, *, correlation_id: UUID = CHAIN) -> list[Event]:
    """Return a chain that verifies."""
    events: list[Event] = []
    previous = genesis_hash(correlation_id)
    for number in range(1, count + 1):
        event = Event(
            correlation_id=correlation_id,
            number=number,
            run_id=RUN,
            at=AT + timedelta(microseconds=number),
            kind="step",
            mission="m",
            recording="full",
            content=f'{{"n":{number}}}',
            hash=b"",
        )
        events.append(hashed(event, previous))
        previous = events[-1].hash
    return events


def end_of(events: list[Event]) -> HeadRow:
    """Return the head that belongs to these events."""
    last = events[-1].hash if events else genesis_hash(CHAIN)
    return HeadRow(count=len(events), hash=last)


def test_an_intact_chain_has_no_break() -> None:
    for count in (0, 1, 4):
        events = intact(count)
        assert first_break(events, correlation_id=CHAIN, head=end_of(events)) is None


def test_the_formula_is_as_written_down() -> None:
    """Exports are verified by others; this formula may never change under the name v1."""
    genesis = hashlib.sha256(b"liyagent/event/v1" + str(CHAIN).encode()).digest()
    assert genesis_hash(CHAIN) == genesis
    text = "\x1f".join(
        [
            "liyagent/event/v1",
            str(CHAIN),
            "1",
            str(RUN),
            "1774747800123458",
            "step",
            "m",
            "full",
            '{"n":1}',
        ]
    )
    assert intact(1)[0].hash == hashlib.sha256(genesis + text.encode()).digest()


@pytest.mark.parametrize(
    "change",
    [
        {"run_id": OTHER},
        {"at": AT},
        {"kind": "tool.call"},
        {"mission": "n"},
        {"recording": "metadata"},
        {"content": '{"n": 2}'},
        {"hash": b"\x00" * 32},
    ],
)
@pytest.mark.promise("EV-02")
def test_a_change_of_any_column_is_found(change: dict[str, Any]) -> None:
    events = intact()
    events[1] = replace(events[1], **change)
    found = first_break(events, correlation_id=CHAIN)
    assert found == Break(number=2, reason=BreakReason.CHANGED)


@pytest.mark.promise("EV-02")
def test_an_edit_that_was_hashed_anew_is_found_at_the_next_event() -> None:
    events = intact()
    events[1] = hashed(replace(events[1], content="{}"), events[0].hash)
    found = first_break(events, correlation_id=CHAIN)
    assert found == Break(number=3, reason=BreakReason.CHANGED)


@pytest.mark.promise("EV-02")
def test_dropped_doubled_and_reordered_events_are_found() -> None:
    one, two, three, four = intact()
    for events, number in (
        ([two, three, four], 1),
        ([one, three, four], 2),
        ([one, one, two], 2),
        ([one, three, two, four], 2),
    ):
        found = first_break(events, correlation_id=CHAIN)
        assert found == Break(number=number, reason=BreakReason.OUT_OF_ORDER)


@pytest.mark.promise("EV-02")
def test_a_dropped_event_behind_renumbered_ones_is_found() -> None:
    one, _, three, _ = intact()
    found = first_break([one, replace(three, number=2)], correlation_id=CHAIN)
    assert found == Break(number=2, reason=BreakReason.CHANGED)


@pytest.mark.promise("EV-02")
def test_events_cut_off_at_the_end_are_found_with_the_head() -> None:
    events = intact()
    for left in range(4):
        found = first_break(events[:left], correlation_id=CHAIN, head=end_of(events))
        assert found == Break(number=left + 1, reason=BreakReason.CUT_OFF)


def test_a_head_with_another_hash_is_a_break() -> None:
    events = intact()
    head = HeadRow(count=4, hash=events[2].hash)
    found = first_break(events, correlation_id=CHAIN, head=head)
    assert found == Break(number=5, reason=BreakReason.CUT_OFF)


@pytest.mark.promise("EV-02")
def test_a_chain_of_another_run_does_not_verify_as_this_one() -> None:
    foreign = intact(correlation_id=OTHER)
    found = first_break(foreign, correlation_id=CHAIN)
    assert found == Break(number=1, reason=BreakReason.OTHER_CHAIN)
    passed_off = [replace(event, correlation_id=CHAIN) for event in foreign]
    found = first_break(passed_off, correlation_id=CHAIN)
    assert found == Break(number=1, reason=BreakReason.CHANGED)


def test_the_zone_in_which_a_time_is_read_does_not_matter() -> None:
    zone = timezone(timedelta(hours=5, minutes=45))
    events = [replace(event, at=event.at.astimezone(zone)) for event in intact()]
    assert first_break(events, correlation_id=CHAIN) is None


def test_a_driver_may_give_hashes_as_memoryviews() -> None:
    events = intact()
    views = [replace(event, hash=memoryview(event.hash)) for event in events]  # type: ignore[arg-type]
    assert first_break(views, correlation_id=CHAIN, head=end_of(events)) is None
