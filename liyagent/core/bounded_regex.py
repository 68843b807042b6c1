"""Regular expressions that an operator writes, matched so that no text can hang the thread.

Python's own matcher goes back and forth, cannot be interrupted, and stops every thread of the process. This one walks
all ways at once: whether there is a match costs time linear to the text; where matches stand has a time limit.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

from liyagent.core.errors import BadInput, LiyagentError

# Python's own reader of expressions: it has no types, and gives the tree that is walked here.
parser: Any = import_module("re._parser")

LONGEST = 500
MOST_NODES = 3000
# Of parts that a pattern's repeats write out, those included that have no letter and so add no node.
MOST_PARTS = 10 * MOST_NODES
# Of what was worked out: about 16 MB an expression.
MOST_KEPT = 500_000
MOST_SECONDS = 1.0
STEPS_BETWEEN_LOOKS = 64
TOO_LARGE = "is too large: its repeats, written out, have too many parts"
CATEGORIES: dict[str, Callable[[str], bool]] = {
    "CATEGORY_DIGIT": str.isdecimal,
    "CATEGORY_NOT_DIGIT": lambda letter: not letter.isdecimal(),
    "CATEGORY_SPACE": str.isspace,
    "CATEGORY_NOT_SPACE": lambda letter: not letter.isspace(),
    "CATEGORY_WORD": lambda letter: letter.isalnum() or letter == "_",
    "CATEGORY_NOT_WORD": lambda letter: not (letter.isalnum() or letter == "_"),
}
REFUSED = {
    "GROUPREF": "a reference to a group",
    "GROUPREF_EXISTS": "a reference to a group",
    "ASSERT": "a look ahead or behind",
    "ASSERT_NOT": "a look ahead or behind",
    "ATOMIC_GROUP": "an atomic group",
    "POSSESSIVE_REPEAT": "a possessive repeat",
}

Fits = Callable[[str], bool]
# What a node does: a letter that must fit, an assertion about its place, or neither; then where it leads.
Node = tuple[Fits | None, str, tuple[int, ...]]


class TooSlow(LiyagentError):
    """The text could not be searched in time."""

    code = "regex.too_slow"


class State:
    """Where the walk may be: nodes, and what the letter before was. `moves` is what was already worked out."""

    __slots__ = ("before", "moves", "nodes")

    def __init__(self, nodes: frozenset[int], before: str) -> None:
        self.nodes = nodes
        self.before = before
        self.moves: dict[tuple[str, bool], tuple[bool, State]] = {}


class BoundedRegex:
    """A compiled expression; safe to share between threads."""

    def __init__(self, text: str) -> None:
        """Compile. Raises `BadInput` saying what is wrong or not taken here."""
        self.text = text
        self._ignores_case = False
        self._parts = 0
        self._nodes: list[Node] = [(None, "match", ())]
        self._first = frozenset((self._compiled(text),))
        self._states: dict[tuple[frozenset[int], str], State] = {}
        self._kept = 0
        if self.is_in(""):
            raise BadInput("matches the empty text, so it would match everywhere")

    def is_in(self, text: str, *, until: float | None = None) -> bool:
        """Whether it matches anywhere in `text`. Raises `TooSlow` a second from now, or when `until` is past.

        `until` is of this thread's processor time (`time.thread_time()`), so that a busy machine changes no answer.
        """
        until = time.thread_time() + MOST_SECONDS if until is None else until
        state = self._state(frozenset(), "")
        for place in range(len(text) + 1):
            if not place % STEPS_BETWEEN_LOOKS:
                _look(until)
            matched, state = self._step(state, text[place : place + 1], is_search=True)
            if matched:
                return True
        return False

    def spans(self, text: str, *, until: float | None = None) -> list[tuple[int, int]]:
        """Return where it matches, the longest at each place, none overlapping. Raises `TooSlow` as `is_in` does."""
        until = time.thread_time() + MOST_SECONDS if until is None else until
        found: list[tuple[int, int]] = []
        start = 0
        before = ""
        while start < len(text):
            if not start % STEPS_BETWEEN_LOOKS:
                _look(until)
            letter = text[start]
            if not self._step(self._begin(before), letter, is_search=False)[1].nodes:
                start, before = start + 1, letter
                continue
            end = self._end(text, start, until)
            if end is not None:
                found.append((start, end))
            start = start + 1 if end is None else end
            before = text[start - 1]
        return found

    def _end(self, text: str, start: int, until: float) -> int | None:
        state, end = self._begin(text[start - 1 : start]), None
        for place in range(start, len(text) + 1):
            if not place % STEPS_BETWEEN_LOOKS:
                _look(until)
            matched, state = self._step(state, text[place : place + 1], is_search=False)
            if matched and place > start:
                end = place
            if not state.nodes:
                break
        return end

    def _begin(self, before: str) -> State:
        return self._state(self._first, _kind(before))

    def _state(self, nodes: frozenset[int], before: str) -> State:
        return self._states.setdefault((nodes, before), State(nodes, before))

    def _step(self, state: State, letter: str, *, is_search: bool) -> tuple[bool, State]:
        """Whether a match ends before `letter` ("" is the end), and where the walk is after it."""
        key = (letter, is_search)
        move = state.moves.get(key)
        if move is not None:
            return move
        if self._kept >= MOST_KEPT:
            self._states, self._kept = {}, 0
        begun = state.nodes | self._first if is_search else state.nodes
        reached = self._closure(begun, state.before, _kind(letter))
        after = frozenset(
            target
            for fits, _, targets in (self._nodes[number] for number in reached)
            if fits is not None and letter and fits(letter)
            for target in targets
        )
        self._kept += 1 + len(after)
        move = state.moves[key] = (0 in reached, self._state(after, _kind(letter)))
        return move

    def _closure(self, nodes: frozenset[int], before: str, after: str) -> set[int]:
        """Every node reached without a letter, between a letter of kind `before` and one of kind `after`."""
        reached: set[int] = set()
        waiting = list(nodes)
        while waiting:
            number = waiting.pop()
            if number in reached:
                continue
            reached.add(number)
            fits, place, targets = self._nodes[number]
            if fits is None and (not place or HOLDS.get(place, _never)(before, after)):
                waiting += targets
        return reached

    def _compiled(self, text: str) -> int:
        if len(text) > LONGEST:
            raise BadInput(f"has {len(text)} characters; {LONGEST} is the most")
        try:
            parsed = parser.parse(text)
        except (re.error, RecursionError, OverflowError) as error:
            raise BadInput(f"is no regular expression: {error}") from error
        flags = parsed.state.flags & ~re.UNICODE
        if flags & ~re.IGNORECASE:
            raise BadInput("of the flags only (?i) is taken here")
        self._ignores_case = bool(flags & re.IGNORECASE)
        try:
            return self._sequence(parsed, 0)
        except RecursionError as error:
            raise BadInput("is nested too deeply") from error

    def _add(self, fits: Fits | None, place: str, *targets: int) -> int:
        if len(self._nodes) >= MOST_NODES:
            raise BadInput(TOO_LARGE)
        self._nodes.append((fits, place, targets))
        return len(self._nodes) - 1

    def _sequence(self, items: Any, target: int) -> int:
        self._parts += 1
        if self._parts > MOST_PARTS:
            raise BadInput(TOO_LARGE)
        for operator, operand in reversed(list(items)):
            target = self._one(str(operator), operand, target)
        return target

    def _one(self, operator: str, operand: Any, target: int) -> int:
        """Add what one part of the parsed expression asks for, leading on to `target`; return where it begins."""
        if operator in REFUSED:
            raise BadInput(f"has {REFUSED[operator]}, which is not taken here")
        if operator == "BRANCH":
            return self._add(None, "", *(self._sequence(branch, target) for branch in operand[1]))
        if operator == "SUBPATTERN":
            _, added, removed, inner = operand
            if added or removed:
                raise BadInput("has flags in the middle; only (?i) at the beginning is taken here")
            return self._sequence(inner, target)
        if operator in {"MAX_REPEAT", "MIN_REPEAT"}:
            least, most, inner = operand
            return self._repeat(least, most, inner, target)
        if operator == "AT":
            return self._add(None, str(operand), target)
        return self._add(self._letter(operator, operand), "", target)

    def _repeat(self, least: int, most: Any, inner: Any, target: int) -> int:
        if most == parser.MAXREPEAT:
            loop = self._add(None, "", target)
            self._nodes[loop] = (None, "", (self._sequence(inner, loop), target))
            target = loop
        else:
            end = target
            for _ in range(int(most) - int(least)):
                target = self._add(None, "", self._sequence(inner, target), end)
        for _ in range(int(least)):
            target = self._sequence(inner, target)
        return target

    def _letter(self, operator: str, operand: Any) -> Fits:
        fits = _fits(operator, operand)
        if not self._ignores_case:
            return fits
        return lambda letter: fits(letter) or fits(letter.lower()) or fits(letter.upper())


def _fits(operator: str, operand: Any) -> Fits:
    if operator == "ANY":
        return lambda letter: letter != "\n"
    if operator == "LITERAL":
        return chr(operand).__eq__
    if operator == "NOT_LITERAL":
        return chr(operand).__ne__
    if operator == "RANGE":
        return lambda letter: len(letter) == 1 and operand[0] <= ord(letter) <= operand[1]
    if operator == "CATEGORY":
        return CATEGORIES[str(operand)]
    if operator == "IN":
        choices = list(_choices(operand))
        if str(operand[0][0]) == "NEGATE":
            return lambda letter: not any(fits(letter) for fits in choices)
        return lambda letter: any(fits(letter) for fits in choices)
    raise BadInput(f"has {operator.lower()}, which is not taken here")


def _choices(operand: Any) -> Iterator[Fits]:
    for operator, inner in operand:
        if str(operator) != "NEGATE":
            yield _fits(str(operator), inner)


def _is_word(letter: str) -> bool:
    return letter.isalnum() or letter == "_"


def _kind(letter: str) -> str:
    return "" if not letter else "word" if _is_word(letter) else "other"


def _is_edge(before: str, after: str) -> bool:
    return (before == "word") != (after == "word")


def _never(_before: str, _after: str) -> bool:
    return False


# `$` is the very end: a last line feed is a letter like any other.
HOLDS: dict[str, Callable[[str, str], bool]] = {
    "AT_BEGINNING": lambda before, _: not before,
    "AT_BEGINNING_STRING": lambda before, _: not before,
    "AT_END": lambda _, after: not after,
    "AT_END_STRING": lambda _, after: not after,
    "AT_BOUNDARY": _is_edge,
    "AT_NON_BOUNDARY": lambda before, after: not _is_edge(before, after),
}


def _look(until: float) -> None:
    if time.thread_time() > until:
        raise TooSlow
