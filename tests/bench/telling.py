"""What the runs of a filled log tell: a start, steps with a read each, and an end."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

AGENT, MISSION, FULL = "recorded", "recorded", "full"
TEXT = os.urandom(150).hex()


def steps_in(length: int) -> int:
    """Return how many steps a run of so many events has: each with a read, the last without."""
    return (length - 1) // 2


def told(length: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield kind and facts of each of its events."""
    steps = steps_in(length)
    counted = {"input_tokens": 250, "output_tokens": 0, "cost_micros": 0}
    started = {"agent": AGENT, "version": 1, "entry": "bench", "started_by": "", "holder": "", "task": TEXT}  # fmt: skip
    yield "run.started", started
    for step in range(1, steps + 1):
        calls = ["bench/look"] if step < steps else []
        yield "step", {"step": step, "finish": "calls", **counted, "calls": calls, "text": TEXT}
        if calls:
            yield "tool.call", _call(step)
    if length % 2 == 0:
        yield "run.handed_over", {"holder": ""}
    totals = {name: it * steps for name, it in counted.items()}
    ended = {"steps": steps, "calls": steps - 1, **totals, "unsettled": [], "answer": TEXT}
    yield "run.ended", {"status": "answered", "reason": "", "error": "", **ended}


def _call(step: int) -> dict[str, Any]:
    place = {"step": step, "index": 0, "server": "bench", "tool": "look", "effect": "read"}
    authority = {"fate": "done", "posture": "posture", "gate": "", "policy": "0" * 64, "key": ""}
    return {**place, **authority, "settlement": "", "ms": 1, "args": {}, "result": TEXT}
