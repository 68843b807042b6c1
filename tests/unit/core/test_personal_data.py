"""Personal data is found by shape and check digits, masked by kind, in time linear to the text."""

from __future__ import annotations

import time
from itertools import pairwise

import pytest

from liyagent.core.personal_data import KINDS, find, mask


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("write to Ada.Lovelace+ops@mail.example.co.uk.", "write to [email]."),
        ("jürgen@exämple.de, a@b.io", "[email], [email]"),
        ("call +49 (0)30 1234567 today", "call [phone] today"),
        ("0049 171 1234567", "[phone]"),
        ("+4915112345678", "[phone]"),
        ("030 1234567 or (0171) 123 45 67", "[phone] or [phone]"),
        ("01 23 45 67 89", "[phone]"),
        ("(212) 555-0123, 212-555-0123", "[phone], [phone]"),
        ("IBAN DE89 3704 0044 0532 0130 00 please", "IBAN [iban] please"),
        ("gb29nwbk60161331926819", "[iban]"),
        ("NO9386011117947,FR1420041010050500013M02606", "[iban],[iban]"),
        ("card 4111 1111 1111 1111.", "card [card]."),
        ("3782-822463-10005", "[card]"),
        ("order 123 4111 1111 1111 1111", "order 123 [card]"),
        ("5555555555554444", "[card]"),
    ],
)
def test_personal_data_is_masked_by_kind(text: str, masked: str) -> None:
    assert mask(text) == masked


@pytest.mark.parametrize(
    "text",
    [
        "2026-11-29T19:55:15.123456+00:00",
        "on 29.11.2026 at 10.0.0.12:8080, 192.168.178.201",
        "run 019390aa-1234-7abc-8def-0123456789ab",
        "INC0012345 took 1234567 bytes",
        "card 4111 1111 1111 1112",
        "DE89 3704 0044 0532 0130 01",
        "ZZ89370400440532013000",
        "digest 4111111111111111deadbeef",
        "1764446115123456 microseconds",
        "user@localhost and @mention and a@b",
        "99.95 % of 1000 calls in 0.25 s",
    ],
)
def test_ids_times_addresses_and_amounts_are_let_alone(text: str) -> None:
    assert find(text) == []


def test_only_the_kinds_asked_for_are_found() -> None:
    text = "a@b.io 4111 1111 1111 1111 +49 30 1234567"
    assert [it.kind for it in find(text)] == ["email", "card", "phone"]
    assert mask(text, ["card"]) == "a@b.io [card] +49 30 1234567"
    assert find(text, []) == []
    with pytest.raises(ValueError, match="'passport' is no kind of personal data; there are email"):
        find(text, ["passport"])


def test_spans_say_where_and_do_not_overlap() -> None:
    text = "+4111 1111 1111 1111 x@y.de"
    spans = find(text)
    assert all(one.end <= two.start for one, two in pairwise(spans))
    assert text[spans[-1].start : spans[-1].end] == "x@y.de"


@pytest.mark.parametrize(
    "piece", ["a", "@", "a@", "1", "411 ", "+1", "DE89 ", "0 1-", "a.", "(0", "4 "]
)
def test_a_long_text_takes_no_longer_than_its_length(piece: str) -> None:
    text = piece * (200_000 // len(piece)) + "!"
    began = time.thread_time()
    find(text, KINDS)
    assert time.thread_time() - began < 2.5
