"""What kill trials are told as: a line a round, how long recovery took by cause and by way, and what broke."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

from liyagent.demo.judge import Kind
from tests.kills.judge import Judged
from tests.kills.plan import Round
from tests.kills.rounds import Played

# Under so many writes caught between mark and settle nothing is said about their kind (ruling 37). Of blind ones, which
# these trials make few of, `make trials` tells.
LEAST_IN_DOUBT, FULL_SET = 20, 200
MADE_MOST = (Kind.KEYED, Kind.READABLE)


def line_of(round_: Round, played: Sequence[Played], *, of: int) -> str:
    """Return a round of so many in a line."""
    stood = Counter(it.cause for it in played)
    told = ", ".join(f"{count} {cause}" for cause, count in sorted(stood.items()))
    hit = [it.seconds for it in played if it.is_in_flight and it.seconds is not None]
    where = "another host" if round_.is_apart else "same host"
    slowest = f"{max(hit):.2f} s" if hit else "-"
    return (
        f"{round_.number:>3}/{of} killed {round_.kill_at:.3f} s after it was up, {where}, writes {2 * round_.pace_ms:.0f} ms: "
        f"{told}; slowest {slowest}"
    )


def table(played: Sequence[Played], judged: Judged, in_doubt: Mapping[Kind, int]) -> str:
    """Return all of it: recovery by cause, by way and of all, what was in doubt, and each fault."""
    hit = [it for it in played if it.is_in_flight]
    lines = [
        "",
        f"{len(played)} trials, {len(hit)} caught in flight; seconds from the kill to the trial's end",
        f"{'':<22}{'trials':>7}{'p50':>8}{'p95':>8}{'max':>8}",
        *_rows(hit, lambda it: it.cause),
        *_rows(hit, lambda it: it.begun.trial.way),
        _row("all", hit),
        "",
        f"not caught: {_counted(it.cause for it in played if not it.is_in_flight)}",
        f"writes in doubt at the kill: {_by_kind(in_doubt)}; told as unknown: {_by_kind(judged.unknown)}",
        f"placeholders without an answer, listed apart (ruling 30): {judged.orphans}",
    ]
    return "\n".join([*lines, "", *told_faults(judged)])


def told_faults(judged: Judged) -> list[str]:
    """Return a line for each fault, or that there is none."""
    return [f"{it.kind} ({it.of})" for it in judged.faults] or ["The promise held."]


def too_few(trials: int, in_doubt: Mapping[Kind, int]) -> list[str]:
    """Return the kinds of writes of which a full set has caught too few to say anything; of a smaller set none is wanted."""
    if trials < FULL_SET:
        return []
    return [f"{kind}: {in_doubt[kind]}" for kind in MADE_MOST if in_doubt[kind] < LEAST_IN_DOUBT]


def percentile(seconds: Sequence[float], share: float) -> float:
    """Return the value that a share of them does not exceed (nearest rank)."""
    ordered = sorted(seconds)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


def _rows(played: Sequence[Played], name: Callable[[Played], str]) -> list[str]:
    names = sorted({name(it) for it in played})
    return [_row(it, [one for one in played if name(one) == it]) for it in names]


def _row(name: str, played: Sequence[Played]) -> str:
    seconds = [it.seconds for it in played if it.seconds is not None]
    if not seconds:
        return f"{name:<22}{len(played):>7}{'-':>8}{'-':>8}{'-':>8}"
    told = "".join(f"{percentile(seconds, share):>8.2f}" for share in (0.5, 0.95, 1.0))
    return f"{name:<22}{len(played):>7}{told}"


def _counted(names: Iterable[str]) -> str:
    return ", ".join(f"{count} {name}" for name, count in sorted(Counter(names).items())) or "none"


def _by_kind(counts: Mapping[Kind, int]) -> str:
    return ", ".join(f"{counts.get(it, 0)} {it}" for it in Kind)
