"""`python -m tests.bench`: what a step costs, each cell beside its floor in the same run (W1), and W2 to W6.

`--only steps|long|kills|many|idle|sweep|sagas|verify|log|mining|replays` measures one of them, `--profile look|note` shows what a step's time goes to.
Raw lines are kept under `.liyagent/bench`. Exit code 0 unless something could not be measured.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

from liyagent.core.errors import LiyagentError
from liyagent.demo.vendors.process import ROOT
from tests.bench.idle import measure_idle
from tests.bench.kills import kill_table, measure_kills
from tests.bench.place import place
from tests.bench.report import (
    idle_table,
    log_table,
    long_table,
    many_table,
    mining_table,
    replay_table,
    saga_table,
    step_table,
    sweep_table,
    verify_table,
)

ROUNDS = 3
CELLS = (
    "steps",
    "long",
    "kills",
    "many",
    "idle",
    "sweep",
    "sagas",
    "verify",
    "log",
    "mining",
    "replays",
)


def main(arguments: list[str]) -> int:
    """Measure and print; an error of ours is one line."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("--only", choices=CELLS, default="")
    parser.add_argument("--profile", choices=["look", "note"], default="")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--events", type=int, default=0)
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
            sys.stdout.write(here.measure("steps", f"--profile={options.profile}"))
        return told
    measures: dict[str, tuple[Callable[[], Any], Callable[[Any], str]]] = {
        "steps": (lambda: _inside("steps", f"--rounds={options.rounds}"), step_table),
        "long": (lambda: _inside("long"), long_table),
        "kills": (lambda: measure_kills(options.kills, logs=logs), kill_table),
        "many": (lambda: _inside("many"), many_table),
        "idle": (lambda: _idle(logs), idle_table),
        "sweep": (lambda: _inside("sweep"), sweep_table),
        "sagas": (lambda: _inside("sagas"), saga_table),
        "verify": (lambda: _inside("verify", f"--events={options.events}"), verify_table),
        "log": (lambda: _inside("log", f"--events={options.events}"), log_table),
        "mining": (lambda: _inside("mining", f"--events={options.events}"), mining_table),
        "replays": (lambda: _inside("replays"), replay_table),
    }
    for cell in [options.only] if options.only else CELLS:
        sys.stderr.write(f"measuring {cell}\n")
        measure, table = measures[cell]
        told[cell] = measure()
        sys.stdout.write(table(told[cell]) + "\n\n")
        sys.stdout.flush()
    return told


def _inside(cell: str, *arguments: str) -> Any:
    with place() as here:
        return here.told(cell, *arguments)


def _idle(logs: Path) -> Any:
    logs.mkdir(parents=True, exist_ok=True)
    with place() as here:
        here.measure("nothing")
        return measure_idle(
            here.environment(), log=logs / "idle.log", has_statements=here.has_statements
        )


def _stop(_number: int, _frame: FrameType | None) -> None:
    # As Ctrl-C: what was started is taken away on the way out.
    raise KeyboardInterrupt


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
