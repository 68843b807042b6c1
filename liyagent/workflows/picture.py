"""A workflow's steps as a picture: inline SVG, with what came of each step in colour and in words."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe

from liyagent.core.tables import cell
from liyagent.workflows.layout import PAD, PILL_HEIGHT, Box, Line, Sign, draw

LETTER = 7.3
MARK_WIDTH = 92
MARGIN = 8
STRIPE = 5

# How each state is told, whether or not colours are seen. Any other is shown by its own word.
STATES: Mapping[str, str] = {
    "done": "✓ done",
    "failed": "✗ failed",
    "current": "▶ current",
    "skipped": "↷ skipped",
    "waiting": "◷ waiting",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """An SVG that fits into a page; it is `width` by `height` pixels, and has a box of each of `keys`."""

    svg: SafeString
    width: int
    height: int
    keys: tuple[str, ...]


def picture_of(definition: Mapping[str, Any], marks: Mapping[str, str] | None = None) -> Picture:
    """Return the picture of a checked definition.

    `marks`: what came of a step, by its key: its id, that of one within a branch `parallel/branch/id`. States are those of
    `STATES`; steps without a mark bear none. Each box leads to `#` + `anchor(key)`, and is found by `#` + `box_id(key)`.
    Its classes are those of `console.css`; it needs no script.
    """
    states = marks or {}
    drawn = draw(definition).moved(MARGIN, MARGIN)
    width, height = round(drawn.width + 2 * MARGIN), round(drawn.height + 2 * MARGIN)
    # What lies within a parallel step is drawn after it.
    parts = [
        *(_box(it, states.get(it.key, ""), is_marked=bool(states)) for it in drawn.boxes),
        *(_line(it) for it in drawn.lines),
        *(_sign(it) for it in drawn.signs),
    ]
    svg = format_html(
        '<svg class="liy-flow" xmlns="http://www.w3.org/2000/svg" width="{}" height="{}" viewBox="0 0 {} {}"'
        ' role="group" aria-label="{}">{}</svg>',
        width,
        height,
        width,
        height,
        f"{len(drawn.boxes)} steps",
        _joined(parts),
    )
    keys = tuple(it.key for it in drawn.boxes)
    return Picture(svg=svg, width=width, height=height, keys=keys)


def anchor(key: str) -> str:
    """Return the id of the place on a page that tells of a step: its box leads there. Ids of steps have no `-`."""
    return f"step-{key.replace('/', '-')}"


def box_id(key: str) -> str:
    """Return the id of a step's box."""
    return f"box-{key.replace('/', '-')}"


def fitted(text: str, width: float) -> str:
    """Return text that takes no more pixels than `width`, cut where it is longer."""
    text = cell(text)
    room = int(width / LETTER)
    if sum(map(_columns, text)) <= room:
        return text
    kept, used = [], 1
    for letter in text:
        used += _columns(letter)
        if used > room:
            break
        kept.append(letter)
    return "".join(kept) + "…"


def _columns(letter: str) -> int:
    return 2 if unicodedata.east_asian_width(letter) in "WF" else 1


def _box(box: Box, state: str, *, is_marked: bool) -> SafeString:
    word = STATES.get(state, cell(state)) if state else ""
    told = f"{box.type} {box.id}, {cell(box.rows[0][1].text)}{f': {word}' if word else ''}"
    room = box.width - 2 * PAD - (MARK_WIDTH if is_marked else 0)
    head = format_html(
        '<a href="#{}" aria-label="{}"><title>{}</title>'
        '<rect class="liy-flow-box" x="{}" y="{}" width="{}" height="{}" rx="6"/>'
        '<rect class="liy-flow-stripe" x="{}" y="{}" width="{}" height="{}" rx="2"/>'
        '<text class="liy-flow-id" x="{}" y="{}">{}<tspan class="liy-flow-type" dx="7">{}</tspan></text>{}</a>',
        anchor(box.key),
        told,
        told,
        *map(_px, (box.x, box.y, box.width, box.height)),
        *map(_px, (box.x, box.y, STRIPE, box.height)),
        _px(box.x + PAD + 2),
        _px(box.y + 18),
        fitted(box.id, room - LETTER * (len(box.type) + 1)),
        box.type,
        _word(box, word),
    )
    rows = _joined(_row(box, box.y + y, row.text, to=row.to) for y, row in box.rows)
    known = state if state in STATES else "other" if state else "none"
    return format_html(
        '<g class="liy-flow-step liy-flow-{} liy-flow-is-{}" id="{}">{}{}</g>',
        box.type,
        known,
        box_id(box.key),
        head,
        rows,
    )


def _word(box: Box, word: str) -> SafeString:
    if not word:
        return mark_safe("")
    return format_html(
        '<rect class="liy-flow-mark" x="{}" y="{}" width="{}" height="17" rx="8"/>'
        '<text class="liy-flow-word" x="{}" y="{}">{}</text>',
        _px(box.x + box.width - MARK_WIDTH - 4),
        _px(box.y + 5),
        MARK_WIDTH,
        _px(box.x + box.width - MARK_WIDTH / 2 - 4),
        _px(box.y + 17.5),
        fitted(word, MARK_WIDTH - 6),
    )


def _row(box: Box, y: float, text: str, *, to: str) -> SafeString:
    shown = format_html(
        '<text x="{}" y="{}"><title>{}</title>{}</text>',
        _px(box.x + PAD + 2),
        _px(y + 4),
        cell(text),
        fitted(text, box.width - 2 * PAD),
    )
    if not to:
        return shown
    around = box.key.rpartition("/")
    target = "end" if to == "end" else f"{around[0]}{around[1]}{to}"
    return format_html('<a class="liy-flow-lead" href="#{}">{}</a>', box_id(target), shown)


def _line(line: Line) -> SafeString:
    path = "M" + " L".join(f"{_px(x)} {_px(y)}" for x, y in line.points)
    drawn = format_html('<path class="liy-flow-line liy-flow-{}" d="{}"/>', line.kind, path)
    if not line.has_head:
        return drawn
    (before_x, _), (x, y) = line.points[-2:]
    if before_x == x:
        head = f"M{_px(x - 4)} {_px(y - 7)} L{_px(x)} {_px(y)} L{_px(x + 4)} {_px(y - 7)} Z"
    else:
        back = -7 if before_x < x else 7
        head = f"M{_px(x + back)} {_px(y - 4)} L{_px(x)} {_px(y)} L{_px(x + back)} {_px(y + 4)} Z"
    return format_html('{}<path class="liy-flow-head liy-flow-{}" d="{}"/>', drawn, line.kind, head)


def _sign(sign: Sign) -> SafeString:
    return format_html(
        '<g class="liy-flow-sign liy-flow-{}"{}><rect x="{}" y="{}" width="{}" height="{}" rx="{}"/><text x="{}" y="{}">{}</text></g>',
        sign.kind,
        mark_safe(' id="box-end"') if sign.text == "end" else "",
        *map(_px, (sign.x, sign.y, sign.width, PILL_HEIGHT)),
        4 if sign.kind == "branch" else 11,
        _px(sign.x + sign.width / 2),
        _px(sign.y + 15),
        fitted(sign.text, sign.width - PAD),
    )


def _joined(parts: Iterable[SafeString]) -> SafeString:
    return format_html_join("", "{}", ((it,) for it in parts))


def _px(value: float) -> str:
    return f"{value:g}"
