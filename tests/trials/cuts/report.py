"""What the cuts are told as: a line a kind, the first that failed by its number, and last whether the promise held."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tests.trials.cuts.course import Fault
from tests.trials.cuts.trial import Played

HEAD = (
    f"{'kind':<21}{'messages':>9}{'killed':>8}{'frozen':>8}{'disconnected':>14}{'in doubt':>10}"
    f"{'lost':>6}{'dup':>5}{'missing':>9}{'unknown':>9}{'twice':>7}{'none':>6}{'orphans':>9}  recovery p50 / max"
)
MEANT = (
    "in doubt: a call or a delivery was marked and not settled when the process was struck",
    "twice, none: the answer stands at the other end of a way in more than once, or not; orphans: placeholders that none replaced",
)
HELD = "The promise held at every cut."


def table(trials: Sequence[Played]) -> str:
    """Return a row for each kind, in the order in which they were played, and what failed first of each."""
    names = list(dict.fromkeys(it.kind.name for it in trials))
    lines = ["", *MEANT, HEAD]
    for name in names:
        of_kind = [it for it in trials if it.kind.name == name]
        lines.append(_row(name, of_kind))
    lines += [line for name in names for line in first_failing(name, trials)]
    return "\n".join(lines)


def first_failing(name: str, trials: Sequence[Played]) -> list[str]:
    """Return the first cut of a kind that broke the promise, with how."""
    failed = [it for it in trials if it.kind.name == name and it.broken]
    if not failed:
        return []
    first = min(failed, key=lambda it: it.cut.number if it.cut is not None else 0)
    where = str(first.cut) if first.cut is not None else _stopped(first)
    return [f"{name}: {len(failed)} failed, the first {where}: {'; '.join(first.broken)}"]


def _stopped(played: Played) -> str:
    last = played.course[-1] if played.course else "nothing"
    return f"k={len(played.course)} after {last}, without any cut"


def line_of(played: Played) -> str:
    """Return one cut in a line."""
    told = "; ".join(played.broken) or "ok"
    return f"{played.kind.name:<21}{played.cut!s:<62} {played.recovery_seconds:5.2f} s  {told}"


def as_json(played: Played) -> dict[str, Any]:
    """Return a cut for the raw file; what broke is kept with the rows."""
    return {
        "kind": played.kind.name,
        "cut": str(played.cut),
        "course": [str(it) for it in played.course],
        "caught": played.caught,
        "answers": played.judged.answers,
        "orphans": played.judged.orphans,
        "unknown": len(played.judged.verdict.unknown),
        "recovery_seconds": round(played.recovery_seconds, 3),
        "broken": played.broken,
        "rows": played.judged.rows,
    }


def _row(name: str, trials: Sequence[Played]) -> str:
    cuts = [it for it in trials if it.cut is not None]
    made = {
        fault: sum(it.cut is not None and it.cut.fault is fault for it in cuts) for fault in Fault
    }
    verdicts = [it.judged.verdict for it in trials]
    seconds = sorted(it.recovery_seconds for it in cuts if it.is_reached)
    told = f"{seconds[len(seconds) // 2]:.2f} / {seconds[-1]:.2f} s" if seconds else "-"
    return (
        f"{name:<21}{max((len(it.course) for it in trials if it.cut is None), default=0):>9}{made[Fault.KILL]:>8}"
        f"{made[Fault.FREEZE]:>8}{made[Fault.DISCONNECT]:>14}{sum(it.caught > 0 for it in cuts):>10}"
        f"{sum(it.judged.lost > 0 for it in trials):>6}{sum(it.judged.duplicates for it in trials):>5}"
        f"{sum(len(it.missing) for it in verdicts):>9}{sum(len(it.unknown) for it in verdicts):>9}"
        f"{_answers(trials)}  {told}"
    )


def _answers(trials: Sequence[Played]) -> str:
    """Of a way in alone."""
    counts = [it.judged.answers for it in trials if it.judged.answers is not None]
    if not counts:
        return f"{'-':>7}{'-':>6}{'-':>9}"
    orphans = sum(it.judged.orphans for it in trials)
    return f"{sum(it > 1 for it in counts):>7}{counts.count(0):>6}{orphans:>9}"
