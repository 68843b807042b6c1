"""Whatever enters becomes storable, once, and no hostile value brings the process down."""

import dataclasses
import enum
import json
import time
from datetime import UTC, date, datetime, timedelta
from datetime import time as clock_time
from decimal import Decimal
from fractions import Fraction
from ipaddress import ip_address
from pathlib import PurePosixPath
from types import MappingProxyType
from typing import Any
from uuid import UUID

import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st

from liyagent.core.canonical import canonical
from liyagent.core.plain import (
    NotJson,
    NotPlain,
    NotStorable,
    TooDeep,
    TooLarge,
    clean_text,
    json_bytes,
    parse_json,
    to_plain,
)


class Level(enum.IntEnum):
    HIGH = 3


class Colour(enum.StrEnum):
    RED = "red"


@dataclasses.dataclass(frozen=True, slots=True)
class Point:
    x: int
    tags: set[str]


class Block(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="allow")
    mime_type: str = pydantic.Field(alias="mimeType")
    data: bytes


def nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.field("FL-32")
def test_a_nul_becomes_the_replacement_character_in_values_and_names() -> None:
    assert to_plain({"lo\x00g": "boot\x00ok"}) == {"lo\ufffdg": "boot\ufffdok"}
    assert parse_json('{"log":"boot\\u0000ok"}') == {"log": "boot\ufffdok"}


@pytest.mark.field("FL-32")
def test_the_literal_text_backslash_u_0000_stays_what_it_is() -> None:
    assert parse_json('{"log":"boot\\\\u0000ok"}') == {"log": "boot\\u0000ok"}


@pytest.mark.field("FL-33")
def test_half_a_surrogate_pair_becomes_the_replacement_character() -> None:
    assert parse_json('{"a\\ud83d":"x\\ud83dy\\ude00"}') == {"a\ufffd": "x\ufffdy\ufffd"}
    assert parse_json(b'"cut \xf0\x9f\x98"') == "cut \ufffd"
    assert clean_text("\ud83d") == "\ufffd"


@pytest.mark.field("FL-33")
def test_both_halves_of_a_pair_become_the_character_they_mean() -> None:
    assert parse_json('"\\ud83d\\ude00"') == "\U0001f600"
    assert clean_text("a\ud83d\ude00\x00\ue000") == "a\U0001f600\ufffd\ue000"


@pytest.mark.field("FL-34")
def test_numbers_that_are_none_become_their_names() -> None:
    expected = {"load": "NaN", "max": "Infinity", "min": "-Infinity"}
    assert parse_json('{"load":NaN,"max":Infinity,"min":-1e999}') == expected
    values = {"load": float("nan"), "max": float("inf"), "min": float("-inf")}
    assert to_plain(values) == expected


