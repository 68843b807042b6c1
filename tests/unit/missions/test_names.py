"""What a mission's name may look like."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from missions.names import clean_mission
from tests.unit.missions.hostile import HOSTILE_TEXTS, NO_TEXTS

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"


@pytest.mark.promise("MI-01")
@pytest.mark.field("FL-98")
@pytest.mark.parametrize(
    "value", ["INC-1", "a", "7", "A.b_c:d-9", "x" * 128, "0123", "INC-1:step.2"]
)
def test_a_name_that_fits_is_kept_as_it_is(value: str) -> None:
    assert clean_mission(value) == value


@pytest.mark.promise("MI-01")
@pytest.mark.field("FL-98")
@pytest.mark.parametrize("value", [*HOSTILE_TEXTS, *NO_TEXTS])
def test_anything_else_is_dropped_and_never_repaired(value: object) -> None:
    assert clean_mission(value) is None


@pytest.mark.promise("MI-01")
@given(st.text(max_size=140))
def test_whatever_text_comes_only_the_letters_of_the_rule_pass(text: str) -> None:
    fits = (
        1 <= len(text) <= 128 and text[0] in LETTERS and all(it in f"{LETTERS}._:-" for it in text)
    )
    assert clean_mission(text) == (text if fits else None)
