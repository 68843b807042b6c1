"""`python -m tests.bench.inside CELL`: measure on the database of the environment; the last line is JSON.

CELL `nothing` only migrates and furnishes.
"""

from __future__ import annotations

import argparse
import cProfile
import io
import json
import logging
import pstats
import sys
from typing import Any

import django

django.setup()

from django.conf import settings  # noqa: E402 - what follows wants the settings
from django.core.management import call_command  # noqa: E402
from django.db import connection  # noqa: E402

from tests.bench.big_log import EVENTS as EVENTS_OF_LOG  # noqa: E402
from tests.bench.big_log import measure_log  # noqa: E402
from tests.bench.counts import Counter  # noqa: E402
from tests.bench.long_run import measure_long_run  # noqa: E402
from tests.bench.many_runs import measure_many_runs  # noqa: E402
from tests.bench.mining import RUNS as RUNS_OF_MINING  # noqa: E402
from tests.bench.mining import measure_mining  # noqa: E402
from tests.bench.replays import measure_replays  # noqa: E402
from tests.bench.sagas import measure_sagas  # noqa: E402
from tests.bench.steps import (  # noqa: E402
    Cell,
    carry_some,
    measure_cell,
    measure_floor,
    new_holder,
)
from tests.bench.sweeping import measure_sweep  # noqa: E402
from tests.bench.verifying import EVENTS, measure_verify  # noqa: E402
from tests.bench.world import READ, RECORDINGS, STEPS, WRITE, furnish  # noqa: E402

ALONE = {"runs": 50, "threads": 1}
TOGETHER = {"runs": 200, "threads": 8}
# Eight at a time takes long enough for two rounds to be like each other.
MOST_ROUNDS = {1: 9, 8: 2}
WARM_UP_RUNS = 20
PROFILED_RUNS = 50
TOP_FUNCTIONS = 45
MANY = (256, 1000)


def long_runs() -> list[dict[str, Any]]:
    """Measure W2."""
    return [measure_long_run(recording) for recording in RECORDINGS]


def many_runs() -> list[dict[str, Any]]:
    """Measure W4."""
    return [measure_many_runs(count) for count in MANY]


OTHERS = {"long": long_runs, "many": many_runs, "sweep": measure_sweep, "replays": measure_replays}
# With how many events each is measured, mining with how many runs.
RECORDS = {
    "verify": (measure_verify, EVENTS),
    "log": (measure_log, EVENTS_OF_LOG),
    "mining": (measure_mining, RUNS_OF_MINING),
}


def main(arguments: list[str]) -> int:
    """Measure, or profile, and print."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.inside")
    parser.add_argument("cell", choices=["nothing", "steps", "sagas", *OTHERS, *RECORDS])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--events", type=int, default=0)
    parser.add_argument("--statements", action="store_true", help="pg_stat_statements is preloaded")
    parser.add_argument("--profile", choices=[READ, WRITE], default="")
    options = parser.parse_args(arguments)
    logging.disable(logging.WARNING)
    call_command("migrate", verbosity=0)
    models = furnish()
    connection.close()
    if options.cell == "nothing":
        return 0
    if options.cell in OTHERS:
        sys.stdout.write(json.dumps(OTHERS[options.cell]()) + "\n")
        return 0
    if options.cell in RECORDS:
        measure, usual = RECORDS[options.cell]
        sys.stdout.write(json.dumps(measure(options.events or usual)) + "\n")
        return 0
    counter = Counter(settings.LIYAGENT.database_url, has_statements=options.statements)
    if options.cell == "sagas":
        sys.stdout.write(json.dumps(measure_sagas(counter)) + "\n")
        return 0
    for tool in models:
        warm = Cell(name="warm", tool=tool, recording="metadata", runs=WARM_UP_RUNS, threads=1)
        carry_some(warm, new_holder())
    if options.profile:
        profile(options.profile)
        return 0
    told = [
        _measure(cell, models, counter, rounds=min(options.rounds, MOST_ROUNDS[cell.threads]))
        for cell in cells()
    ]
    sys.stdout.write(json.dumps(told) + "\n")
    return 0


def cells() -> list[Cell]:
    """Return W1's cells."""
    return [
        Cell(
            name=f"W1{letter} {tool} {recording}",
            tool=tool,
            recording=recording,
            **size,
        )
        for letter, size in (("a", ALONE), ("b", TOGETHER))
        for tool in (READ, WRITE)
        for recording in RECORDINGS
    ]


def profile(tool: str) -> None:
    """Print what a step's time goes to, one run at a time."""
    cell = Cell(name="profiled", tool=tool, recording="full", runs=PROFILED_RUNS, threads=1)
    holder = new_holder()
    profiler = cProfile.Profile()
    profiler.runcall(carry_some, cell, holder)
    for order in ("tottime", "cumulative"):
        text = io.StringIO()
        pstats.Stats(profiler, stream=text).sort_stats(order).print_stats(TOP_FUNCTIONS)
        sys.stdout.write(text.getvalue())


def _measure(
    cell: Cell, models: dict[str, Any], counter: Counter, *, rounds: int
) -> dict[str, Any]:
    """Measure a cell several times, each between two floors: what else the machine does hits both."""
    told: list[dict[str, Any]] = []
    top: list[tuple[str, float, float]] = []
    steps = cell.runs * STEPS
    for _ in range(rounds):
        floor = measure_floor(cell, counter)
        counter.forget_statements()
        measured = measure_cell(cell, models[cell.tool], counter)
        top = [(text, calls / steps, ms / steps) for text, calls, ms in counter.top()]
        floor = floor.with_more(measure_floor(cell, counter))
        told.append({"floor": floor.as_json(), "cell": measured.as_json()})
    sys.stderr.write(f"{cell.name}: {told[-1]['cell']['rate']:.0f} steps/s\n")
    return {"cell": cell.name, "threads": cell.threads, "rounds": told, "statements": top}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
