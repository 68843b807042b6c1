"""An operator's expression is taken only where its worst case is known, and searched in bounded time."""

from __future__ import annotations

import re
import time

import pytest

from liyagent.core.bounded_patterns import PatternTooSlow, bounded_pattern


def spans(pattern: str, text: str) -> list[tuple[int, int]]:
    return list(bounded_pattern(pattern).spans(text))


@pytest.mark.parametrize(
    ("pattern", "wants"),
    [
        ("(a+)+$", "an upper bound for every repetition"),
        ("(a{1,20}){1,20}$", "fewer ways"),
        ("(a|aa){1,200}", "fewer ways"),
        ("(?:a?){200}a{200}", "fewer ways"),
        ("a*b", "an upper bound"),
        (r"\d{3,}", "an upper bound"),
        (".{0,100}.{0,100}.{0,100}.{0,100}x", "fewer ways"),
        ("(?:ab){600}", "at most 1000 characters; it can be 1200"),
        (r"(a)\1", "no reference to a group"),
        ("(?=a)b", "no look-around"),
        ("(?<!a)b", "no look-around"),
        ("(", "can be read"),
        ("a{99999999999999999999}", "can be read"),
        ("(" * 999 + "a", "can be read"),
        ("a?", "no empty text"),
        ("", "1 to 1000 characters"),
        ("a" * 1001, "1 to 1000 characters"),
    ],
)
def test_a_pattern_whose_worst_case_is_not_bounded_is_refused_with_what_it_wants(
    pattern: str, wants: str
) -> None:
    with pytest.raises(ValueError, match=re.escape(wants)):
        bounded_pattern(pattern)


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("AKIA[0-9A-Z]{16}", "key AKIAABCDEFGHIJKLMNOP and AKIAABCDEFGHIJKLMNO1."),
        (r"(?i)password\s{0,20}[:=]\s{0,20}\S{1,100}", "PassWord :  hunter2 x"),
        (r"\bsecret\b", "secret secrets asecret secret"),
        (r"^-----BEGIN [A-Z ]{1,30}KEY-----$", "-----BEGIN RSA PRIVATE KEY-----"),
        ("(?:foo|ba[rz])", "foo bar baz"),
        (r"(?:\d{4}[ -]?){4}", "1234-5678 90123456"),
    ],
)
def test_what_is_found_is_what_an_unbounded_search_finds(pattern: str, text: str) -> None:
    assert spans(pattern, text) == [it.span() for it in re.finditer(pattern, text)]


def test_a_match_that_lies_across_two_slices_is_found_once_and_whole() -> None:
    bounded = bounded_pattern(r"\bx{1,1000}\b")
    length = bounded.slice_length
    assert 40 < length < 100_000
    for before in range(length - 40, length + 5, 3):
        text = " " * before + "x" * 30 + " xx"
        assert spans(r"\bx{1,1000}\b", text) == [(before, before + 30), (before + 31, before + 33)]


@pytest.mark.parametrize(
    "pattern",
    [
        "a{1,500}b",
        r"\s{0,300}[^\s]{1,3}$",
        ".{0,60}.{0,60}x{2}",
        "(?i)(?:aa|aaa){1,10}b",
    ],
)
def test_no_text_holds_a_thread_longer_than_its_time(pattern: str) -> None:
    text = (" " if "s" in pattern else "a") * 200_000
    began = time.thread_time()
    try:
        spans(pattern, text)
    except PatternTooSlow:
        assert time.thread_time() - began >= 2.0
    assert time.thread_time() - began < 2.6
