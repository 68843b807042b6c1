"""Several sources are one timeline: nothing left out, nothing told twice, whatever their times."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from liyagent.core.errors import BadInput
from liyagent.core.paging import write_cursor
from missions import timeline
from missions.timeline import Entry, Line, Source, page_of, register, sources_named

SINCE = datetime(2026, 1, 1, tzinfo=UTC)


def source(name: str, seconds: Sequence[int], *, stride: int = 0) -> Source:
    """A source that tells entries at these seconds in this order; with a `stride` it looks no further than so many at once."""
    told = [
        Entry(
            at=SINCE + timedelta(seconds=at), place=str(number), kind="k", told=f"{name} {number}"
        )
        for number, at in enumerate(seconds, start=1)
    ]

    def entries(_mission: str, before: str, limit: int) -> list[Entry]:
        first = int(before or 0)
        if not stride or limit <= stride:
            return told[first : first + limit]
        found = told[first : first + stride]
        if found and first + stride < len(told):
            last = found[-1]
            found[-1] = Entry(at=last.at, place=last.place, kind="k", told=last.told, leads_on=True)
        return found

    return Source(name=name, needs="p", entries=entries)


def paged(sources: Sequence[Source], *, limit: int) -> list[Line]:
    lines: list[Line] = []
    cursor = ""
    for _ in range(1_000):
        page = page_of("m", sources, limit=limit, cursor=cursor)
        assert len(page.lines) <= limit
        lines += page.lines
        cursor = page.next_cursor
        if not cursor:
            return lines
    raise AssertionError("it leads on without an end")


TIMES = st.lists(st.integers(0, 9), max_size=12)


@settings(deadline=None)
@given(st.lists(TIMES, min_size=1, max_size=4), st.integers(1, 7), st.integers(0, 3))
def test_pages_tell_each_entry_of_each_source_once_and_in_its_order(
    times: list[list[int]], limit: int, stride: int
) -> None:
    sources = [
        source(f"s{number}", it, stride=stride if number == 0 else 0)
        for number, it in enumerate(times)
    ]
    lines = paged(sources, limit=limit)
    for number, it in enumerate(times):
        told = [line.entry.place for line in lines if line.source == f"s{number}"]
        assert told == [str(place) for place in range(1, len(it) + 1)]


@settings(deadline=None)
@given(st.lists(TIMES, min_size=1, max_size=4), st.integers(1, 7))
def test_sources_whose_times_fall_are_told_in_the_order_of_time(
    times: list[list[int]], limit: int
) -> None:
    sources = [source(f"s{it}", sorted(at, reverse=True)) for it, at in enumerate(times)]
    told = [it.entry.at for it in paged(sources, limit=limit)]
    assert told == sorted(told, reverse=True)


def test_a_cursor_is_of_the_sources_that_it_was_made_for() -> None:
    one, two = source("one", [3, 2, 1]), source("two", [3])
    cursor = page_of("m", [one, two], limit=1).next_cursor
    assert page_of("m", [two, one], limit=9, cursor=cursor).lines
    for cursor_, asked in [
        (cursor, [one]),
        (cursor, [one, source("three", [1])]),
        (write_cursor(["one=1", "one=2"]), [one, two]),
        (write_cursor(["one=" + "1" * 101]), [one]),
        ("x", [one]),
    ]:
        with pytest.raises(BadInput, match="cursor wants"):
            page_of("m", asked, limit=1, cursor=cursor_)


def test_a_name_is_taken_once_and_chosen_by_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timeline, "SOURCES", {})
    one, two = source("one", []), source("two", [])
    register(one)
    register(one)
    register(two)
    with pytest.raises(ValueError, match="called one"):
        register(source("one", []))
    assert sources_named("") == [one, two]
    assert sources_named("two,one") == [one, two]
    with pytest.raises(BadInput, match="it wants of one, two"):
        sources_named("one,none")
