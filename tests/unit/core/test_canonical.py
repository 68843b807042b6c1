"""The canonical form equals the library's wherever the library has an answer."""

import enum
import json
from typing import Any

import pytest
import rfc8785
from hypothesis import example, given, settings
from hypothesis import strategies as st

from liyagent.core.canonical import NotCanonical, canonical, digest

text = st.text(st.characters(exclude_categories=["Cs"]))
scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(2**53) + 1, 2**53 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | text
)
values = st.recursive(
    scalars, lambda inner: st.lists(inner) | st.dictionaries(text, inner), max_leaves=30
)


class Colour(enum.StrEnum):
    RED = "red"


@settings(max_examples=400)
@given(values)
@example({"\U0001f600": 1, "\ufb01": 2, "\ue000": 3})
@example([1.0, -0.0, 1e-07, 1e16, 1e21, 5e-324, "\x7f\x00\x1f\u2028</"])
@example({"a": Colour.RED, "b": (1, 2), "c": [], "d": {}})
@pytest.mark.promise("ruling 24")
def test_the_form_is_the_librarys(value: Any) -> None:
    assert canonical(value) == rfc8785.dumps(value)


@given(
    st.recursive(
        st.none() | text | st.integers(-(2**53) + 1, 2**53 - 1),
        lambda inner: st.lists(inner) | st.dictionaries(text, inner),
    )
)
def test_the_fast_path_is_byte_identical(value: Any) -> None:
    assert canonical(value) == rfc8785.dumps(value)


@settings(max_examples=1000)
@given(
    st.floats(allow_nan=False, allow_infinity=False)
    | st.floats(-1e18, 1e18)
    | st.floats(-1e-3, 1e-3)
)
@example(9007199254740993.0)
@example(1e15)
@example(123456789012345680.0)
@example(0.0001)
@example(-0.0)
def test_a_float_is_written_as_the_library_writes_it(number: float) -> None:
    assert canonical(number) == rfc8785.dumps(number)


@given(st.integers())
@example(2**53)
@example(-(2**53))
@example(2**64)
@example(10**4299)
def test_integers_keep_every_digit(number: int) -> None:
    assert canonical({"id": number, "beside": 1.5}) == b'{"beside":1.5,"id":%d}' % number
    assert canonical([number]) == b"[%d]" % number


@pytest.mark.parametrize(
    "value",
    [
        float("nan"),
        float("inf"),
        "\ud83d",
        {"\ud83d": 1},
        {1: 2},
        b"bytes",
        object(),
        {"a": {1, 2}},
        pytest.param(10**5000, id="too many digits"),
        [[1.5, "\udc00"]],
    ],
)
def test_what_has_no_form_is_refused(value: Any) -> None:
    with pytest.raises(NotCanonical, match="no canonical form"):
        canonical(value)


def test_a_value_nested_too_deeply_is_refused_and_a_stored_one_is_not() -> None:
    deep: Any = 1
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(NotCanonical, match="deeper"):
        canonical(deep)
    stored: Any = 1
    for _ in range(100):
        stored = {"a": [stored]}
    assert canonical(stored) == json.dumps(stored, separators=(",", ":")).encode()


def test_the_digest_depends_on_content_and_not_on_the_order_of_keys() -> None:
    assert digest(["a", {"x": 1, "y": 2}]) == digest(["a", {"y": 2, "x": 1}])
    assert digest(["ab", "c"]) != digest(["a", "bc"])
    assert digest([]) == "4f53cda18c2baa0c0354bb5f9a3ecbe5ed12ab4d8e11ba873c2f11161202b945"
