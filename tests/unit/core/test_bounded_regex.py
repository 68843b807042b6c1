"""Expressions of operators: as Python's own where both take them, and never for long."""

from __future__ import annotations

import re
import time

import pytest

from liyagent.core.bounded_regex import BoundedRegex, TooSlow
from liyagent.core.errors import BadInput

EXPRESSIONS = (
    r"EMP-\d{6}",
    r"\bsecret\b",
    r"(?i)geheim\w*",
    r"^[a-f0-9]{4,8}$",
    r"(foo|foobar|ba[rz])+",
    r"[^\W\d_]+@",
    r"a.c",
    r"x{0,3}y",
    r"(?:ab)*c",
    r"colou?r",
    r"\Bn\B",
    r"[\s-]+z",
    r"(a|b)*abb",
    r"\u00e4+",
)
TEXTS = (
    "",
    "EMP-123456 and EMP-1234567, xEMP-000000",
    "a secret, secrets and secret_s (secret)",
    "Geheim GEHEIMNIS ungeheim",
    "deadbeef",
    "dead",
    "foobarbaz foo ba bar",
    "me@x.y and _@ and 1@",
    "abc a\nc a c",
    "xxxxy y xxy",
    "ababc c abc",
    "color colour colr",
    "banana on no nn",
    "- -z  z",
    "aababb abb",
    "ä ää Ä",
)


@pytest.mark.parametrize("expression", EXPRESSIONS)
@pytest.mark.parametrize("text", TEXTS)
def test_it_finds_what_pythons_own_finds(expression: str, text: str) -> None:
    ours = BoundedRegex(expression)
    assert ours.is_in(text) == (re.search(expression, text) is not None)
    starts = [it.start() for it in re.finditer(expression, text)]
    # The longest match, where Python's own takes the first alternative that fits.
    assert [start for start, _ in ours.spans(text)] == starts or "|" in expression


def test_of_two_matches_at_a_place_the_longest_counts() -> None:
    assert BoundedRegex("foo|foobar").spans("a foobar") == [(2, 8)]


@pytest.mark.parametrize("expression", [r"(a+)+$", r"(a|aa)+$", r"(a*)*b", r"(.*a){20}x"])
def test_no_text_takes_time_without_end(expression: str) -> None:
    started = time.thread_time()
    assert BoundedRegex(expression).is_in("a" * 20_000 + "!") is False
    assert time.thread_time() - started < 2


def test_where_matches_stand_is_given_up_in_time() -> None:
    with pytest.raises(TooSlow):
        BoundedRegex(r"\d+x").spans("1" * 1_000_000)


def test_the_end_and_a_star_are_told_apart() -> None:
    star = BoundedRegex(r"\*$")
    assert star.is_in("a*")
    assert star.spans("*a*") == [(2, 3)]


@pytest.mark.parametrize(
    ("expression", "told"),
    [
        ("(", "is no regular expression"),
        (r"(a)\1", "a reference to a group"),
        ("a(?=b)", "a look ahead or behind"),
        ("(?>a)", "an atomic group"),
        ("a++", "a possessive repeat"),
        ("(?m)^a", "only (?i)"),
        ("(?i:a)", "flags in the middle"),
        ("a*", "matches the empty text"),
        ("", "matches the empty text"),
        ("(a{100}){100}", "is too large"),
        ("a(){4000000000}", "is too large"),
        ("a((){20000}){20000}", "is too large"),
        ("a" * 501, "500 is the most"),
    ],
)
def test_what_cannot_be_bounded_is_refused_with_the_reason(expression: str, told: str) -> None:
    with pytest.raises(BadInput, match=re.escape(told)):
        BoundedRegex(expression)
