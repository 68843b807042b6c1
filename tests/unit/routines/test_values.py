"""Values are compared by their canonical JSON, and read as a workflow's expressions read them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from liyagent.core.canonical import canonical
from liyagent.core.templates import MissingPath, as_data, lookup
from routines.values import (
    NOTHING,
    data_of,
    follow,
    is_name_of,
    same,
    says_little,
    slug_of,
    type_of,
    words_of,
)
from tests.unit.routines.drawn import ALIKE, KEYS, VALUES

EVERYTHING = st.one_of(VALUES, st.sampled_from([it for row in ALIKE for it in row]))


@pytest.mark.field("FL-91")
@settings(deadline=None, max_examples=500)
@given(EVERYTHING, EVERYTHING)
def test_two_values_are_the_same_where_their_canonical_json_is(one: Any, other: Any) -> None:
    assert same(one, other) is (canonical(one) == canonical(other))


@pytest.mark.field("FL-91")
@pytest.mark.parametrize("row", ALIKE, ids=str)
def test_what_equals_in_python_is_not_the_same_for_it(row: tuple[Any, ...]) -> None:
    for one in row:
        for other in row:
            assert same(one, other) is (canonical(one) == canonical(other))
    assert not same(1, True)
    assert not same("1", 1)
    assert same(5, 5.0)


DEEP = "[" * 101 + "]" * 101
LARGE = "1" * 4301


@pytest.mark.parametrize(
    "text",
    [
        "", "[", "{", "plain", " [1]", "{}", "[1] and more", "[NaN]", "[Infinity, -Infinity]", "[1e999]", "[-1E+400]", DEEP, DEEP[1:-1],
        f"[{LARGE}]", f"[{LARGE[1:]}]", f"[{'9' * 400}.0]", '["\\u0000"]', '["\\ud800"]', '["\\ud83d\\ude00"]', '{"a": 1, "a": 2}',
        '{"\\u0000": 1}', "[1.50, -0.0, 1e5, 1E-400]", '["\x7f\\n"]', "[1,]", "[" * 5000, '{"a\\u0000": 1, "a\\ufffd": 2}',
    ],
)  # fmt: skip
def test_a_large_text_is_read_quickly_and_as_any_text(text: str) -> None:
    assert json.dumps(data_of(text)) == json.dumps(as_data(text))


@settings(deadline=None, max_examples=300)
@given(EVERYTHING, st.booleans(), st.text(max_size=3))
def test_whatever_was_told_as_text_is_read_as_expressions_read_it(
    value: Any, is_ascii: bool, more: str
) -> None:
    for text in (json.dumps(value, ensure_ascii=is_ascii), json.dumps([value, more]) + more):
        assert json.dumps(data_of(text)) == json.dumps(as_data(text))


@settings(deadline=None, max_examples=300)
@given(EVERYTHING, st.lists(st.one_of(KEYS, st.sampled_from(("0", "1", "01", "-1"))), max_size=3))
def test_a_path_leads_where_an_expression_leads(value: Any, parts: list[str]) -> None:
    parts = [it for it in parts if it and "." not in it]
    try:
        found = lookup(".".join(("output", *parts)), {"output": value})
    except MissingPath:
        found = NOTHING
    assert follow(parts, value) is found


@pytest.mark.parametrize("value", [True, False, None, 0, 999, -5, 1.5, "", "open", "HIGH", "Critical", "eu", [], {}, [1, "open"], {"a": None}])  # fmt: skip
def test_what_may_stand_anywhere_by_chance_says_little(value: Any) -> None:
    assert says_little(value)


@pytest.mark.parametrize("value", [1000, -1000, 2**60, 1234.5, "INC-1", "payments", ["INC-1", True], {"id": 4711}, [0] * 60])  # fmt: skip
def test_what_hardly_stands_anywhere_else_says_much(value: Any) -> None:
    assert not says_little(value)


@pytest.mark.parametrize(
    ("name", "parts", "tool", "is_it"),
    [
        ("id", ("id",), "get_user", True),
        ("user_id", ("id",), "get_user", True),
        ("userId", ("user", "id"), "look", True),
        ("user_id", ("users", "0", "id"), "list", True),
        ("id", ("user_id",), "look", True),
        ("tags", ("labels", "tags", "0"), "look", True),
        ("priority", ("id",), "get_user", False),
        ("team_id", ("id",), "get_user", False),
        ("user", ("user", "id"), "get_user", False),
        ("id", (), "get_id", False),
        ("", ("id",), "look", False),
    ],
)
def test_a_name_is_recognised_by_its_words(
    name: str, parts: tuple[str, ...], tool: str, is_it: bool
) -> None:
    assert is_name_of(name, parts, tool) is is_it


def test_names_are_made_of_words_and_become_names_of_parameters() -> None:
    assert words_of("userId") == words_of("user_id") == words_of("User-ID") == ("user", "id")
    assert words_of("HTTPServer2") == ("http", "server", "2")
    assert [*map(slug_of, ("X-Api-Key", "größe", "2nd", "😀", "a.b c", "é" * 99))] == [
        "X_Api_Key", "groe", "_2nd", "", "a_b_c", "e" * 32,
    ]  # fmt: skip
    types: tuple[Any, ...] = (1, 5.0, 0.5, True, None, "", [], {})
    assert [*map(type_of, types)] == ["integer", "integer", "number", "boolean", "null", "string", "array", "object"]  # fmt: skip
