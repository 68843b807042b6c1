"""Where each step of a definition stands in its picture, and how lines lead from one to the next. Pure geometry.

Steps stand below one another in the order of the definition. A line straight down leads to the next one; those that lead
further down run at the right, those that lead back at the left, and all that lead to one step share a lane. The branches
of a parallel step stand side by side within it. What a line says is also written in the box that it leaves: where lines
are long or many, words lead. All is in pixels; the width is bounded (three branches side by side, two within those,
eight lanes at each side).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from liyagent.workflows.boxes import Exit, Row, exits_of, rows_of
from liyagent.workflows.steps import END

BOX_WIDTH = 330
# Of a box in one of three branches side by side, so that all are seen at once.
NARROW = 252
ROW = 17
TOP = 27
PAD = 10
GAP = 20
LANE = 11
MOST_LANES = 8
PILL_WIDTH, PILL_HEIGHT = 104, 22
# How many branches stand side by side in a parallel step, by how deep it lies.
SIDE_BY_SIDE = (3, 2, 1)
# From so many side by side on they are narrow.
MOST_WIDE = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Box:
    """A step. `key` is its id, that of one within a branch `parallel/branch/id`; `rows` what stands in it, each so far below its top."""

    key: str
    id: str
    type: str
    x: float
    y: float
    width: float
    height: float
    rows: tuple[tuple[float, Row], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A line with an arrow at its last point, if it has one. `kind`: `next`, `error` or `back`."""

    points: tuple[tuple[float, float], ...]
    kind: str
    has_head: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Sign:
    """Where a sequence begins or ends, or the name of a branch."""

    text: str
    x: float
    y: float
    width: float
    kind: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawn:
    """What is drawn, from its upper left corner on."""

    width: float
    height: float
    boxes: tuple[Box, ...] = ()
    lines: tuple[Line, ...] = ()
    signs: tuple[Sign, ...] = ()

    def moved(self, x: float, y: float) -> Drawn:
        """Return it with its corner at `x`, `y`."""
        return replace(
            self,
            boxes=tuple(replace(it, x=it.x + x, y=it.y + y) for it in self.boxes),
            lines=tuple(
                replace(it, points=tuple((a + x, b + y) for a, b in it.points)) for it in self.lines
            ),
            signs=tuple(replace(it, x=it.x + x, y=it.y + y) for it in self.signs),
        )


def draw(definition: Mapping[str, Any]) -> Drawn:
    """Return the picture of a checked definition."""
    return _sequence(definition["steps"], "", 0, BOX_WIDTH)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sized:
    """A step's box before it has a place; `inner` lies in it, from its corner on."""

    step: Mapping[str, Any]
    key: str
    width: float
    height: float
    rows: tuple[Row, ...]
    inner: Drawn | None


@dataclass(slots=True)
class _Lane:
    """Lines to one step that run in one lane: `first` and `last` are the places of the steps that it passes."""

    first: int
    last: int
    number: int = 0


def _sequence(steps: Sequence[Mapping[str, Any]], prefix: str, deep: int, width: float) -> Drawn:
    sized = [_sized(step, prefix, deep, width) for step in steps]
    places = {step["id"]: number for number, step in enumerate(steps)} | {END: len(steps)}
    exits = [exits_of(step, _following(steps, n)) for n, step in enumerate(steps)]
    lanes = _lanes(exits, places)
    left = _count(lanes, back=True) * LANE
    right = _count(lanes, back=False) * LANE
    column = max(it.width for it in sized)
    middle = left + PAD + column / 2
    boxes: list[Box] = []
    inner: list[Drawn] = []
    y: float = PILL_HEIGHT + GAP
    for it in sized:
        box, within = _placed(it, middle, y)
        boxes.append(box)
        inner += within
        y += it.height + GAP
    end = Sign(text="end" if not prefix else "branch ends", x=middle - PILL_WIDTH / 2, y=y, width=PILL_WIDTH, kind="end")  # fmt: skip
    begin = replace(end, text="start" if not prefix else prefix.split("/")[-2], y=0, kind="start")
    if prefix:
        begin = replace(begin, x=middle - column / 2, width=column, kind="branch")
    lines = _lines(boxes, exits, places, lanes, end=end, begin=begin)
    return Drawn(
        width=left + PAD + column + PAD + right,
        height=y + PILL_HEIGHT,
        boxes=(*boxes, *(box for it in inner for box in it.boxes)),
        lines=(*lines, *(line for it in inner for line in it.lines)),
        signs=(begin, end, *(sign for it in inner for sign in it.signs)),
    )


def _following(steps: Sequence[Mapping[str, Any]], number: int) -> str:
    return str(steps[number + 1]["id"]) if number + 1 < len(steps) else END


def _sized(step: Mapping[str, Any], prefix: str, deep: int, width: float) -> _Sized:
    rows = tuple(rows_of(step))
    key = f"{prefix}{step['id']}"
    height = TOP + ROW * len(rows) + PAD * 0.7
    if step["type"] != "parallel":
        return _Sized(step=step, key=key, width=width, height=height, rows=rows, inner=None)
    branches = step["branches"]
    columns = min(len(branches), SIDE_BY_SIDE[min(deep, len(SIDE_BY_SIDE) - 1)])
    within = width if columns < MOST_WIDE else NARROW
    drawn = [_sequence(it, f"{key}/{name}/", deep + 1, within) for name, it in branches.items()]
    inner = _beside(drawn, columns).moved(PAD, height)
    return _Sized(
        step=step,
        key=key,
        width=max(width, inner.width + 2 * PAD),
        height=height + inner.height + PAD,
        rows=rows,
        inner=inner,
    )


