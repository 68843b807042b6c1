"""What a mission's name may look like."""

from __future__ import annotations

import pytest

from missions.names import clean_mission


@pytest.mark.promise("MI-01")
@pytest.mark.field("FL-98")
@pytest.mark.parametrize(
    "value", ["INC-1", "a", "7", "A.b_c:d-9", "x" * 128, "0123", "INC-1:step.2"]
)
def test_a_name_that_fits_is_kept_as_it_is(value: str) -> None:
    assert clean_mission(value) == value


@pytest.mark.promise("MI-01")
@pytest.mark.field("FL-98")
@pytest.mark.parametrize(
    "value",
    [
        "",
        "INC-1\n",
        "INC-1\r\nX-Evil: 1",
        " INC-1",
        "INC-1 ",
        "\uff29NC-1",
        "INC-\u0661",
        "-INC",
        ".INC",
        "x" * 129,
        "INC-1, INC-2",
        "INC/1",
        "INC\x001",
        "é",
        7,
        ["INC-1"],
        None,
        b"INC-1",
        {"id": "INC-1"},
    ],
)
def test_anything_else_is_dropped_and_never_repaired(value: object) -> None:
    assert clean_mission(value) is None
