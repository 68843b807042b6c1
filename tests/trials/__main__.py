"""`python -m tests.trials`: real processes, real clocks, real kills; judged from the vendors' ledgers (ruling 37).

FULL=1 plays the full set. LIYAGENT_TRIALS_SEED repeats the moments of a run of the trials. `--fault NAME=N`
(more than once) plays those alone. Exit code 0 if the promise held, else 1. Raw lines are kept under
`.liyagent/trials`, with the logs of every process. With CUTS=1 it is the cut trials (`tests/trials/cuts`).
"""

from __future__ import annotations

import argparse
import json
import os
import secrets
import signal
import sys
import time
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from types import FrameType
from typing import Any, TextIO

from liyagent.core.errors import LiyagentError
from liyagent.demo.judge import Kind, judge
from liyagent.demo.vendors.process import ROOT
from tests.accounted import account
from tests.trials.chains import check_chains
from tests.trials.cuts.__main__ import main as cut_main
from tests.trials.plan import (
    DEFAULT_SET,
    FULL_SET,
    LEAST_CAUGHT,
    LEAST_CAUGHT_FULL,
    Fault,
    Plan,
    planned,
)
from tests.trials.report import (
    HELD,
    Whole,
    as_json,
    broken_by,
    line_of,
    table,
    unknown_by_kind,
)
from tests.trials.scripts import WRITES
from tests.trials.stage import LATE_LOOK_SECONDS, Stage, hosts_apart, stage
from tests.trials.trial import Played, ledgers, play, requests_of
from tests.trials.watch import Watch, run_shown, write_shown

SEED = "LIYAGENT_TRIALS_SEED"
PATIENCE_SECONDS = 3.0


def main(arguments: list[str]) -> int:
    """Play the set and return the exit code; an error of ours is one line."""
    if os.environ.get("CUTS", "") not in {"", "0"}:
        return cut_main(arguments)
    options = _options(arguments)
    signal.signal(signal.SIGTERM, _stop)
    is_full = os.environ.get("FULL", "") not in {"", "0"}
    numbers = dict(options.fault) or (FULL_SET if is_full else DEFAULT_SET)
    seed = int(os.environ.get(SEED) or secrets.randbelow(1_000_000))
    called = time.strftime("%Y%m%d-%H%M%S", time.gmtime())
    place = ROOT / ".liyagent" / "trials" / f"{called}-{os.getpid()}"
    least = LEAST_CAUGHT_FULL if is_full else LEAST_CAUGHT
    _say(f"seed {seed} ({SEED}={seed} repeats it); raw lines and logs in {place.relative_to(ROOT)}")
    try:
        return _play_all(numbers, seed=seed, place=place, least_caught=least)
    except LiyagentError as error:
        _say(f"{error.code}: {error}")
    except KeyboardInterrupt:
        _say("stopped")
    return 1


def _play_all(numbers: dict[Fault, int], *, seed: int, place: Path, least_caught: int) -> int:
    trials: list[Played] = []
    wholes: list[Whole] = []
    began = time.monotonic()
    plans = planned(numbers, seed=seed)
    # Asked before anything is played: an hour later is late for a refusal.
    apart = hosts_apart() if numbers.get(Fault.HOST) else ()
    (place / "logs").mkdir(parents=True)
    with (place / "trials.jsonl").open("w") as raw:
        _write(raw, {"seed": seed, "numbers": numbers})
        for is_apart, same in groupby(plans, key=lambda plan: plan.fault is Fault.HOST):
            logs = place / "logs" / ("hosts" if is_apart else "one-host")
            with stage(logs, apart=apart if is_apart else ()) as set_up:
                played = _play(set_up, list(same), raw=raw, of=len(plans))
                trials += played[0]
                wholes.append(played[1])
        broken = broken_by(trials, wholes, least_caught=least_caught)
        gaps = sum(whole.gaps for whole in wholes)
        _write(raw, {"broken": broken, "gaps": gaps, "seconds": time.monotonic() - began})
    _say(table(trials, wholes))
    _say(f"{len(trials)} trials in {time.monotonic() - began:.0f} s, seed {seed}")
    _say("\n".join(broken) or HELD)
    return 1 if broken else 0


def _play(
    stage: Stage, plans: Sequence[Plan], *, raw: TextIO, of: int
) -> tuple[list[Played], Whole]:
    """Play what belongs on one stage, and judge all of it once more."""
    trials: list[Played] = []
    watch = Watch(stage.database_url)
    for plan in plans:
        played = play(stage, plan, watch)
        trials.append(played)
        _write(raw, as_json(played))
        _say(line_of(played, of=of))
    whole = _judge_all(stage, watch, trials)
    watch.close()
    return trials, whole


def _judge_all(stage: Stage, watch: Watch, trials: list[Played]) -> Whole:
    """Judge every run again: what took effect after its trial's end counts, and so does a late look."""
    runs = [run for played in trials for run in played.runs]
    until = time.monotonic() + LATE_LOOK_SECONDS + PATIENCE_SECONDS
    while True:
        heads, calls = watch.runs(runs), watch.calls(runs)
        requests, _ = requests_of(ledgers(stage), runs)
        verdict = judge(
            runs=[run_shown(it, asked=WRITES) for it in heads],
            writes=map(write_shown, calls),
            requests=requests,
        )
        if not unknown_by_kind(verdict)[Kind.READABLE] or time.monotonic() > until:
            break
        time.sleep(0.5)
    chains, gaps = check_chains(stage.database_url, runs)
    accounted = account(
        stage.database_url,
        seal_keys=stage.env["LIYAGENT_SEAL_KEYS"],
        runs=runs,
        requests=requests,
    )
    notes = [accounted.line, *accounted.incomplete]
    notes += [f"{gaps} gaps in the event log"] if gaps else []
    notes += [
        f"unknown for good: a {it.write.kind} write of run {it.write.run_id}, {it.told}"
        for it in verdict.unknown
        if it.write.kind is Kind.READABLE and it.is_allowed
    ]
    return Whole(
        verdict=verdict,
        broken_chains=chains,
        broken_record=tuple(accounted.faults),
        gaps=gaps,
        notes=tuple(notes),
    )


def _options(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.trials", description=__doc__)
    known = ", ".join(fault.name for fault in Fault)
    parser.add_argument(
        "--fault",
        type=_fault,
        action="append",
        default=[],
        metavar="NAME=N",
        help=f"play N of a fault and only what is named so; {known}",
    )
    return parser.parse_args(arguments)


def _fault(text: str) -> tuple[Fault, int]:
    name, _, number = text.partition("=")
    try:
        return Fault[name.upper()], int(number)
    except (KeyError, ValueError):
        raise argparse.ArgumentTypeError(f"{text!r}: it wants NAME=N") from None


def _write(raw: TextIO, line: dict[str, Any]) -> None:
    raw.write(json.dumps(line, default=str) + "\n")
    raw.flush()


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def _stop(_number: int, _frame: FrameType | None) -> None:
    # As Ctrl-C: what was started is taken away on the way out.
    raise KeyboardInterrupt


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