def _beside(branches: Sequence[Drawn], columns: int) -> Drawn:
    """Put branches side by side, so many in a row, in rows below one another."""
    placed: list[Drawn] = []
    width = y = 0.0
    for first in range(0, len(branches), columns):
        row, x = branches[first : first + columns], 0.0
        for branch in row:
            placed.append(branch.moved(x, y))
            x += branch.width + PAD
        width = max(width, x - PAD)
        y += max(it.height for it in row) + GAP
    return Drawn(
        width=width,
        height=y - GAP,
        boxes=tuple(box for it in placed for box in it.boxes),
        lines=tuple(line for it in placed for line in it.lines),
        signs=tuple(sign for it in placed for sign in it.signs),
    )


def _placed(it: _Sized, middle: float, y: float) -> tuple[Box, list[Drawn]]:
    x = middle - it.width / 2
    box = Box(
        key=it.key,
        id=it.step["id"],
        type=it.step["type"],
        x=x,
        y=y,
        width=it.width,
        height=it.height,
        rows=tuple((TOP + ROW * (n + 0.5), row) for n, row in enumerate(it.rows)),
    )
    return box, [it.inner.moved(x, y)] if it.inner is not None else []


Lanes = dict[tuple[str, str], _Lane]


def _lanes(exits: Sequence[Sequence[Exit]], places: Mapping[str, int]) -> Lanes:
    """Give all that leads to one step, in one manner, a lane of its own among those that it runs beside."""
    lanes: Lanes = {}
    for source, leads in enumerate(exits):
        for it in leads:
            target = places[it.to]
            if it.is_straight:
                continue
            lane = lanes.setdefault((it.to, _kind(it, source, target)), _Lane(target, target))
            lane.first, lane.last = min(lane.first, source, target), max(lane.last, source, target)
    taken: dict[tuple[bool, int], list[_Lane]] = {}
    for (_, kind), lane in sorted(lanes.items(), key=lambda it: (it[1].last - it[1].first, it[0])):
        is_back = kind == "back"
        while lane.number < MOST_LANES - 1 and any(
            _beside_another(lane, other) for other in taken.get((is_back, lane.number), ())
        ):
            lane.number += 1
        taken.setdefault((is_back, lane.number), []).append(lane)
    return lanes


def _beside_another(lane: _Lane, other: _Lane) -> bool:
    return lane.first <= other.last and other.first <= lane.last


def _count(lanes: Lanes, *, back: bool) -> int:
    return max((it.number + 1 for (_, kind), it in lanes.items() if (kind == "back") is back), default=0)  # fmt: skip


def _kind(it: Exit, source: int, target: int) -> str:
    """A loop back to a step, or to itself, runs at the left, whatever leads there."""
    if target <= source:
        return "back"
    return "error" if it.is_error else "next"


def _lines(
    boxes: Sequence[Box],
    exits: Sequence[Sequence[Exit]],
    places: Mapping[str, int],
    lanes: Lanes,
    *,
    end: Sign,
    begin: Sign,
) -> list[Line]:
    middle = end.x + end.width / 2
    column = max(it.width for it in boxes)
    lines = [Line(points=((middle, begin.y + PILL_HEIGHT), (middle, boxes[0].y)), kind="next")]
    joining: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for source, (box, leads) in enumerate(zip(boxes, exits, strict=True)):
        below = boxes[source + 1].y if source + 1 < len(boxes) else end.y
        if any(it.is_straight for it in leads):
            lines.append(Line(points=((middle, box.y + box.height), (middle, below)), kind="next"))
        for it in leads:
            if it.is_straight:
                continue
            kind = _kind(it, source, places[it.to])
            side = -1 if kind == "back" else 1
            leaves = box.y + (box.rows[it.row][0] if it.row >= 0 else box.height - PAD / 2)
            joining.setdefault((it.to, kind), []).append((middle + side * box.width / 2, leaves))
    for (to, kind), starts in joining.items():
        side = -1 if kind == "back" else 1
        lane = middle + side * (column / 2 + PAD + LANE * (lanes[to, kind].number + 0.5))
        into = end if places[to] == len(boxes) else boxes[places[to]]
        at = into.y + (PILL_HEIGHT / 2 if into is end else TOP / 2) + (5 if kind == "error" else 0)
        lines += _joined(starts, lane, (middle + side * into.width / 2, at), kind)
    return lines


def _joined(
    starts: Sequence[tuple[float, float]], lane: float, into: tuple[float, float], kind: str
) -> Iterator[Line]:
    """One line from the farthest start by the lane, which the others join: drawn once, dashes stay dashes."""
    farthest = max(starts, key=lambda it: abs(it[1] - into[1]))
    x, y = farthest
    yield Line(points=((x, y), (lane, y), (lane, into[1]), into), kind=kind)
    for x, y in starts:
        if (x, y) != farthest:
            yield Line(points=((x, y), (lane, y)), kind=kind, has_head=False)
