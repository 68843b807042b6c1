"""All rounds, and the verdict over them: from our database, the vendors' ledgers and the connector's log."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from liyagent.demo.judge import KIND_OF_VENDOR, Kind, read_requests
from liyagent.entry.teams.words import PLACEHOLDER
from tests.accounted import Accounted, account
from tests.kills.judge import Fault, Judged, Kinds, MessageShown, TrialShown, judge
from tests.kills.look import all_runs, late_looks_due, records, run_ids
from tests.kills.plan import planned
from tests.kills.report import line_of
from tests.kills.rounds import Played, play
from tests.kills.scripts import writes_of
from tests.kills.shown import answers_shown
from tests.kills.stage import SURVIVOR, KillStage, kill_stage
from tests.trials.chains import check_chains
from tests.trials.stage import StageFailed, hosts_apart
from tests.trials.trial import ledgers
from tests.trials.watch import IN_DOUBT, write_shown

LATE_LOOK_SECONDS = 20.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Whole:
    """What all rounds came to. `in_doubt`: writes that were marked and not settled when their process was killed."""

    played: tuple[Played, ...]
    judged: Judged
    in_doubt: dict[Kind, int]
    gaps: int
    accounted: Accounted


def play_all(trials: int, *, seed: int, logs: Path, say: Callable[[str], object]) -> Whole:
    """Play so many trials and judge them. Raises `StageFailed`."""
    try:
        apart = hosts_apart()
    except StageFailed as error:
        apart = ()
        say(f"every victim is on the survivor's host: {error}")
    logs.mkdir(parents=True, exist_ok=True)
    rounds = planned(trials, seed=seed, may_be_apart=bool(apart))
    played: list[Played] = []
    with kill_stage(logs, apart=apart) as at:
        for it in rounds:
            found = play(at, it)
            say(line_of(it, found, of=len(rounds)))
            played += found
        return _judged(at, played)


def _judged(at: KillStage, played: Sequence[Played]) -> Whole:
    until = time.monotonic() + LATE_LOOK_SECONDS
    while late_looks_due(at.watch) and time.monotonic() < until:
        time.sleep(0.1)
    at.stage.pid(SURVIVOR)
    found = records(at.watch, [it.begun for it in played])
    runs = run_ids(at.watch, list(found.values()))
    calls = at.watch.calls(runs)
    requests = read_requests(ledgers(at.stage))
    judged = judge(
        trials=[_shown(at, it) for it in played],
        runs=all_runs(at.watch),
        writes=[write_shown(it) for it in calls],
        requests=requests,
        messages=_messages(at),
        placeholder=PLACEHOLDER,
    )
    chains, gaps = check_chains(at.stage.database_url, runs)
    broken = [Fault(kind=Kinds.CHAIN, of=str(it)) for it in chains]
    accounted = account(
        at.stage.database_url,
        seal_keys=at.stage.env["LIYAGENT_SEAL_KEYS"],
        runs=runs,
        requests=requests,
    )
    broken += [Fault(kind=Kinds.RECORD, of=it) for it in accounted.faults]
    doubted = [
        it for it in calls if it["settlement"] in IN_DOUBT and it["server"] in KIND_OF_VENDOR
    ]
    return Whole(
        played=tuple(played),
        judged=Judged(
            faults=(*judged.faults, *broken), orphans=judged.orphans, unknown=judged.unknown
        ),
        in_doubt={
            kind: sum(KIND_OF_VENDOR[it["server"]] is kind for it in doubted) for kind in Kind
        },
        gaps=gaps,
        accounted=accounted,
    )


def _shown(at: KillStage, played: Played) -> TrialShown:
    row, trial = played.row, played.begun.trial
    known = {} if row is None else {
        "run_id": str(row["run_id"]),
        "state": row["state"],
        "outcome": row["outcome"] or row["reason"],
        "status": row["status"] or "",
        "owed": row["not_delivered"],
        "answers": answers_shown(at, played.begun, str(row["run_id"])),
        "losses": row["losses"] or 0,
    }  # fmt: skip
    return TrialShown(
        name=trial.name,
        way=trial.way,
        asked=writes_of(trial.way) if row is None else row.get("asked", writes_of(trial.way)),
        told=frozenset(played.begun.told),
        recovery=played.seconds if played.is_in_flight else None,
        **{
            "run_id": "",
            "state": "",
            "status": "",
            "outcome": "; ".join(played.begun.refusals),
            **known,
        },
    )


def _messages(at: KillStage) -> list[MessageShown]:
    return [
        MessageShown(
            id=it.id,
            replies_to=str(it.forms[0].get("replyToId", "")),
            texts=tuple(str(form.get("text", "")) for form in it.forms),
        )
        for it in at.connector.messages()
    ]
