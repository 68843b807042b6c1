"""The verdict over kill trials, from our records, the vendors' ledgers and the connector's log (CR-32, rulings 30 and 37).

Pure: no database, no HTTP. What the product shows is a claim, and is checked.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from liyagent.demo.judge import KIND_OF_VENDOR, Kind, Request, Verdict, WriteShown
from liyagent.demo.judge import judge as judge_writes
from tests.kills.plan import Way
from tests.kills.scripts import answer_of

ENDED_STATE, ANSWERED = "ended", "answered"
LONGEST_RECOVERY_SECONDS = 15.0


class Kinds(StrEnum):
    """In which way the promise broke. The first three are the promise's own *lost*."""

    LOST = "lost: a record that never reached its end"
    FAILED = "lost: a record that ended failed"
    NO_REPLY = "lost: a Teams turn that ended with no reply"
    OWED = "lost: something owed that was never handed on"
    LEFT_OUT = "lost: a write that was never made"
    INCIDENT = "duplicate: more than one incident of one create"
    COMMENT = "duplicate: a comment more than once"
    CHANGE = "duplicate: a change more than once"
    REPLY = "duplicate: a Teams reply posted more than once"
    RUN = "duplicate: more than one run of one entry"
    ANSWER = "wrong: what is shown as an answer is not that of its run"
    MISSING = "missing: shown done, not on the ledger"
    HIDDEN = "hidden: shown not done, and it took effect"
    UNSETTLED = "unsettled: a write that was never settled"
    UNKNOWN = "unknown: a write that should be known"
    STRAY = "stray: it belongs to no entry"
    CHAIN = "events: a chain that does not verify"
    RECORD = "events: the record is not what was done"
    CHARGED = "charged: more than one loss for one kill"
    SLOW = f"slow: recovered later than {LONGEST_RECOVERY_SECONDS:g} s after the kill"


