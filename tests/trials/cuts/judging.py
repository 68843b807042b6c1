"""What came of a cut: by the vendors' own ledgers, and by what the database shows (ruling 37)."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from liyagent.demo.judge import Verdict, judge
from liyagent.demo.vendors.process import VENDORS
from tests.accounted import account
from tests.trials.chains import check_chains
from tests.trials.cuts.course import Cut, Fault
from tests.trials.cuts.ground import Ground
from tests.trials.cuts.kinds import RunKind
from tests.trials.trial import requests_of
from tests.trials.watch import ENDED, Row, run_shown, write_shown

LOOK_SECONDS = 0.02
LOOKS_DUE = "SELECT 1 AS one FROM runs_call WHERE run_id = ANY(%s) AND late_look_at IS NOT NULL"
APPROVALS = "SELECT id, status, server, tool FROM approvals_approval WHERE correlation_id = %s"
DECISIONS = """
    SELECT count(*) AS n FROM audit_auditrow
    WHERE correlation_id = %s AND action = 'agent.approval.approved'
"""
TOLD = """
    SELECT kind, content::jsonb->>'step' AS step, content::jsonb->>'index' AS index, run_id, count(*) AS times
    FROM events_runevent WHERE correlation_id = %s
        AND kind IN ('run.started', 'step', 'tool.call', 'run.ended', 'approval.decided')
    GROUP BY 1, 2, 3, 4
"""
# What was handed to a sub-agent, and what of it was kept, told and read.
HANDED = """
    SELECT (SELECT count(*) FROM runs_call WHERE correlation_id = %s AND server = 'agents') AS calls,
        count(*) FILTER (WHERE number = 1) AS tasks, count(*) FILTER (WHERE number = 2) AS answers,
        (SELECT count(*) FROM handoffs_reading r WHERE r.thread IN (
            SELECT o.thread FROM handoffs_version o WHERE o.correlation_id = %s)) AS readings,
        (SELECT count(*) FROM audit_auditrow WHERE correlation_id = %s AND action = 'agent.handoff') AS audited,
        (SELECT count(*) FROM events_runevent WHERE correlation_id = %s AND kind = 'handoff') AS told
    FROM handoffs_version WHERE correlation_id = %s
"""
# For each call: version 1 and 2, both read and audited; one is told as written, both as read.
EACH = {"tasks": 1, "answers": 1, "readings": 2, "audited": 2, "told": 3}
SUB_AGENTS = "agents"


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """`verdict` is the ledgers' word; `broken` one line for each way in which the promise broke, its own included."""

    verdict: Verdict
    lost: int
    duplicates: int
    broken: tuple[str, ...]
    rows: tuple[Row, ...]
    # Of a way in: how often the answer stands at its other end, and placeholders of Teams that none took the place of.
    answers: int | None = None
    orphans: int = 0


def judged(
    ground: Ground, kind: RunKind, cut: Cut | None, family: list[Row], *, caught: int, is_left: bool
) -> Judged:
    """Judge a family of runs that has ended, or whose time is up."""
    runs = [it["id"] for it in family]
    wait_for_late_looks(ground, runs)
    calls = [it for it in ground.watch.calls(runs) if it["server"] != SUB_AGENTS]
    ledgers = {vendor: ground.stage.vendors.ledger(vendor) for vendor in VENDORS}
    requests, _ = requests_of(ledgers, runs)
    verdict = judge(runs=map(run_shown, family), writes=map(write_shown, calls), requests=requests)
    lost = [it for it in family if it["status"] != "answered"]
    effects = len({(it.vendor, it.effect) for it in requests if it.effect is not None})
    broken = [_lost(it) for it in lost]
    # That a run was lost is told above, and that nothing was caught is no breach of a single cut.
    broken += [it for it in verdict.broken if not it.startswith(("lost", "nothing"))]
    broken += _counted(kind, family, verdict, effects=effects, caught=caught)
    broken += charged(family, cut)
    if family:
        broken += _decided(ground, kind, family[0]["correlation_id"])
        broken += _handed(ground, family[0]["correlation_id"])
    chains, gaps = check_chains(ground.stage.database_url, runs)
    broken += [f"events: the chain of {it} does not verify" for it in chains]
    broken += [f"events: {gaps} are missing"] if gaps else []
    accounted = account(
        ground.stage.database_url,
        seal_keys=ground.stage.env["LIYAGENT_SEAL_KEYS"],
        runs=runs,
        requests=requests,
    )
    broken += [f"record: {it}" for it in accounted.faults]
    broken += [] if is_left else ["the victim did not end once its run was another's"]
    return Judged(
        verdict=verdict,
        lost=len(lost),
        duplicates=max(0, effects - kind.writes),
        broken=tuple(broken),
        rows=(*family, *ground.watch.calls(runs)) if broken else (),
    )


