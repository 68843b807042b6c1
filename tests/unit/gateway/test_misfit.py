"""Arguments against schemas that nobody vouches for."""

from __future__ import annotations

import json
import socket
import threading
import time
from typing import Any

import pytest

from liyagent.gateway.misfit import MOST_SECONDS, UNREADABLE, misfit

DOUBLING = {
    "$ref": "#/$defs/a0",
    "$defs": {
        **{f"a{n}": {"allOf": [{"$ref": f"#/$defs/a{n + 1}"}] * 2} for n in range(40)},
        "a40": {},
    },
}
CATASTROPHIC = "^(a+)+$"
NO_SCHEMAS: list[dict[str, Any]] = [
    {"type": "banana"},
    {"required": "abc"},
    {"properties": [1]},
    {"$schema": ["x"]},
    {"$ref": 7},
    {"$ref": "#"},
    {"$ref": "#/$defs/none"},
    {"$ref": "#anchor"},
    {"$dynamicRef": "#nope"},
    {"$ref": "#/required", "required": ["a"]},
    {"$ref": "#/minProperties", "minProperties": 1},
    {"$ref": "#/x", "x": {"minLength": "z", "enum": 5, "type": 7, "properties": 3}},
    {"$ref": "file:///etc/hostname"},
    {"$schema": "http://json-schema.org/draft-03/schema#", "properties": {"a": {"divisibleBy": 0}}},
]


@pytest.mark.parametrize("schema", NO_SCHEMAS, ids=str)
def test_a_schema_that_is_none_is_told_and_raises_nothing(schema: dict[str, Any]) -> None:
    assert misfit({"a": 1}, schema) == UNREADABLE


@pytest.mark.parametrize(
    "schema",
    [
        {"properties": {"a": {"$ref": "URL"}}},
        {"$id": "URL", "properties": {"a": {"$ref": "other"}}},
        {"$schema": "http://json-schema.org/draft-04/schema#", "$ref": "URL"},
        {"$schema": "URL"},
    ],
    ids=str,
)
def test_nothing_that_a_schema_names_is_fetched(schema: dict[str, Any]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.05)
        address = f"http://127.0.0.1:{server.getsockname()[1]}/schema"
        named = json.loads(json.dumps(schema).replace("URL", address))
        thread = threading.Thread(target=misfit, args=({"a": 1}, named), daemon=True)
        thread.start()
        with pytest.raises(TimeoutError):
            server.accept()
        thread.join(1)
        assert not thread.is_alive()


@pytest.mark.parametrize(
    ("schema", "args"),
    [
        ({"properties": {"a": {"pattern": CATASTROPHIC}}}, {"a": "a" * 40 + "!"}),
        ({"patternProperties": {CATASTROPHIC: {}}}, {"a" * 40 + "!": 1}),
        (
            {"patternProperties": {CATASTROPHIC: {}}, "additionalProperties": False},
            {"a" * 40 + "!": 1},
        ),
        (
            {"patternProperties": {CATASTROPHIC: {}}, "unevaluatedProperties": False},
            {"a" * 40 + "!": 1},
        ),
        ({"properties": {"a": {"pattern": "("}}}, {"a": "x"}),
        (
            {"properties": {"a": {"uniqueItems": True}}},
            {"a": [{"n": n} if n % 2 else n for n in range(20_000)]},
        ),
    ],
    ids=["pattern", "names", "additional", "unevaluated", "no expression", "unique"],
)
def test_what_could_run_for_ever_is_left_to_the_server(schema: Any, args: Any) -> None:
    started = time.thread_time()
    assert misfit(args, schema) == ""
    assert time.thread_time() - started < MOST_SECONDS / 2


def test_a_schema_that_doubles_at_each_reference_is_given_up() -> None:
    started = time.thread_time()
    assert "could not be checked" in misfit({"a": 1}, DOUBLING)
    assert time.thread_time() - started < 2 * MOST_SECONDS


def test_numbers_of_any_size_stand_in_schemas_and_arguments() -> None:
    assert misfit({"a": 1}, {"properties": {"a": {"maximum": 10**30}}}) == ""
    assert "greater than" in misfit({"a": 10**31}, {"properties": {"a": {"maximum": 10**30}}})
    assert misfit({"a": 10**4000}, {"properties": {"a": {"multipleOf": 0.5}}}) == UNREADABLE


def test_what_is_missing_wrong_or_not_asked_for_is_named() -> None:
    schema = {
        "type": "object",
        "required": ["a"],
        "properties": {"a": {"type": "string", "enum": ["x"]}},
        "additionalProperties": False,
    }
    assert misfit({"a": "x"}, schema) == ""
    assert "'a' is a required property" in misfit({}, schema)
    assert "a: 7" in misfit({"a": 7}, schema)
    assert "'b' was unexpected" in misfit({"a": "x", "b": 1}, schema)
