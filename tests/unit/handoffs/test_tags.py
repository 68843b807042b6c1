"""Tags show who wrote a version: nobody without a key makes one, and none fits anything but what it was made for."""

from __future__ import annotations

import dataclasses
from typing import Any
from uuid import UUID

import pytest

from events.tags import record_key
from handoffs.tags import Stated, is_of, tag_of

KEY, OTHER = record_key(b"k" * 32), record_key(b"o" * 32)
STATED = Stated(
    thread=UUID(int=1),
    number=2,
    digest="d" * 64,
    author="agent:a",
    run_id=UUID(int=3),
    correlation_id=UUID(int=4),
    mission="INC-1",
)


@pytest.mark.promise("HO-01")
def test_a_tag_fits_what_it_was_made_for_by_any_key_of_the_ring() -> None:
    tag = tag_of(STATED, KEY)
    assert is_of(tag, STATED, [KEY]) is True
    assert is_of(memoryview(tag), STATED, [OTHER, KEY]) is True
    assert is_of(tag, STATED, [OTHER]) is None


@pytest.mark.promise("HO-01")
@pytest.mark.parametrize(
    "change",
    [
        {"thread": UUID(int=9)},
        {"number": 3},
        {"digest": "e" * 64},
        {"author": "agent:b"},
        {"run_id": None},
        {"correlation_id": UUID(int=3)},
        {"mission": "INC-2"},
        {"author": "agent:a\x1f", "mission": ""},
    ],
)
def test_a_tag_fits_nothing_else(change: dict[str, Any]) -> None:
    assert is_of(tag_of(STATED, KEY), dataclasses.replace(STATED, **change), [KEY]) is False


def test_what_is_no_tag_fits_nothing() -> None:
    tag = tag_of(STATED, KEY)
    for wrong in (b"", tag[:-1], tag + b"x", tag[:4] + b"x" * 16):
        assert is_of(wrong, STATED, [KEY]) is False
