"""`make trials CUTS=1`: strike the process that carries a run at every one of its protocol messages.

CUTS=1 makes every cut; CUTS=sample one moment of each message, which moment by the seed; FULL=1 fewer cuts, but with the
lease of 8 s and the sweep of 3 s. `--kind NAME` (more than once) cuts runs of that kind alone, `--number K` that message
alone, `--without GUARD` does it in a copy of the tree that lacks a guard, and must fail. LIYAGENT_TRIALS_SEED repeats a
sample. Exit code 0 if the promise held, else 1. Raw lines and logs are kept under `.liyagent/trials`.
"""

from __future__ import annotations

import argparse
import json
import os
import secrets
import signal
import sys
import time
from collections.abc import Iterator
from types import FrameType
from typing import TextIO

from liyagent.core.errors import LiyagentError
from liyagent.demo.vendors.process import ROOT
from tests.trials.cuts.course import Cut, Fault
from tests.trials.cuts.ground import FAST, REAL, Ground, ground
from tests.trials.cuts.guards import GUARDS, without
from tests.trials.cuts.kinds import KINDS, RunKind
from tests.trials.cuts.plan import Size, changes, planned
from tests.trials.cuts.report import HELD, as_json, line_of, table
from tests.trials.cuts.trial import Played, play
from tests.trials.cuts.visiting import play_visit

SEED = "LIYAGENT_TRIALS_SEED"
# A machine that is busy can make a course differ once: the cut is then made again.
MOST_TRIES = 3


def main(arguments: list[str]) -> int:
    """Make the cuts and return the exit code; an error of ours is one line."""
    options = _options(arguments)
    signal.signal(signal.SIGTERM, _stop)
    try:
        if options.without:
            return without(options.without, say=_say)
        return _cut_all(options, size=_size())
    except LiyagentError as error:
        _say(f"{error.code}: {error}")
    except KeyboardInterrupt:
        _say("stopped")
    return 1


def _cut_all(options: argparse.Namespace, *, size: Size) -> int:
    seed = int(os.environ.get(SEED) or secrets.randbelow(1_000_000))
    # With our number: two that are begun within one second are two.
    called = time.strftime("cuts-%Y%m%d-%H%M%S", time.gmtime())
    place = ROOT / ".liyagent" / "trials" / f"{called}-{os.getpid()}"
    kinds = [it for it in KINDS if not options.kind or it.name in options.kind]
    clocks = REAL if size is Size.REAL else FAST
    _say(
        f"{size}: lease {clocks['lease']:g} s, sweep {clocks['sweep']:g} s, seed {seed} ({SEED}={seed} repeats it)"
    )
    _say(f"raw lines and logs in {place.relative_to(ROOT)}")
    began = time.monotonic()
    trials: list[Played] = []
    with ground(place, clocks=clocks) as there, (place / "cuts.jsonl").open("w") as raw:
        for kind in kinds:
            for played in _cut(there, kind, options, size=size, seed=seed):
                trials.append(played)
                _note(raw, played)
                if played.broken and options.fail_fast:
                    break
    _say(table(trials))
    broken = [it for it in trials if it.broken]
    cuts = sum(it.cut is not None for it in trials)
    _say(f"{cuts} cuts in {time.monotonic() - began:.0f} s, seed {seed}")
    _say(f"{len(broken)} of them broke the promise." if broken else HELD)
    return 1 if broken or not cuts else 0


def _cut(
    there: Ground, kind: RunKind, options: argparse.Namespace, *, size: Size, seed: int
) -> Iterator[Played]:
    """Record the course of a kind, then make its cuts."""
    _played(there, kind, None)  # the first of all reads what later ones find kept
    recorded = _played(there, kind, None)
    yield recorded
    if recorded.broken:
        return
    cuts = planned(
        recorded.course,
        size=size,
        seed=seed,
        is_of_way=bool(kind.way),
        is_long=kind.is_long,
    )
    for cut in cuts:
        is_wanted = not options.changing or changes(cut.message)
        is_wanted = is_wanted and options.number in {None, cut.number}
        is_wanted = is_wanted and cut.message.name.startswith(options.named)
        if is_wanted and options.fault in {None, cut.fault.value}:
            yield _made(there, kind, cut)


def _made(there: Ground, kind: RunKind, cut: Cut) -> Played:
    for _ in range(MOST_TRIES):
        played = _played(there, kind, cut)
        if played.is_reached:
            break
    return played


def _played(there: Ground, kind: RunKind, cut: Cut | None) -> Played:
    return play_visit(there, kind, cut) if kind.way else play(there, kind, cut)


def _note(raw: TextIO, played: Played) -> None:
    raw.write(json.dumps(as_json(played), default=str) + "\n")
    raw.flush()
    if played.broken:
        _say(line_of(played))


def _size() -> Size:
    if os.environ.get("FULL", "") not in {"", "0"}:
        return Size.REAL
    return Size.SAMPLE if os.environ.get("CUTS") == "sample" else Size.ALL


def _options(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.trials.cuts", description=__doc__)
    names = [it.name for it in KINDS]
    parser.add_argument(
        "--kind", action="append", choices=names, help="cut runs of this kind alone"
    )
    parser.add_argument("--number", type=int, metavar="K", help="cut at this message alone")
    parser.add_argument(
        "--named", default="", metavar="NAME", help="cut at messages whose names begin so alone"
    )
    parser.add_argument(
        "--changing", action="store_true", help="cut at messages that can change something alone"
    )
    faults = [it.value for it in Fault]
    parser.add_argument("--fault", choices=faults, help="do that to the process alone")
    parser.add_argument(
        "--fail-fast", action="store_true", help="one failing cut of a kind is enough"
    )
    parser.add_argument(
        "--without", choices=[*GUARDS, "all"], help="take this guard out of a copy, and see it fail"
    )
    return parser.parse_args(arguments)


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def _stop(_number: int, _frame: FrameType | None) -> None:
    # As Ctrl-C: what was started is taken away on the way out.
    raise KeyboardInterrupt


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