OF_VENDOR = {"incident": Kinds.INCIDENT, "jira": Kinds.COMMENT, "servicenow": Kinds.CHANGE}


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One way in which it broke, and of what."""

    kind: Kinds
    of: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialShown:
    """A trial as our records show it at the end. `run_id` is empty where no record was ever kept.

    `outcome` is what the arrival says of its end, `status` what the run says itself. `owed`: deliveries that are not
    delivered. `asked`: the writes that its run is to make. `answers`: what is shown as its answer, wherever that is. `told`: the ids that whoever began it was told. `recovery`:
    seconds from the kill to its end, None where it was not caught in flight.
    """

    name: str
    way: Way
    run_id: str
    state: str = ENDED_STATE
    outcome: str = ANSWERED
    status: str = ANSWERED
    owed: int = 0
    asked: int = 0
    answers: frozenset[str] = frozenset()
    losses: int = 0
    told: frozenset[str] = frozenset()
    recovery: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageShown:
    """A message as the connector has it: which activity it replies to, and all texts that it ever had."""

    id: str
    replies_to: str
    texts: tuple[str, ...]

    def is_answer(self, placeholder: str) -> bool:
        """Whether it bears an answer, or bore one."""
        return any(it != placeholder for it in self.texts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """What broke, and what is told beside it: orphans are placeholders without an answer, and no reply (ruling 30)."""

    faults: tuple[Fault, ...] = ()
    orphans: int = 0
    unknown: Mapping[Kind, int] = field(default_factory=dict)

    @property
    def kinds(self) -> set[Kinds]:
        """The kinds of what broke."""
        return {it.kind for it in self.faults}


def judge(
    *,
    trials: Sequence[TrialShown],
    runs: Iterable[str],
    writes: Sequence[WriteShown],
    requests: Sequence[Request],
    messages: Sequence[MessageShown],
    placeholder: str,
) -> Judged:
    """Judge trials that have had their time. `runs` are all that came in by these ways, whether a trial knows them or not."""
    verdict = judge_writes(runs=(), writes=writes, requests=requests)
    known = {it.run_id for it in trials}
    faults = [fault for it in trials for fault in _faults_of(it)]
    faults += _replied(trials, messages, placeholder)
    faults += _written(verdict, requests)
    faults += _left_out(trials, verdict, requests)
    faults += [Fault(kind=Kinds.STRAY, of=f"run {it}") for it in runs if it not in known]
    faults += [
        Fault(kind=Kinds.STRAY, of=f"{it.marker} at {it.vendor}")
        for it in requests
        if it.effect is not None and it.marker.partition("/")[0] not in known
    ]
    return Judged(
        faults=tuple(faults),
        orphans=sum(not it.is_answer(placeholder) for it in messages),
        unknown={kind: sum(it.write.kind is kind for it in verdict.unknown) for kind in Kind},
    )


def _faults_of(trial: TrialShown) -> list[Fault]:
    of = f"{trial.way} {trial.name}, run {trial.run_id or 'none'}"
    kinds = []
    if not trial.run_id or trial.state not in {ENDED_STATE, "refused", "skipped"}:
        kinds.append(Kinds.LOST)
    elif (trial.state, trial.outcome, trial.status) != (ENDED_STATE, ANSWERED, ANSWERED):
        kinds.append(Kinds.FAILED)
    if trial.owed:
        kinds.append(Kinds.OWED)
    if trial.status == ANSWERED and trial.answers - {answer_of(trial.run_id)}:
        kinds.append(Kinds.ANSWER)
    if trial.told - {trial.run_id}:
        kinds.append(Kinds.RUN)
    if trial.losses > 1:
        kinds.append(Kinds.CHARGED)
    if trial.recovery is not None and trial.recovery > LONGEST_RECOVERY_SECONDS:
        kinds.append(Kinds.SLOW)
    how = (
        f": {trial.state} {trial.outcome}, its run {trial.status}, {trial.owed} owed, {trial.losses} losses, "
        f"recovery {trial.recovery}, answers {sorted(trial.answers)}"
    )
    return [Fault(kind=it, of=of + how) for it in kinds]


def _replied(
    trials: Iterable[TrialShown], messages: Sequence[MessageShown], placeholder: str
) -> list[Fault]:
    faults: list[Fault] = []
    turns = {it.name: it for it in trials if it.way is Way.TEAMS}
    bearing = [it for it in messages if it.is_answer(placeholder)]
    count = Counter(it.replies_to for it in bearing)
    faults += [Fault(kind=Kinds.NO_REPLY, of=it) for it in turns if not count[it]]
    faults += [
        Fault(kind=Kinds.REPLY, of=f"{it}: {times} times")
        for it, times in count.items()
        if times > 1
    ]
    for it in bearing:
        turn = turns.get(it.replies_to)
        if turn is None:
            faults.append(Fault(kind=Kinds.STRAY, of=f"message {it.id}"))
        elif not set(it.texts) <= {placeholder, answer_of(turn.run_id)}:
            faults.append(Fault(kind=Kinds.ANSWER, of=f"message {it.id}: {it.texts}"))
    return faults


def _written(verdict: Verdict, requests: Sequence[Request]) -> list[Fault]:
    vendors = {it.marker: it.vendor for it in requests}
    faults = [Fault(kind=OF_VENDOR[vendors[it]], of=it) for it in verdict.duplicates]
    # Without a key the vendor may let each of them take effect: sent more than once is once too often.
    times = Counter((it.vendor, it.marker) for it in requests)
    faults += [
        Fault(kind=OF_VENDOR[vendor], of=f"{marker}: sent {count} times")
        for (vendor, marker), count in times.items()
        if count > 1 and KIND_OF_VENDOR[vendor] is not Kind.KEYED
    ]
    for kind, found in (
        (Kinds.MISSING, verdict.missing),
        (Kinds.HIDDEN, verdict.hidden),
        (Kinds.UNSETTLED, verdict.unsettled),
    ):
        faults += [
            Fault(kind=kind, of=f"{it.vendor}, run {it.run_id}, key {it.step_key[:16]}")
            for it in found
        ]
    faults += [
        Fault(kind=Kinds.UNKNOWN, of=f"{it.write.vendor}, run {it.write.run_id}: {it.told}")
        for it in verdict.unknown
        if not it.is_allowed
    ]
    return faults


def _left_out(
    trials: Iterable[TrialShown], verdict: Verdict, requests: Iterable[Request]
) -> list[Fault]:
    """What a run was to write is on a ledger, or a person was told that nobody knows."""
    there = {it.marker for it in requests if it.effect is not None}
    made = Counter(it.partition("/")[0] for it in there)
    made.update(it.write.run_id for it in verdict.unknown if not it.took_effect)
    return [
        Fault(kind=Kinds.LEFT_OUT, of=f"{it.way} {it.name}, run {it.run_id}: {made[it.run_id]} of {it.asked}")
        for it in trials
        if it.status == ANSWERED and made[it.run_id] < it.asked
    ]  # fmt: skip
