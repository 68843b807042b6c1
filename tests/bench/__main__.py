"""`python -m tests.bench`: what a step costs, each cell beside its floor in the same run; then kills under load.

`--only steps` or `--only kills` measures one of the two, `--profile look|note` shows what a step's time goes to.
Raw lines are kept under `.liyagent/bench`. Exit code 0 unless something could not be measured.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
import time
from pathlib import Path
from types import FrameType
from typing import Any

from liyagent.core.errors import LiyagentError
from liyagent.demo.vendors.process import ROOT
from tests.bench.kills import kill_table, measure_kills
from tests.bench.place import place
from tests.bench.report import step_table

ROUNDS = 3


def main(arguments: list[str]) -> int:
    """Measure and print; an error of ours is one line."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("--only", choices=["steps", "kills"], default="")
    parser.add_argument("--profile", choices=["look", "note"], default="")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--kills", type=int, default=20)
    options = parser.parse_args(arguments)
    signal.signal(signal.SIGTERM, _stop)
    raw = ROOT / ".liyagent" / "bench" / f"{time.strftime('%Y%m%d-%H%M%S', time.gmtime())}.json"
    try:
        told = _measure(options, logs=raw.with_suffix(""))
    except LiyagentError as error:
        sys.stderr.write(f"{error.code}: {error}\n")
        return 1
    except KeyboardInterrupt:
        sys.stderr.write("stopped\n")
        return 1
    if told:
        raw.parent.mkdir(parents=True, exist_ok=True)
        raw.write_text(json.dumps(told, indent=1, default=str))
        sys.stdout.write(f"raw lines: {raw.relative_to(ROOT)}\n")
    return 0


def _measure(options: argparse.Namespace, *, logs: Path) -> dict[str, Any]:
    told: dict[str, Any] = {}
    if options.profile:
        with place() as here:
            sys.stdout.write(here.measure(f"--profile={options.profile}"))
        return told
    if options.only in {"", "steps"}:
        with place() as here:
            told["steps"] = here.cells(rounds=options.rounds)
        sys.stdout.write(step_table(told["steps"]) + "\n\n")
        sys.stdout.flush()
    if options.only in {"", "kills"}:
        told["kills"] = measure_kills(options.kills, logs=logs)
        sys.stdout.write(kill_table(told["kills"]) + "\n\n")
    return told


def _stop(_number: int, _frame: FrameType | None) -> None:
    # As Ctrl-C: what was started is taken away on the way out.
    raise KeyboardInterrupt


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
