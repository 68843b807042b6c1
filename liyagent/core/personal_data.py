"""Personal data in a text: mail addresses, phone numbers, IBANs and card numbers. Pure, in time linear to the text.

Each kind is recognised by its shape and, where it has one, its check digits (IBAN: ISO 7064 mod 97; card: Luhn and a
known issuer), so that ids, times and amounts are let alone. What is written to be hidden (spelt out, one digit a
line) is not recognised: this guards against accidents.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass

# In the order in which one of two that overlap wins.
KINDS = ("email", "iban", "card", "phone")

LOCAL_PART = re.compile(r"[\w.!#$%&'*+/=?^`{|}~-]{1,64}\Z")
DOMAIN = re.compile(r"@(?:[\w-]{1,63}\.){1,8}[^\W\d_]{2,24}(?![\w-])")
IBAN_START = re.compile(r"(?<![A-Za-z0-9])[A-Za-z]{2}[0-9]{2}(?=[ \u00a0]?[A-Za-z0-9])")
DIGIT_GROUPS = re.compile(r"(?<![\w.+])[0-9]{3,19}(?:[ \u00a0-][0-9]{3,19})*(?![\w])")
PHONES = (
    # +49 (0)30 123456-78, 0049 30 1234567
    re.compile(
        r"(?<![\w.+])(?:\+|(?<![0-9][ \u00a0])00)[1-9](?:[ \u00a0().\-/]{0,3}[0-9]){6,14}(?!\w)"
    ),
    # 030 1234567, (030) 123 45 67, 0171/1234567
    re.compile(
        r"(?<![\w.+-])(?<![0-9][ \u00a0])(?:\(0[1-9][0-9]{1,4}\)|0[1-9][0-9]{1,4})[ \u00a0/-]{1,2}[0-9]{3,8}(?:[ \u00a0-][0-9]{2,6}){0,3}(?!\w)"
    ),
    # 01 23 45 67 89
    re.compile(r"(?<![\w.+-])0[1-9](?:[ \u00a0.-][0-9]{2}){4}(?![\w-])"),
    # (212) 555-0123, 212-555-0123
    re.compile(
        r"(?<![\w.+-])(?:\([2-9][0-9]{2}\) ?|[2-9][0-9]{2}[ .-])[2-9][0-9]{2}[ .-][0-9]{4}(?![\w-])"
    ),
)
LEAST_PHONE = 7
LEAST_CARD, MOST_CARD = 13, 19
ISSUER = re.compile(
    r"4|5[1-5]|222[1-9]|22[3-9]|2[3-6]|27[01]|2720|3[47]|30[0-5]|3[68]|35|60|6[245]|50|5[6-9]|67"
)
# Characters of an IBAN by country (ISO 13616).
IBAN_LENGTHS = {
    country: int(length)
    for length, countries in {
        "15": "NO",
        "16": "BE",
        "18": "DK FI FO GL NL SD FK",
        "19": "MK SI",
        "20": "AT BA EE KZ LT LU XK MN",
        "21": "CH HR LI LV",
        "22": "BG BH CR DE GB GE IE ME RS VA",
        "23": "AE GI IL IQ TL OM SO",
        "24": "AD CZ ES MD PK RO SA SE SK TN VG",
        "25": "LY PT ST",
        "26": "IS TR",
        "27": "BI DJ FR GR IT MC MR SM",
        "28": "AL AZ BY CY DO GT HU LB NI PL SV",
        "29": "BR EG PS QA UA",
        "30": "JO KW MU YE",
        "31": "MT SC",
        "32": "LC",
        "33": "RU",
    }.items()
    for country in countries.split()
}


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """`text[start:end]` is personal data of `kind`."""

    start: int
    end: int
    kind: str


def find(text: str, kinds: Collection[str] = KINDS) -> list[Span]:
    """Return what of `kinds` stands in `text`, in order, no two overlapping. Raises `ValueError` for an unknown kind."""
    unknown = [kind for kind in kinds if kind not in KINDS]
    if unknown:
        raise ValueError(
            f"{unknown[0]!r} is no kind of personal data; there are {', '.join(KINDS)}"
        )
    found: list[Span] = []
    for kind in KINDS:
        if kind in kinds:
            found = _merged(found, [Span(*place, kind) for place in FINDERS[kind](text)])
    return found


def mask(text: str, kinds: Collection[str] = KINDS) -> str:
    """Return `text` with each of `kinds` replaced by its kind in brackets, such as `[email]`. Raises `ValueError`."""
    pieces: list[str] = []
    at = 0
    for span in find(text, kinds):
        pieces += (text[at : span.start], f"[{span.kind}]")
        at = span.end
    return "".join((*pieces, text[at:]))


Places = Iterator[tuple[int, int]]


def _merged(kept: list[Span], more: list[Span]) -> list[Span]:
    """What was kept stays; of the rest, what overlaps nothing before it."""
    merged: list[Span] = []
    is_kept = set(kept)
    for span in sorted((*kept, *more)):
        while (
            merged and span.start < merged[-1].end and span in is_kept and merged[-1] not in is_kept
        ):
            merged.pop()
        if not merged or span.start >= merged[-1].end:
            merged.append(span)
    return merged


def _emails(text: str) -> Places:
    for domain in DOMAIN.finditer(text):
        before = text[max(domain.start() - 64, 0) : domain.start()]
        if local := LOCAL_PART.search(before):
            name = local.group().lstrip(".'`{|/=!#$%&*?^")
            if name:
                yield domain.start() - len(name), domain.end()


def _ibans(text: str) -> Places:
    for begun in IBAN_START.finditer(text):
        length = IBAN_LENGTHS.get(begun.group()[:2].upper())
        end = _after(text, begun.start(), length) if length else None
        if end is not None and _fits_mod_97(text[begun.start() : end]):
            yield begun.start(), end


def _after(text: str, start: int, length: int) -> int | None:
    """Where `length` letters and digits end, at most one space between two of them; None where there are fewer."""
    at, counted = start, 0
    while counted < length:
        if at < len(text) and text[at] in " \u00a0" and at > start:
            at += 1
        if at >= len(text) or not (text[at].isascii() and text[at].isalnum()):
            return None
        at, counted = at + 1, counted + 1
    is_whole = at >= len(text) or not (text[at].isascii() and text[at].isalnum())
    return at if is_whole else None


def _fits_mod_97(iban: str) -> bool:
    compact = iban.replace(" ", "").replace("\u00a0", "").upper()
    return int("".join(str(int(it, 36)) for it in compact[4:] + compact[:4])) % 97 == 1


def _cards(text: str) -> Places:
    for run in DIGIT_GROUPS.finditer(text):
        groups = [
            (run.start() + it.start(), run.start() + it.end())
            for it in re.finditer("[0-9]+", run.group())
        ]
        first = 0
        while first < len(groups):
            last = _last_group(text, groups, first)
            if last is not None:
                yield groups[first][0], groups[last][1]
            first = first + 1 if last is None else last + 1


def _last_group(text: str, groups: list[tuple[int, int]], first: int) -> int | None:
    """The group with which a card number that begins with the group `first` ends, the longest one."""
    digits, found = "", None
    for number in range(first, len(groups)):
        start, end = groups[number]
        digits += text[start:end]
        if len(digits) > MOST_CARD:
            break
        if len(digits) >= LEAST_CARD and ISSUER.match(digits) and _fits_luhn(digits):
            found = number
    return found


def _fits_luhn(digits: str) -> bool:
    total = 0
    for place, digit in enumerate(reversed(digits)):
        value = int(digit) * (1 + place % 2)
        total += value - 9 if value > 9 else value
    return total % 10 == 0


def _phones(text: str) -> Places:
    for shape in PHONES:
        for found in shape.finditer(text):
            if sum(map(str.isdigit, found.group())) >= LEAST_PHONE:
                yield found.span()


FINDERS: dict[str, Callable[[str], Places]] = {
    "email": _emails,
    "iban": _ibans,
    "card": _cards,
    "phone": _phones,
}