def _lost(run: Row) -> str:
    if run["status"] in ENDED:
        return f"lost: the run of {run['agent_key']} is {run['status']}: {run['reason']}"
    return f"asleep: the run of {run['agent_key']} is still {run['status']}"


def _counted(
    kind: RunKind, family: list[Row], verdict: Verdict, *, effects: int, caught: int
) -> list[str]:
    """How many runs and effects there are, and whether what is unknown may be so."""
    broken = []
    if family and len(family) != kind.runs and not verdict.lost:
        broken.append(f"children: {len(family) - 1} instead of {kind.runs - 1}")
    if len(family) > kind.runs:
        broken.append(f"two children: {len(family) - 1} instead of {kind.runs - 1}")
    if verdict.unknown and not caught:
        broken.append("unknown: and no write was in doubt when the victim was struck")
    if effects > kind.writes:
        broken.append(f"duplicate: {effects} effects on the ledgers instead of {kind.writes}")
    if effects < kind.writes and not verdict.unknown and not verdict.lost:
        broken.append(f"missing: {effects} effects on the ledgers instead of {kind.writes}")
    return broken


def charged(family: list[Row], cut: Cut | None) -> list[str]:
    """One death is one loss at the most; who is only disconnected has died for nobody."""
    most = 0 if cut is None or cut.fault is Fault.DISCONNECT else 1
    losses = sum(it["losses"] for it in family)
    return [f"charged {losses} losses instead of {most} at most"] if losses > most else []


def _decided(ground: Ground, kind: RunKind, correlation: UUID) -> list[str]:
    """A request a held call, decided once; each step, call and end told once."""
    approvals = ground.watch.rows(APPROVALS, [correlation])
    (decisions,) = ground.watch.rows(DECISIONS, [correlation])
    broken = []
    if len(approvals) != kind.is_held or decisions["n"] != kind.is_held:
        broken.append(f"requests: {len(approvals)}, decided {decisions['n']} times")
    broken += [f"request: it is {it['status']}" for it in approvals if it["status"] != "consumed"]
    broken += [
        f"events: {it['kind']} of step {it['step']} is told {it['times']} times"
        for it in ground.watch.rows(TOLD, [correlation])
        if it["times"] != 1
    ]
    return broken


def _handed(ground: Ground, correlation: UUID) -> list[str]:
    """Work that was handed down is a thread, each of its versions once (HO-03)."""
    (found,) = ground.watch.rows(HANDED, [correlation] * HANDED.count("%s"))
    return [
        f"hand-offs: {found[name]} {name} instead of {times * found['calls']}"
        for name, times in EACH.items()
        if found[name] != times * found["calls"]
    ]


def wait_for_late_looks(ground: Ground, runs: list[Any]) -> None:
    """Return once nothing is to be looked for any more, or the time for that is up."""
    until = time.monotonic() + 5 + 2 * ground.clocks["late_look"]
    while time.monotonic() < until and ground.watch.rows(LOOKS_DUE, [runs]):
        time.sleep(LOOK_SECONDS)
