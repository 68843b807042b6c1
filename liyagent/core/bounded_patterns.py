"""Regular expressions that operators write, searched in bounded time.

A match of Python's `re` cannot be interrupted, and one that backtracks stops every thread of its process. So a pattern
is taken only where its worst case is known beforehand: every repetition has an upper bound, no match is longer than 1,000
characters, and what one start can try is counted. A text is then searched in slices that each stay below that
count, with a look at the time between two.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from re import _constants as names  # type: ignore[attr-defined]  # typeshed does not list it
from re import _parser as reader  # type: ignore[attr-defined]  # typeshed does not list it
from typing import Any

from liyagent.core.errors import LiyagentError

LONGEST_PATTERN = 1000
LONGEST_MATCH = 1000
# Steps of the matcher that no thread can come between: about a tenth of a second.
MOST_STEPS = 5_000_000
# Of this thread's processor time, so that a busy machine changes no verdict.
MOST_SECONDS = 2.0
ONE_CHARACTER = frozenset({names.LITERAL, names.NOT_LITERAL, names.ANY, names.IN})
REPEATS = frozenset({names.MAX_REPEAT, names.MIN_REPEAT, names.POSSESSIVE_REPEAT})
NO_BOUND = "an upper bound for every repetition, such as {0,100} in place of * and {1,100} of +"
REFUSED = {
    names.ASSERT: "no look-around",
    names.ASSERT_NOT: "no look-around",
    names.GROUPREF: "no reference to a group",
    names.GROUPREF_EXISTS: "no reference to a group",
}


class PatternTooSlow(LiyagentError):
    """The time for one search is used up."""

    code = "pattern.too_slow"


@dataclass(frozen=True, slots=True)
class BoundedPattern:
    """A pattern whose worst case is known. `slice_length` characters are begun at in one search."""

    compiled: re.Pattern[str]
    width: int
    slice_length: int

    def spans(self, text: str) -> Iterator[tuple[int, int]]:
        """Yield each match that is not empty, leftmost first, none overlapping. Raises `PatternTooSlow` after 2 s."""
        until = time.thread_time() + MOST_SECONDS
        at = 0
        while at <= len(text):
            if time.thread_time() > until:
                raise PatternTooSlow
            # One character more than a match can need, so that a boundary at its end is seen as it is.
            end = at + self.slice_length
            found = self.compiled.search(text, at, end + self.width + 1)
            if found is None or found.start() >= end:
                at = end
                continue
            if found.end() > found.start():
                yield found.span()
            at = max(found.end(), found.start() + 1)


@lru_cache(maxsize=1024)
def bounded_pattern(pattern: str) -> BoundedPattern:
    """Return the pattern, to be searched for. Raises `ValueError` saying what it wants."""
    if not isinstance(pattern, str) or not 1 <= len(pattern) <= LONGEST_PATTERN:
        raise ValueError(f"a regular expression of 1 to {LONGEST_PATTERN} characters")
    try:
        tree = reader.parse(pattern)
        steps = _worst(tree).steps
        compiled = re.compile(pattern)
    except (re.error, OverflowError, RecursionError, OutOfBounds) as error:
        told = (
            error
            if isinstance(error, OutOfBounds)
            else f"a regular expression that can be read: {error}"
        )
        raise ValueError(str(told)) from None
    width = int(tree.getwidth()[1])
    if width > LONGEST_MATCH:
        raise ValueError(f"a match of at most {LONGEST_MATCH} characters; it can be {width}")
    if steps > MOST_STEPS:
        raise ValueError(
            "fewer ways to match one place: smaller bounds, and no repetition within a repetition"
        )
    if compiled.fullmatch(""):
        raise ValueError("a regular expression that matches no empty text")
    return BoundedPattern(compiled, width, max(1, min(MOST_STEPS // steps, 1 << 16)))


class OutOfBounds(Exception):
    """Its worst case is not known; the text says what is wanted instead."""


@dataclass(frozen=True, slots=True)
class Worst:
    """From one place: in how many ways it can match at most, and in how many steps all of them are tried."""

    ways: int
    steps: int


def _worst(items: Iterable[tuple[Any, Any]]) -> Worst:
    """Each way to match what comes before has all that comes after tried anew."""
    ways, steps = 1, 0
    for kind, value in items:
        one = _worst_of(kind, value)
        ways, steps = _at_most(ways * one.ways), _at_most(steps + ways * one.steps)
    return Worst(ways, steps)


def _worst_of(kind: Any, value: Any) -> Worst:
    if kind in ONE_CHARACTER or kind is names.AT:
        return Worst(1, 1)
    if kind in REPEATS:
        least, most, inner = value
        if most is names.MAXREPEAT or most > LONGEST_MATCH:
            raise OutOfBounds(NO_BOUND)
        return _repeated(_worst(inner), int(least), int(most))
    if kind is names.SUBPATTERN:
        return _worst(value[3])
    if kind is names.ATOMIC_GROUP:
        return _worst(value)
    if kind is names.BRANCH:
        branches = [_worst(branch) for branch in value[1]]
        return Worst(sum(it.ways for it in branches), sum(it.steps for it in branches) + 1)
    raise OutOfBounds(REFUSED.get(kind, f"nothing like {str(kind).lower()}"))


def _repeated(one: Worst, least: int, most: int) -> Worst:
    ways, steps, of_this_many = 0, 1, 1
    for number in range(most + 1):
        ways = _at_most(ways + of_this_many * (number >= least))
        steps = _at_most(steps + of_this_many * one.steps)
        of_this_many = _at_most(of_this_many * one.ways)
    return Worst(ways, steps)


def _at_most(count: int) -> int:
    return min(count, MOST_STEPS + 1)
