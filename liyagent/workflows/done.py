"""What the steps of a run did so far, in words that an agent can be told: `run.done`. Bounded, whatever tools answered. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

DONE = "run.done"
# In all, within what an agent may be given as a task; each step has its share of it, which is not less than the least.
MOST_CHARACTERS = 30_000
LONGEST_ARGS, LONGEST_ANSWER, LEAST = 1_500, 4_000, 80
MOST_STEPS = 100
LINE_BREAK = "\\n"
NOTHING = "No step has been made."
CUT = "… (cut)"
ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))


class Made(NamedTuple):
    """A step that came to its end: its call, in words, what it was given, and what came of it. The texts are cut."""

    step: str
    what: str
    args: str
    came: str
    answer: str


def made_of(step: str, body: Mapping[str, Any], *, type_: str, came: str, answer: Any) -> Made:
    """Return a step of a type as it is told, `body` as it was filled in: empty where it could not be."""
    what, given = type_, None
    if type_ == "tool":
        what, given = f"{body['server']}/{body['tool']}", body.get("args")
    elif type_ == "agent":
        what, given = f"agent {body['agent']}", body.get("task")
    return Made(step, what, _cut(given, LONGEST_ARGS), came, _cut(answer, LONGEST_ANSWER))


def done_told(made: Sequence[Made]) -> str:
    """Return what came of each step, in order; of very many the first and the last are told. 40,000 characters at most."""
    if not made:
        return NOTHING
    half = MOST_STEPS // 2
    told = made if len(made) <= MOST_STEPS else [*made[:half], *made[-half:]]
    share = MOST_CHARACTERS // len(told)
    lines = [_line(it, share) for it in told]
    if len(told) < len(made):
        lines.insert(half, f"({len(made) - len(told)} more steps are not told here.)")
    return "\n".join(lines)


def _line(it: Made, share: int) -> str:
    given = f" with {_cut(it.args, share // 3)}" if it.args else ""
    came = "" if it.came == "done" else f" {it.came}:"
    return f"- {it.step}, {it.what}{given}:{came} {_cut(it.answer, share // 2)}"


def _cut(value: Any, most: int) -> str:
    """A value as text of one line, so that no answer passes for a step: as far as it is told, a large one is not written out to be cut."""
    if value is None:
        return ""
    most = max(most, LEAST)
    text = value[: most + 1] if isinstance(value, str) else _written(value, most)
    text = LINE_BREAK.join(text.splitlines())
    return text if len(text) <= most else f"{text[: most - len(CUT)]}{CUT}"


def _written(value: Any, most: int) -> str:
    pieces: list[str] = []
    length = 0
    for piece in ENCODER.iterencode(value):
        pieces.append(piece)
        length += len(piece)
        if length > most:
            break
    return "".join(pieces)
