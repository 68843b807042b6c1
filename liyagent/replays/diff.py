"""What changed between a run and its replay, and what it comes to: same, changed or regressed (RP-05). Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from liyagent.replays.made import How, ReplayedRun
from liyagent.replays.recorded import Recording
from liyagent.replays.similarity import normalised, similarity

SAME, CHANGED, REGRESSED = "same", "changed", "regressed"
RANK = {SAME: 0, CHANGED: 1, REGRESSED: 2}
ANSWERED = "answered"
# Of one diff: a run that goes round in circles asks for thousands.
MOST_NAMES = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Beside:
    """A figure of the run beside that of its replay."""

    was: int
    now: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Diff:
    """A run beside its replay. `differs` names in which way it is another, nothing where it is the same.

    `added` and `dropped` are the tools that were called more or less often; `counts` says by `How` how its calls were answered;
    `drift` how many places of arguments differ. No word that was said is in it.
    """

    verdict: str
    differs: tuple[str, ...]
    similarity: float
    status: tuple[str, str]
    error: tuple[str, str]
    added: tuple[str, ...]
    dropped: tuple[str, ...]
    counts: dict[str, int]
    unserved: tuple[str, ...]
    unused: tuple[str, ...]
    drift: int
    steps: Beside
    calls: Beside
    input_tokens: Beside
    output_tokens: Beside
    cost_micros: Beside
    model_ms: Beside

    def facts(self) -> dict[str, Any]:
        """Return it as plain data."""
        beside = {
            name: {"was": value.was, "now": value.now}
            for name in (
                "steps",
                "calls",
                "input_tokens",
                "output_tokens",
                "cost_micros",
                "model_ms",
            )
            for value in (getattr(self, name),)
        }
        return {
            "verdict": self.verdict,
            "differs": list(self.differs),
            "similarity": self.similarity,
            "status": {"was": self.status[0], "now": self.status[1]},
            "error": {"was": self.error[0], "now": self.error[1]},
            "added": list(self.added),
            "dropped": list(self.dropped),
            "counts": dict(self.counts),
            "unserved": list(self.unserved),
            "unused": list(self.unused),
            "drift": self.drift,
            **beside,
        }


def compare(recording: Recording, replayed: ReplayedRun) -> Diff:
    """Return what a replay did otherwise than the run, and what that comes to."""
    was = [it.name for it in recording.calls]
    now = [it.name for it in replayed.calls]
    counts = {how.value: 0 for how in How} | Counter(it.how.value for it in replayed.calls)
    differs = _differs(recording, replayed, is_other_sequence=was != now, counts=counts)
    return Diff(
        verdict=_verdict(differs),
        differs=differs,
        similarity=similarity(recording.answer, replayed.answer),
        status=(recording.status, replayed.status),
        error=(recording.error, replayed.error),
        added=_more(now, was),
        dropped=_more(was, now),
        counts=counts,
        unserved=_names(it.name for it in replayed.calls if it.how is How.UNSERVED),
        unused=_names(it.name for it in replayed.unused),
        drift=sum(len(it.drift) for it in replayed.calls),
        steps=Beside(was=len(recording.steps), now=len(replayed.steps)),
        calls=Beside(was=len(was), now=len(now)),
        input_tokens=Beside(was=recording.input_tokens, now=replayed.input_tokens),
        output_tokens=Beside(was=recording.output_tokens, now=replayed.output_tokens),
        cost_micros=Beside(was=recording.cost_micros, now=replayed.cost_micros),
        model_ms=Beside(was=recording.model_ms, now=replayed.model_ms),
    )


def cohort_verdict(verdicts: Iterable[str]) -> str:
    """Return the worst, "" of none."""
    return max(verdicts, key=RANK.__getitem__, default="")


def beyond_baseline(runs: Iterable[tuple[Collection[str], Sequence[Collection[str]]]]) -> str:
    """Return the worst of what the unchanged agent does not show in any lane of the same run too; "" of no run.

    Each run is what its replay `differs` in, and what each of its baseline lanes does.
    """
    worst = ""
    for differs, lanes in runs:
        own = set(differs).difference(*lanes)
        verdict = REGRESSED if REGRESSED in own else CHANGED if own else SAME
        worst = cohort_verdict([worst, verdict] if worst else [verdict])
    return worst


def _differs(
    recording: Recording,
    replayed: ReplayedRun,
    *,
    is_other_sequence: bool,
    counts: dict[str, int],
) -> tuple[str, ...]:
    is_regressed = recording.status == ANSWERED and replayed.status != ANSWERED
    found = {
        REGRESSED: is_regressed,
        "answer": normalised(recording.answer) != normalised(replayed.answer),
        "status": (recording.status, recording.error) != (replayed.status, replayed.error),
        "tools": is_other_sequence,
        "outcomes": any(it.how is How.REFUSED and it.recorded is None for it in replayed.calls),
        How.UNSERVED.value: counts[How.UNSERVED] > 0,
        How.BY_ORDER.value: counts[How.BY_ORDER] > 0,
        How.NOT_HERE.value: counts[How.NOT_HERE] > 0,
    }
    return tuple(name for name, is_found in found.items() if is_found)


def _verdict(differs: Sequence[str]) -> str:
    if REGRESSED in differs:
        return REGRESSED
    return CHANGED if differs else SAME


def _more(names: Sequence[str], than: Sequence[str]) -> tuple[str, ...]:
    return _names((Counter(names) - Counter(than)).elements())


def _names(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(name[:200] for name, _ in zip(names, range(MOST_NAMES), strict=False))
