"""W3: a process is killed in the middle of writes, the other takes over; counted from the vendors' ledgers."""

from __future__ import annotations

import itertools
import random
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from liyagent.demo.judge import Kind
from tests.trials.plan import LATEST_SECONDS, PACE_MS, Fault, Plan
from tests.trials.report import broken_in, unknown_by_kind
from tests.trials.stage import Stage, stage
from tests.trials.trial import Played, ledgers, play, requests_of
from tests.trials.watch import Watch

SEED = 20_260
STALLS = 2
# p50 and max in seconds: what is reached now, what is aimed at.
KILL_MARKS = ((2.0, 5.0), (0.5, 1.5))
STALL_MARKS = (13.0, 9.5)


def measure_kills(kills: int, *, logs: Path) -> dict[str, Any]:
    """Play the kills and the stalls and return what came of them."""
    chance = random.Random(SEED)
    faults = [Fault.KILL] * kills + [Fault.STALL] * STALLS
    with stage(logs) as set_up:
        watch = Watch(set_up.database_url)
        played = [
            play(set_up, _plan(number, fault, chance), watch)
            for number, fault in enumerate(faults, start=1)
        ]
        told = {fault.name: _told(set_up, played, fault) for fault in (Fault.KILL, Fault.STALL)}
        watch.close()
    return {"seed": SEED, **told}


def kill_table(told: dict[str, Any]) -> str:
    """Return a line for the kills and one for the stalls."""
    lines = [
        f"W3: 8 runs on A, writes of 25 ms + ledger + 25 ms; seed {told['seed']}; seconds beyond the usual gap",
        f"{'fault':<9}{'trials':>7}{'lost':>5}{'dup':>4}{'miss':>5}  {'caught k/r/b':<13}{'unknown k/r/b':<14}"
        "p50 / max (now; aim)",
    ]
    for name in ("KILL", "STALL"):
        it = told[name]
        marks = "(2 / 5; 0.5 / 1.5 with nothing in doubt)" if name == "KILL" else "(max 13; 9.5)"
        lines.append(
            f"{name:<9}{it['trials']:>7}{it['lost']:>5}{it['duplicates']:>4}{it['missing']:>5}  "
            f"{_kinds(it['caught']):<13}{_kinds(it['unknown']):<14}"
            f"{it['p50']:.2f} / {it['max']:.2f} s {marks}"
        )
        lines += [f"  {broken}" for broken in it["broken"]]
    return "\n".join(lines)


def _kinds(counts: dict[Kind, int]) -> str:
    return "/".join(str(counts[kind]) for kind in Kind)


def _plan(number: int, fault: Fault, chance: random.Random) -> Plan:
    return Plan(
        number=number,
        fault=fault,
        moment=round(chance.uniform(0.0, LATEST_SECONDS), 3),
        is_from_start=False,
        pace_ms=PACE_MS,
        away_seconds=0.0,
    )


def _told(set_up: Stage, trials: Sequence[Played], fault: Fault) -> dict[str, Any]:
    mine = [it for it in trials if it.plan.fault is fault]
    found = ledgers(set_up)
    beyond = [second for it in mine for second in _beyond(it, found)]
    return {
        "trials": len(mine),
        "lost": sum(len(it.verdict.lost) for it in mine),
        "duplicates": sum(len(it.verdict.duplicates) for it in mine),
        "missing": sum(len(it.verdict.missing) for it in mine),
        "caught": {kind: sum(it.caught[kind] for it in mine) for kind in Kind},
        "unknown": {kind: sum(unknown_by_kind(it.verdict)[kind] for it in mine) for kind in Kind},
        "p50": statistics.median(beyond) if beyond else float("nan"),
        "max": max(beyond, default=float("nan")),
        "seconds": [round(it, 3) for it in beyond],
        "broken": [line for it in mine for line in broken_in(it.verdict)],
    }


def _beyond(played: Played, found: dict[str, Any]) -> list[float]:
    """Recoveries less the gap that is usual between two writes of these runs before the fault."""
    _, received = requests_of(found, played.runs)
    before = [[it for it in times if it < played.struck.at] for times in received.values()]
    gaps = [
        later - earlier for times in before for earlier, later in itertools.pairwise(sorted(times))
    ]
    usual = statistics.median(gaps) if gaps else 0.0
    return [max(0.0, it.seconds - usual) for it in played.recoveries]
