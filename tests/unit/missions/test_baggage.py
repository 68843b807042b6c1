"""The mission in a baggage header."""

from __future__ import annotations

from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from missions.baggage import mission_in_baggage
from missions.names import clean_mission
from tests.unit.missions.hostile import HOSTILE_TEXTS, NO_TEXTS


@pytest.mark.promise("MI-01")
@pytest.mark.field("FL-99")
@pytest.mark.parametrize(
    ("header", "mission"),
    [
        ("liyagent.mission=INC-77", "INC-77"),
        ("a=%zz, liyagent.mission=INC%2D77;ttl=5 , x=1", "INC-77"),
        ("liyagent.mission \t=\t INC-77\t;a;b=c", "INC-77"),
        ("liyagent.mission=INC-1,liyagent.mission=INC-2", "INC-1"),
        ("liyagent.mission=%00,liyagent.mission=INC-2", "INC-2"),
        (",,=,;,liyagent.mission,liyagent.mission=INC-2", "INC-2"),
        ("liyagent.mission=%49%4E%43-77", "INC-77"),
        ("user=a%2Cliyagent.mission%3DEVIL", ""),
        ('x="a,liyagent.mission=INC-1"', ""),
        ("liyagent.mission=INC+77", ""),
        ("liyagent.mission=INC%2B77", ""),
        ("LIYAGENT.MISSION=INC-77", ""),
        ("Liyagent.Mission=INC-77", ""),
        ("liyagent.mission=mission%20x", ""),
        ("liyagent.mission=INC%252D77", ""),
        ("liyagent.mission=INC%2", ""),
        ("liyagent.mission=INC-77%", ""),
        ("liyagent.mission=INC-77%0D%0AX-Evil:%201", ""),
        ("liyagent.mission=a=b", ""),
        ("liyagent%2Emission=INC-77", ""),
        ("liyagent.mission.x=INC-77", ""),
        ("xliyagent.mission=INC-77", ""),
        ("liyagent.mission=%EF%BC%A9NC-1", ""),
        ("liyagent.mission=%C0%AE", ""),
        ("liyagent.mission=", ""),
        ("", ""),
    ],
)
def test_the_first_member_that_fits_names_the_mission(header: str, mission: str) -> None:
    assert mission_in_baggage(header) == mission


@pytest.mark.promise("MI-01")
@pytest.mark.field("FL-99")
def test_a_header_beyond_the_limits_of_the_specification_is_not_read() -> None:
    member = "liyagent.mission=INC-77"
    filled = f"{member},x="
    most = filled + "y" * (8192 - len(filled))
    assert mission_in_baggage(most) == "INC-77"
    assert mission_in_baggage(f"{most}y") == ""
    assert mission_in_baggage(",".join(["a=1"] * 63 + [member])) == "INC-77"
    assert mission_in_baggage(",".join(["a=1"] * 64 + [member])) == ""


@pytest.mark.promise("MI-01")
@pytest.mark.field("FL-98")
@pytest.mark.parametrize("value", HOSTILE_TEXTS)
def test_no_hostile_form_gets_in_as_it_is_encoded_or_encoded_twice(value: str) -> None:
    coded = quote(value, safe="", errors="replace")
    for written in (coded, quote(coded, safe="")):
        assert mission_in_baggage(f"liyagent.mission={written}") == ""


@pytest.mark.parametrize("value", NO_TEXTS)
def test_what_is_no_header_names_none(value: object) -> None:
    assert mission_in_baggage(value) == ""


@pytest.mark.promise("MI-01")
@pytest.mark.field("FL-99")
@given(st.text(), st.text(alphabet="liyagent.mission=INC-77,;%20 \t\r\n+", max_size=60))
def test_no_header_is_too_odd_and_nothing_unfit_comes_out(prefix: str, members: str) -> None:
    found = mission_in_baggage(f"{prefix},{members}")
    assert found == "" or clean_mission(found) == found
