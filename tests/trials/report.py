"""What the trials are told as: a line each, a table, and last whether the promise held."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from liyagent.demo.judge import Kind, Verdict
from tests.trials.plan import CHARGES_NOTHING, Fault, Plan
from tests.trials.trial import Played

HELD = "The promise held."
NO_LOSS = "no loss"


@dataclass(frozen=True, slots=True, kw_only=True)
class Whole:
    """All trials of one stage judged once more at its very end: late effects and late looks count."""

    verdict: Verdict
    broken_chains: tuple[str, ...] = ()
    broken_record: tuple[str, ...] = ()
    gaps: int = 0
    notes: tuple[str, ...] = field(default=())


def broken_in(verdict: Verdict) -> list[str]:
    """Return a line for each way in which the ledgers say that the promise broke."""
    lines = [f"lost: run {it.id} of {it.agent} is {it.status}" for it in verdict.lost]
    lines += [f"duplicate: {it} took effect more than once" for it in verdict.duplicates]
    for name, writes in (
        ("missing: shown done, not on the ledger", verdict.missing),
        ("hidden: shown not done, took effect", verdict.hidden),
        ("unsettled", verdict.unsettled),
    ):
        lines += [f"{name}: {it.vendor}, run {it.run_id}, key {it.step_key[:16]}" for it in writes]
    return lines


def unknown_in(verdict: Verdict) -> list[str]:
    """Return a line for each write that is unknown and should not be."""
    return [
        f"unknown: a {it.write.kind} write of run {it.write.run_id} should be known: {it.told}"
        for it in verdict.unknown
        if not it.is_allowed
    ]


def unknown_by_kind(verdict: Verdict) -> dict[Kind, int]:
    """Return how many writes are told as unknown, by kind."""
    return {kind: sum(it.write.kind is kind for it in verdict.unknown) for kind in Kind}


def charged_in(played: Played) -> list[str]:
    """Return a line for each loss that was charged and should not be."""
    if played.plan.fault in CHARGES_NOTHING:
        return [
            f"loss charged for {played.plan.fault}: run {row['id']}, {row['losses']} ({row['last_loss']})"
            for row in played.heads
            if row["losses"]
        ]
    return [f"charged more than one loss for one fault: run {it}" for it in played.doubly_lost]


def line_of(played: Played, *, of: int) -> str:
    """Return one trial of so many in a line. Unknown readable writes are judged at the end, after their late look."""
    plan, verdict = played.plan, played.verdict
    caught = "/".join(str(played.caught[kind]) for kind in Kind)
    unknown = "/".join(str(unknown_by_kind(verdict)[kind]) for kind in Kind)
    broken = [*broken_in(verdict), *charged_in(played)]
    return (
        f"{plan.number:>3}/{of} {plan.fault:<16} {plan.moment:5.3f} s after {_since(plan):<5}, {plan.pace_ms:>3.0f} ms  "
        f"hit {len(played.struck.hit)}  caught {caught:<7} unknown {unknown:<6} losses {played.losses}  "
        f"recovery {told_seconds([it.seconds for it in played.recoveries])} {_causes(played)}  {'BROKEN' if broken else 'ok'}"
    )


def _since(plan: Plan) -> str:
    return "start" if plan.is_from_start else "mark"


def told_seconds(seconds: Sequence[float]) -> str:
    """Return p50 and max."""
    if not seconds:
        return "-"
    ordered = sorted(seconds)
    return f"{ordered[len(ordered) // 2]:.2f} / {ordered[-1]:.2f} s"


def table(trials: Sequence[Played], wholes: Sequence[Whole]) -> str:
    """Return a row for each kind of fault and one for all, and how long the runs of each cause of loss took."""
    head = (
        f"{'fault':<17}{'trials':>6}{'runs hit':>9}{'caught k/r/b':>14}{'lost':>5}{'dup':>4}{'miss':>5}"
        f"{'unknown k/r/b':>14}{'losses':>7}  recovery p50 / max"
    )
    rows = [_row(fault, [it for it in trials if it.plan.fault is fault]) for fault in Fault]
    lines = [
        "",
        "k/r/b: keyed, readable, blind; caught: between mark and settle when the fault struck",
        head,
        *(row for row in rows if row),
        _row("all", trials),
    ]
    lines += ["", "recovery by how the loss was seen, p50 / max", *_by_cause(trials)]
    lines += ["", *(f"note: {note}" for whole in wholes for note in whole.notes)]
    return "\n".join(lines)


def _by_cause(trials: Sequence[Played]) -> list[str]:
    seconds: dict[str, list[float]] = {}
    for recovery in (it for played in trials for it in played.recoveries):
        seconds.setdefault(recovery.cause or NO_LOSS, []).append(recovery.seconds)
    return [
        f"{cause:<17}{len(found):>6} runs  {told_seconds(found)}"
        for cause, found in sorted(seconds.items())
    ]


def _causes(played: Played) -> str:
    """Return by what the losses of a trial were seen."""
    return "/".join(sorted({it.cause for it in played.recoveries} - {""})) or "-"


def _row(name: str, trials: Sequence[Played]) -> str:
    if not trials:
        return ""
    verdicts = [it.verdict for it in trials]
    caught = _kinds([it.caught for it in trials])
    unknown = _kinds(map(unknown_by_kind, verdicts))
    seconds = [recovery.seconds for it in trials for recovery in it.recoveries]
    return (
        f"{name:<17}{len(trials):>6}{sum(len(it.struck.hit) for it in trials):>9}{caught:>14}"
        f"{sum(len(it.lost) for it in verdicts):>5}{sum(len(it.duplicates) for it in verdicts):>4}"
        f"{sum(len(it.missing) for it in verdicts):>5}{unknown:>14}"
        f"{sum(it.losses for it in trials):>7}  {told_seconds(seconds)}"
    )


def _kinds(counts: Iterable[Mapping[Kind, int]]) -> str:
    counted = list(counts)
    return "/".join(str(sum(it.get(kind, 0) for it in counted)) for kind in Kind)


def broken_by(trials: Sequence[Played], wholes: Sequence[Whole], *, least_caught: int) -> list[str]:
    """Return every way in which the promise broke; empty if it held (ruling 37)."""
    lines: list[str] = []
    for whole in wholes:
        lines += [*broken_in(whole.verdict), *unknown_in(whole.verdict)]
        lines += [f"events: the chain of {it} does not verify" for it in whole.broken_chains]
        lines += [f"record: {it}" for it in whole.broken_record]
    lines += [line for played in trials for line in charged_in(played)]
    lines += [
        f"proven: run {run} was proven lost from another host: trial {played.plan.number}"
        for played in trials
        if played.plan.fault is Fault.HOST
        for run in played.proven
    ]
    for kind in Kind:
        caught = sum(it.caught[kind] for it in trials)
        if caught < least_caught:
            lines.append(f"only {caught} {kind} writes were caught, {least_caught} prove something")
    return lines


def as_json(played: Played) -> dict[str, Any]:
    """Return a trial for the raw file; what broke is kept with the rows."""
    plan = played.plan
    broken = [*broken_in(played.verdict), *charged_in(played), *unknown_in(played.verdict)]
    told: dict[str, Any] = {
        "trial": plan.number,
        "fault": plan.fault,
        "moment": plan.moment,
        "after": _since(plan),
        "pace_ms": plan.pace_ms,
        "away_seconds": plan.away_seconds,
        "at": played.struck.at,
        "hit": sorted(played.struck.hit),
        "caught": played.caught,
        "unknown": unknown_by_kind(played.verdict),
        "losses": played.losses,
        "recoveries": [[round(it.seconds, 3), it.cause] for it in played.recoveries],
        "broken": broken,
    }
    return told | {"heads": played.heads, "calls": played.calls} if broken else told
