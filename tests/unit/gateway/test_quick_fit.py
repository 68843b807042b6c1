"""What is seen to fit without the validator also fits by it; anything that says more is left to it."""

from __future__ import annotations

from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as some

from liyagent.gateway.misfit import first_misfit
from liyagent.gateway.quick_fit import MOST_DEPTH, quick_fit

NAMES = some.sampled_from(["a", "b", "required"])
VALUES = some.recursive(
    some.none()
    | some.booleans()
    | some.integers(-2, 2)
    | some.floats(-2, 2)
    | some.sampled_from(["", "x"]),
    lambda inner: some.lists(inner, max_size=2) | some.dictionaries(NAMES, inner, max_size=3),
    max_leaves=6,
)
TYPES = some.sampled_from(["string", "integer", "number", "boolean", "null", "array", "object"])
DIALECTS = [
    "http://json-schema.org/draft-03/schema#",
    "http://json-schema.org/draft-04/schema#",
    "http://json-schema.org/draft-07/schema#",
    "https://json-schema.org/draft/2020-12/schema",
]


def schemas() -> some.SearchStrategy[dict[str, Any]]:
    """Schemas of the plain kind, and some that say more."""
    words = {
        "description": some.just("what it is"),
        "enum": some.just(["x", 1]),
        "minLength": some.just(1),
    }

    def around(inner: some.SearchStrategy[dict[str, Any]]) -> some.SearchStrategy[dict[str, Any]]:
        more = {
            "properties": some.dictionaries(NAMES, inner, max_size=3),
            "required": some.lists(NAMES, max_size=2, unique=True) | some.booleans(),
            "additionalProperties": some.booleans() | inner,
            "items": inner,
            **words,
        }
        return some.fixed_dictionaries({"type": TYPES}, optional=more)

    return some.recursive(
        some.fixed_dictionaries({"type": TYPES}, optional=words), around, max_leaves=5
    )


@given(schema=schemas(), dialect=some.sampled_from(DIALECTS), value=VALUES)
def test_what_fits_at_a_glance_fits_by_the_validator(
    schema: dict[str, Any], dialect: str, value: Any
) -> None:
    schema = {"$schema": dialect, **schema}
    fits = quick_fit(schema)
    if fits is not None and fits(value):
        kind = jsonschema.validators.validator_for(schema)
        assert list(kind(schema).iter_errors(value)) == []


@pytest.mark.parametrize(
    "value",
    [
        {"target": "web-1"},
        {"target": "web-1", "number": 3, "tags": ["a"], "at": {"zone": "b"}},
        {"target": "web-1", "unknown": [1, {"two": None}]},
    ],
)
def test_a_plain_call_is_seen_to_fit(value: dict[str, Any]) -> None:
    fits = quick_fit(SCHEMA)
    assert fits is not None
    assert fits(value)


@pytest.mark.parametrize(
    ("value", "path"),
    [
        ({}, ""),
        ({"target": 7}, "target"),
        ({"target": "web-1", "number": True}, "number"),
        ({"target": "web-1", "number": 1.5}, "number"),
        ({"target": "web-1", "tags": ["a", 1]}, "tags.1"),
        ({"target": "web-1", "at": {"zone": "b", "row": 1}}, "at"),
        ([], ""),
    ],
)
def test_what_does_not_fit_is_told_by_the_validator(value: Any, path: str) -> None:
    fits = quick_fit(SCHEMA)
    assert fits is not None
    assert not fits(value)
    found = first_misfit(value, SCHEMA)
    assert found is not None
    assert found.path == path


@pytest.mark.parametrize(
    "schema",
    [
        True,
        {},
        {"type": ["string", "null"]},
        {"type": "string", "minLength": 1},
        {"type": "string", "format": "email"},
        {"type": "string", "required": True},
        {"type": "object", "properties": {"a": {"$ref": "#"}}},
        {"type": "object", "properties": {"a": True}},
        {"type": "object", "required": True},
        {"type": "object", "additionalProperties": {"type": "string"}},
        {"type": "object", "patternProperties": {"^a": {"type": "string"}}},
        {"type": "array", "items": [{"type": "string"}]},
        {"type": "array", "items": {"type": "string"}, "uniqueItems": True},
        {"type": "thing"},
    ],
)
def test_a_schema_that_says_more_is_left_to_the_validator(schema: Any) -> None:
    assert quick_fit(schema) is None


def test_a_schema_nested_too_deeply_is_left_to_the_validator() -> None:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(MOST_DEPTH + 1):
        schema = {"type": "array", "items": schema}
    assert quick_fit(schema) is None


SCHEMA = {
    "type": "object",
    "properties": {
        "target": {"type": "string", "description": "A host."},
        "number": {"type": "integer"},
        "tags": {"type": "array", "items": {"type": "string"}},
        "at": {
            "type": "object",
            "properties": {"zone": {"type": "string"}},
            "additionalProperties": False,
        },
    },
    "required": ["target"],
}
