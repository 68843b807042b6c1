"""The page of a thread, put together: whether it holds, two versions beside each other, all versions, and who read which."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.safestring import SafeString

from handoffs.content import Content
from handoffs.given import DELEGATION
from handoffs.judge import KEY_MISSING
from handoffs.models import Reading, Version
from handoffs.read_thread import ThreadTold, VersionTold
from handoffs.shown import GONE, NOT_FOR_YOU, body_of
from handoffs.stored import content_under
from liyagent.core.marked import Piece, marked
from liyagent.core.moments import when
from liyagent.core.pills import BAD, GOOD, pill
from liyagent.core.tables import cell, visible
from missions.links import named_mission_link

LONGEST_BODY = 20_000
LINE_ENDS = re.compile(r"(\s*\n\s*|^\s+|\s+$)")
# So many readers are named beside a version; all stand in the table below.
MOST_NAMED = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """A version beside another: what only one of them says is marked. `missing`: why its body is not shown; `more` characters are left out."""

    told: VersionTold
    verdict: SafeString
    at: SafeString
    author: str
    names: list[tuple[str, str, bool]]
    pieces: list[Piece]
    missing: str
    more: int


def thread_context(
    told: ThreadTold, asked: Mapping[str, str], *, with_words: bool
) -> dict[str, Any]:
    """Return what the page shows. `asked` names the two versions: `version`, and `beside` it; else the newest and the one before."""
    by_number = {it.version.number: it for it in told.versions}
    numbers = sorted(by_number)
    newest = numbers[-1] if numbers else 0
    right = _asked(asked.get("version", ""), numbers, newest)
    before = max((it for it in numbers if it < right), default=0)
    left = _asked(asked.get("beside", ""), numbers, before)
    pair = [by_number[it] for it in (left, right) if it in by_number]
    return {
        "sentence": _sentence(told),
        "holds": pill("the chain holds", GOOD) if told.chain_holds else pill("does not hold", BAD),
        "problems": [cell(it) for it in told.problems],
        "lacks_key": all(it.endswith(KEY_MISSING) for it in told.problems),
        "sides": _sides(pair, with_words=with_words),
        "is_answered": is_answered(pair),
        "numbers": numbers,
        "left": left,
        "right": right,
        "rows": [_row(it, told.readings) for it in reversed(told.versions)],
        "readings": [_reading(it, by_number) for it in told.readings],
        "has_more_readings": told.has_more_readings,
        "facts": _facts(told),
    }


def is_answered(pair: Sequence[VersionTold]) -> bool:
    """Whether the second of two versions is what came back of a delegation: no change of the task, so nothing is marked."""
    kinds = {it.content.kind if it.content else "" for it in pair}
    return kinds == {DELEGATION} and [it.version.number for it in pair] == [1, 2]


def verdict_of(told: VersionTold) -> SafeString:
    """Return whether a version verifies, in words."""
    return pill("not verified", BAD) if told.flaw else pill("verified", GOOD)


def between(content: Content | None) -> str:
    """Return what kind goes from whom to whom, in words."""
    if content is None:
        return "what was handed over is gone"
    return f"{cell(content.kind)} from {cell(content.sender)} to {cell(content.recipient)}"


def _sentence(told: ThreadTold) -> str:
    if not told.versions:
        return "Nothing is left of this hand-off."
    words = between(told.versions[0].content)
    number = len(told.versions)
    return f"{words[:1].upper()}{words[1:]}, {number} version{'' if number == 1 else 's'}."


def _asked(text: str, numbers: Sequence[int], otherwise: int) -> int:
    number = int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 0
    return number if number in numbers else otherwise


def _sides(pair: Sequence[VersionTold], *, with_words: bool) -> list[Side]:
    texts = [_text(it, with_words=with_words) for it in pair]
    shown = [text[:LONGEST_BODY] for text, _ in texts]
    compares = len(pair) == 2 and not is_answered(pair)
    if compares and all(text for text, _ in texts):
        pieces = [_on_lines(it) for it in marked(*shown)]
    else:
        pieces = [[Piece(text=it, is_other=False)] if it else [] for it in shown]
    names = [_names(it.content) for it in pair]
    return [
        Side(
            told=it,
            verdict=verdict_of(it),
            at=when(it.version.at),
            author=cell(it.version.author),
            names=[
                (name, value, compares and names[0][name] != names[1][name])
                for name, value in names[at].items()
            ],
            pieces=pieces[at],
            missing=cell(texts[at][1]) if texts[at][1] else "",
            more=len(texts[at][0]) - len(shown[at]),
        )
        for at, it in enumerate(pair)
    ]


def _on_lines(pieces: Sequence[Piece]) -> list[Piece]:
    """The same text, with no line's beginning or end marked where nothing is seen."""
    return [
        Piece(text=text, is_other=piece.is_other and not text.isspace())
        for piece in pieces
        for text in (LINE_ENDS.split(piece.text) if piece.is_other else [piece.text])
        if text
    ]


def _names(content: Content | None) -> dict[str, str]:
    if content is None:
        return dict.fromkeys(("From", "To", "Kind"), "-")
    values = (content.sender, content.recipient, content.kind)
    return {name: cell(it) for name, it in zip(("From", "To", "Kind"), values, strict=True)}


def _text(told: VersionTold, *, with_words: bool) -> tuple[str, str]:
    """What a version says, laid out to be read; and why it is not there."""
    content = content_under(told.version.snapshot_id) if told.is_long else told.content
    if not with_words:
        return "", NOT_FOR_YOU
    if content is None:
        return "", GONE
    body, missing = body_of(content, is_verified=not told.flaw)
    if missing:
        return visible(content.body[: LONGEST_BODY + 1]), ""
    return visible(laid_out(body)), ""


def laid_out(body: Any) -> str:
    """Return a body as people read it: a text as it is, anything else a name or an item a line."""
    return body if isinstance(body, str) else json.dumps(body, ensure_ascii=False, indent=2)


def _row(told: VersionTold, readings: Sequence[Reading]) -> dict[str, Any]:
    version = told.version
    readers = [cell(it.reader) for it in readings if it.number == version.number]
    readers = list(dict.fromkeys(readers))
    more = len(readers) - MOST_NAMED
    return {
        "version": version,
        "verdict": verdict_of(told),
        "flaw": cell(told.flaw) if told.flaw else "",
        "between": between(told.content),
        "at": when(version.at),
        "author": cell(version.author),
        "readers": ", ".join(readers[:MOST_NAMED]) + (f" and {more} more" if more > 0 else ""),
        "digest": cell(version.snapshot_id),
    }


def _reading(reading: Reading, by_number: Mapping[int, VersionTold]) -> dict[str, Any]:
    told = by_number.get(reading.number)
    fits = told is not None and told.version.snapshot_id == reading.digest
    return {
        "number": reading.number,
        "reader": cell(reading.reader),
        "at": when(reading.at),
        "run": reading.run_id,
        "digest": cell(reading.digest),
        "fits": pill("that version", GOOD) if fits else pill("something else", BAD),
    }


def _facts(told: ThreadTold) -> list[tuple[str, object]]:
    first: Version | None = told.versions[0].version if told.versions else None
    facts: list[tuple[str, object]] = [("Thread", told.thread)]
    if first is not None:
        stands_in = first.correlation_id or first.thread
        facts += [("Mission", named_mission_link(first.mission, stands_in=stands_in))]
    return facts
