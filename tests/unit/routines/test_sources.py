"""The runs that a routine is compiled from are read and judged once more, and are never too many to hold."""

from __future__ import annotations

import pytest

from routines import sources
from routines.pattern import pattern_of
from routines.sightings import Group
from routines.sources import sources_of
from tests.recorded_runs import AGENT, Made, Past
from tests.unit.routines.conftest import Mine, closed

PATTERN = pattern_of(AGENT, ["crm/find", "crm/close"])


def test_a_run_of_another_pattern_or_one_that_does_not_count_is_no_source(mine: Mine) -> None:
    well, other, failed, gone = mine.past(
        [
            closed(1),
            Past(calls=(Made(tool="crm/note"),)),
            Past(calls=(Made(tool="crm/find"), Made(tool="crm/close", fate="failed"))),
            Past(calls=closed(2).calls, recording="metadata"),
        ]
    )
    found = sources_of(AGENT, Group(pattern=PATTERN, count=4, runs=[well, other, failed, gone]))
    assert [it.id for it in found] == [str(well)]
    assert found[0].task == "close what Bob 1 has"
    assert [(it.name, it.args, it.output) for it in found[0].calls] == [
        ("crm/find", {"who": "Bob 1"}, {"user": {"id": "user-1001"}, "name": "Bob 1"}),
        ("crm/close", {"id": "user-1001", "queue": "desk"}, "ok"),
    ]


def test_no_more_is_held_than_so_much_and_three_however_much_they_hold(
    mine: Mine, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = mine.past(map(closed, range(12)))[::-1]
    group = Group(pattern=PATTERN, count=12, runs=runs)
    monkeypatch.setattr(sources, "AT_ONCE", 2)
    assert [it.id for it in sources_of(AGENT, group)] == [str(it) for it in runs]
    size = 12 * 1200
    monkeypatch.setattr(sources, "MOST_SIZE", size // 2)
    some = sources_of(AGENT, group)
    assert 3 < len(some) < 12
    assert [it.id for it in some] == [str(it) for it in runs[: len(some)]]
    monkeypatch.setattr(sources, "MOST_SIZE", 1)
    assert len(sources_of(AGENT, group)) == sources.LEAST
