"""Where a message names its mission, and what counts first."""

from __future__ import annotations

import pytest

from missions.carry import META_KEY, mission_named
from tests.unit.missions.hostile import HOSTILE_TEXTS, NO_TEXTS

BAGGAGE = "liyagent.mission=BAG"
META = {META_KEY: "META"}


@pytest.mark.promise("MI-01")
@pytest.mark.field("FL-99")
def test_the_header_goes_before_the_baggage_and_both_before_the_message() -> None:
    assert mission_named("HEAD", BAGGAGE, META) == "HEAD"
    assert mission_named(None, BAGGAGE, META) == "BAG"
    assert mission_named(None, None, META, {META_KEY: "LATER"}) == "META"
    assert mission_named(None, None, {}, {META_KEY: "LATER"}) == "LATER"
    assert mission_named(None, None) == ""


@pytest.mark.promise("MI-01")
@pytest.mark.field("FL-98")
@pytest.mark.parametrize("value", [*HOSTILE_TEXTS, *NO_TEXTS])
def test_what_does_not_fit_is_as_if_it_were_not_there(value: object) -> None:
    assert mission_named(value, value, {META_KEY: value}) == ""
    assert mission_named(value, BAGGAGE) == "BAG"
    assert mission_named(value, None, value, {META_KEY: value}, META) == "META"


@pytest.mark.promise("MI-01")
@pytest.mark.field("FL-98")
def test_a_header_that_came_twice_counts_as_none() -> None:
    assert mission_named("INC-1,INC-1", None) == ""
    assert mission_named("INC-1, INC-2", BAGGAGE) == "BAG"
