"""Two texts beside each other, word by word: what only one of them says is marked. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import groupby

# A word and the space behind it, so that nothing of the text is lost.
WORD = re.compile(r"\s*\S+\s*|\s+")
# Of more words between the first and the last difference, all are marked: the time to compare grows faster than their number.
MOST_COMPARED = 3_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """A piece of a text; `is_other`: the other text does not say it."""

    text: str
    is_other: bool


def marked(was: str, now: str) -> tuple[list[Piece], list[Piece]]:
    """Return both texts in pieces, which put together are the texts. Spaces alone make no difference."""
    one, other = WORD.findall(was), WORD.findall(now)
    said, heard = [it.strip() for it in one], [it.strip() for it in other]
    begin = _shared(said, heard)
    end = _shared(said[begin:][::-1], heard[begin:][::-1])
    spans = (slice(begin, len(said) - end), slice(begin, len(heard) - end))
    mine, theirs = _others(said[spans[0]], heard[spans[1]])
    return (
        _pieces(one, {begin + it for it in mine}),
        _pieces(other, {begin + it for it in theirs}),
    )


def _shared(one: Sequence[str], other: Sequence[str]) -> int:
    """How many words both begin with."""
    length = 0
    for first, second in zip(one, other, strict=False):
        if first != second:
            break
        length += 1
    return length


def _others(one: Sequence[str], other: Sequence[str]) -> tuple[set[int], set[int]]:
    """The places of words that the other side has not at that place."""
    mine, theirs = set(range(len(one))), set(range(len(other)))
    if max(len(one), len(other)) <= MOST_COMPARED:
        for block in SequenceMatcher(None, one, other).get_matching_blocks():
            mine -= set(range(block.a, block.a + block.size))
            theirs -= set(range(block.b, block.b + block.size))
    return mine, theirs


def _pieces(words: Sequence[str], others: set[int]) -> list[Piece]:
    return [
        Piece(text="".join(words[it] for it in places), is_other=is_other)
        for is_other, places in groupby(range(len(words)), key=others.__contains__)
    ]
