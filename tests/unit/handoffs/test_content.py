"""What is hashed of a hand-off, and which bodies can be one."""

from __future__ import annotations

import hashlib
import json
import math
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from handoffs.content import (
    MOST_BYTES,
    MOST_DEPTH,
    MOST_DIGITS,
    Content,
    body_text,
    first_problem,
    parse,
)
from liyagent.core.canonical import canonical

NAMED = {"sender": "agent:a", "recipient": "ann", "kind": "note"}
PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=12,
)  # fmt: skip


@pytest.mark.promise("HO-01")
def test_a_digest_is_the_plain_sha256_of_canonical_json() -> None:
    """Anybody can make it with tools of their own; this text was made with none of ours."""
    text = '{"body":{"a":[1,"\\u00e9"],"b":null},"from":"agent:a","kind":"note","to":"ann"}'
    text = text.replace("\\u00e9", "é")
    content = Content(**NAMED, body=body_text({"b": None, "a": [1, "é"]}))
    assert content.text() == text
    assert content.digest() == hashlib.sha256(text.encode()).hexdigest()


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(PLAIN, st.text(st.characters(codec="utf-8")), st.text(st.characters(codec="utf-8")))
def test_the_content_that_is_put_together_is_the_canonical_form(
    body: Any, sender: str, recipient: str
) -> None:
    if first_problem(body) is not None:
        return
    whole = canonical({"body": body, "from": sender, "kind": "note", "to": recipient}).decode()
    named = {"sender": sender, "recipient": recipient, "kind": "note"}
    assert Content(**named, body=body_text(body)).text() == whole


def nested(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


def test_what_can_be_handed_over_has_no_problem() -> None:
    fine: list[Any] = ["", "words", 0, -5.5, True, {"a": [{}, []]}, "\x00", nested(MOST_DEPTH)]
    for body in fine:
        assert first_problem(body) is None
    assert first_problem("x" * (MOST_BYTES - 2)) is None


@pytest.mark.parametrize(
    ("body", "path", "why"),
    [
        ({"a": [0, {"b": math.nan}]}, "body.a.1.b", "NaN"),
        ({"a": -math.inf}, "body.a", "Infinity"),
        ([1, "\ud800"], "body.1", "surrogates"),
        ({"\udfff": 1}, "body", "surrogates"),
        (nested(MOST_DEPTH + 1), "body" + ".0" * MOST_DEPTH, "deeper than 100"),
        (nested(100_000), "body" + ".0" * MOST_DEPTH, "deeper than 100"),
        ("x" * (MOST_BYTES - 1), "body", "1048577 bytes"),
        ({"a": {1: 2}}, "body.a", "texts"),
        ({"a": b"x"}, "body.a", "bytes"),
    ],
)
def test_the_first_problem_is_told_with_its_path(body: Any, path: str, why: str) -> None:
    found = first_problem(body)
    assert found is not None
    assert (found.path, why in found.why) == (path, True)


@pytest.mark.parametrize(
    ("text", "path", "why"),
    [
        ('{"a": {"b": 1, "c": 2, "b": 3}}', "body.a.b", "twice"),
        ('[NaN]', "body.0", "NaN"),
        ('{"a": 1e999}', "body.a", "too large"),
        ('{"a": ' + "9" * (MOST_DIGITS + 1) + "}", "body.a", "too large"),
        ('["\\ud83d"]', "body.0", "surrogates"),
    ],
)  # fmt: skip
def test_what_no_value_shows_is_found_in_the_text(text: str, path: str, why: str) -> None:
    found = first_problem(parse(text))
    assert found is not None
    assert (found.path, why in found.why) == (path, True)


def test_text_that_is_not_json_is_none() -> None:
    for text in ("", "{", "{'a': 1}", '{"a": }', "[1,]"):
        with pytest.raises(ValueError):  # noqa: PT011 - of several kinds, all of them this
            parse(text)
    assert parse(json.dumps({"a": [1, 2.5, "x"]})) == {"a": [1, 2.5, "x"]}