@pytest.mark.field("FL-42")
@pytest.mark.parametrize(
    ("value", "plain"),
    [
        (datetime(2026, 3, 29, 1, 30, tzinfo=UTC), "2026-03-29T01:30:00+00:00"),
        (date(2026, 3, 29), "2026-03-29"),
        (clock_time(1, 30), "01:30:00"),
        (timedelta(days=1, seconds=2), "P1DT00H00M02S"),
        (Decimal("10.10"), "10.10"),
        (UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        (b"\x00\xff", "AP8="),
        (bytearray(b"a"), "YQ=="),
        (memoryview(b"abcd")[::2], "YWM="),
        ({3, 1, 2}, [1, 2, 3]),
        (frozenset({"b", "a", "\x00"}), ["a", "b", "\ufffd"]),
        ((1, "a"), [1, "a"]),
        (Level.HIGH, 3),
        (Colour.RED, "red"),
        (Fraction(1, 3), "1/3"),
        (PurePosixPath("/etc/hosts"), "/etc/hosts"),
        (ip_address("::1"), "::1"),
        (range(0, 10, 2), "range(0, 10, 2)"),
        (MappingProxyType({"a": 1}), {"a": 1}),
        (Point(1, {"b", "a"}), {"x": 1, "tags": ["a", "b"]}),
        (Block.model_validate({"mimeType": "image/png", "data": b"a", "kind": "image"}), {"mimeType": "image/png", "data": "YQ==", "kind": "image"}),
        ({1: "c", None: "b", 1.5: "d", Colour.RED: "e"}, {"1": "c", "null": "b", "1.5": "d", "red": "e"}),
        ({UUID(int=0): 1}, {"00000000-0000-0000-0000-000000000000": 1}),
    ],
)  # fmt: skip
def test_everyday_types_have_a_defined_form(value: Any, plain: Any) -> None:
    assert to_plain(value) == plain


@pytest.mark.field("FL-42")
def test_a_type_without_a_form_is_refused_by_its_name() -> None:
    with pytest.raises(NotPlain, match=r"builtins\.object has no plain"):
        to_plain({"a": object()})
    with pytest.raises(NotPlain, match=r"builtins\.tuple cannot be the name"):
        to_plain({(1, 2): 1})
    with pytest.raises(NotPlain, match="type"):
        to_plain(Point)


def test_integers_keep_every_digit_up_to_4300_of_them() -> None:
    assert parse_json("12345678901234567890123") == 12345678901234567890123
    longest = "-" + "9" * 4300
    assert json_bytes(parse_json(longest)) == longest.encode()
    for too_long in ("9" * 4301, "-" + "9" * 100_000):
        with pytest.raises(TooLarge, match="4300 digits"):
            parse_json(too_long)
    with pytest.raises(TooLarge, match="4300 digits"):
        to_plain([10**4300])


def test_of_a_repeated_name_the_last_counts() -> None:
    assert parse_json('{"a":1,"a":2}') == {"a": 2}


@pytest.mark.parametrize(
    "text",
    ["[" * 100_000, '{"a":' * 100_000, "[" * 101 + "]" * 101],
    ids=["lists", "objects", "one too many"],
)
def test_a_depth_bomb_in_text_is_an_ordinary_error(text: str) -> None:
    with pytest.raises(TooDeep, match="deeper than 100"):
        parse_json(text)


def test_a_depth_bomb_in_objects_is_an_ordinary_error() -> None:
    assert to_plain(nested(100)) == nested(100)
    with pytest.raises(TooDeep):
        to_plain(nested(101))
    with pytest.raises(TooDeep):
        to_plain(nested(100_000))
    circle: list[Any] = []
    circle.append(circle)
    with pytest.raises(TooDeep):
        to_plain(circle)


def test_the_limit_counts_the_bytes_of_the_compact_json() -> None:
    value = {"é": ["ü", 8, None, 1.5, True], "b": {}}
    size = len(json_bytes(value))
    assert to_plain(value, limit_bytes=size) == value
    with pytest.raises(TooLarge, match=f"larger than {size - 1} bytes"):
        to_plain(value, limit_bytes=size - 1)


def test_a_value_that_shares_its_parts_stops_at_the_limit_at_once() -> None:
    bomb: Any = "x" * 100
    for _ in range(60):
        bomb = [bomb, bomb]
    begun = time.monotonic()
    with pytest.raises(TooLarge):
        to_plain(bomb, limit_bytes=1 << 20)
    assert time.monotonic() - begun < 5


@pytest.mark.parametrize(
    "text", ["", "{", "nul", '{"a":1}x', b"\xff", "{'a':1}", '"\n"', "\ufeff{}"]
)
def test_text_that_is_no_json_is_an_ordinary_error(text: str | bytes) -> None:
    with pytest.raises(NotJson, match="not JSON"):
        parse_json(text)


@given(st.text(alphabet='[]{}":,0123456789.eE-+\\udnrtfalsN I\x00\ud83d') | st.binary())
def test_no_text_raises_anything_but_not_storable(text: str | bytes) -> None:
    try:
        canonical(parse_json(text))
    except NotStorable:
        return


keys = st.text() | st.integers() | st.none() | st.booleans() | st.floats() | st.uuids()
anything = st.recursive(
    keys | st.binary() | st.decimals() | st.datetimes() | st.sets(st.integers() | st.text()),
    lambda inner: st.lists(inner) | st.dictionaries(keys, inner) | st.tuples(inner, inner),
    max_leaves=30,
)


@given(anything)
def test_plain_is_storable_and_stays_what_it_is(value: Any) -> None:
    plain = to_plain(value)
    stored = json_bytes(plain)
    assert json.loads(stored) == plain
    assert b"\\u0000" not in stored.replace(b"\\\\", b"")
    assert to_plain(plain) == plain
    assert parse_json(stored, limit_bytes=len(stored)) == plain
    assert canonical(plain)
