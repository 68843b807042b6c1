"""A judge for trials: each effect on a vendor's ledger is told of once, the folded state is the live one, and no chain forks.

From outside: our database by a connection of its own, the ledgers as the vendors tell them, the keys of the processes on trial.
Where a chain says itself that it is not complete, what it does not tell is counted and is no fault: that it says so is what is
promised (EV-07).
"""

from __future__ import annotations

import base64
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any
from uuid import UUID

import psycopg
from psycopg.rows import namedtuple_row

from events.completeness import RunFacts
from events.fold import SETTLEMENT_AT_END, State, fold
from events.tags import RecordKey, record_keys
from events.verdict import Verdict, verdict_of
from liyagent.demo.judge import Request
from runs.evidence_compare import Live, LiveCall, differences
from tests.trials.watch import ENDED

# No chain of a trial comes to so much: all is kept.
EVERYTHING = 1 << 40
APPROVED = "approved:"
CHAINS = "SELECT DISTINCT correlation_id FROM runs_run WHERE id = ANY(%s) ORDER BY correlation_id"
RUNS = "SELECT * FROM runs_run WHERE correlation_id = %s ORDER BY created_at, id"
CALLS = "SELECT * FROM runs_call WHERE run_id = %s ORDER BY step, index"
EVENTS = "SELECT * FROM events_runevent WHERE correlation_id = %s ORDER BY number"
HEAD = "SELECT * FROM events_eventhead WHERE correlation_id = %s"
COUNTERS = {
    "steps": "model_steps", "calls": "calls_made", "input_tokens": "input_tokens",
    "output_tokens": "output_tokens", "cost_micros": "cost_micros",
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """A chain as it is stored: its verdict, the state of its runs, and what their rows say.

    `left`: server and step key of the calls that the end of their run settled; that event names them by their place.
    """

    verdict: Verdict
    state: State
    live: dict[UUID, Live]
    left: Sequence[tuple[str, str]] = ()

    @property
    def keys(self) -> Iterable[tuple[str, str]]:
        """Server and step key of each call that is told of, as often as something told of what came of it."""
        for run in self.state.runs.values():
            for call in run.calls.values():
                for _ in range(call.times):
                    yield call.facts["server"], call.facts["key"]
        yield from self.left


@dataclass(slots=True, kw_only=True)
class Accounted:
    """`faults`: what broke, a line each. `incomplete`: chains that say that events of theirs were never written, and what of
    those is told nowhere.
    """

    chains: int = 0
    events: int = 0
    effects: int = 0
    faults: list[str] = field(default_factory=list)
    incomplete: list[str] = field(default_factory=list)

    @property
    def line(self) -> str:
        """One line for the report."""
        return (
            f"{self.effects} effects on the ledgers, each told of once by {self.events} events of {self.chains} chains; "
            f"{len(self.faults)} faults, {len(self.incomplete)} chains incomplete"
        )


def account(
    database_url: str, *, seal_keys: str, runs: Sequence[UUID], requests: Iterable[Request]
) -> Accounted:
    """Judge the chains of these runs, once all has ended, against all requests that the vendors remember."""
    masters = [base64.b64decode(it.partition(":")[2]) for it in seal_keys.split(",")]
    keys = record_keys(masters)
    with psycopg.connect(database_url, row_factory=namedtuple_row) as opened:
        connection: psycopg.Connection[Any] = opened
        connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        chains = [row.correlation_id for row in connection.execute(CHAINS, [list(runs)])]
        told = [read_chain(connection, it, keys) for it in chains]
    return judge(told, requests)


def judge(told: Sequence[Told], requests: Iterable[Request]) -> Accounted:
    """Pure: what the chains tell, against what the vendors remember."""
    found = Accounted(chains=len(told), events=sum(it.verdict.events for it in told))
    effects = _effects(requests)
    for chain in told:
        _judge_chain(chain, effects, found)
    return found


def read_chain(connection: psycopg.Connection[Any], chain: UUID, keys: Sequence[RecordKey]) -> Told:
    """Read one chain: its events, its head and its rows, of one moment."""
    events = connection.execute(EVENTS, [chain]).fetchall()
    rows = connection.execute(RUNS, [chain]).fetchall()
    facts = [
        RunFacts(
            run_id=it.id,
            is_ended=it.status in ENDED,
            owed=it.events_missing,
            counts_from=_before(it),
        )
        for it in rows
    ]
    head = connection.execute(HEAD, [chain]).fetchone()
    calls = {it.id: connection.execute(CALLS, [it.id]).fetchall() for it in rows}
    return Told(
        verdict=verdict_of(events, correlation_id=chain, head=head, keys=keys, runs=facts),
        state=fold(events, most=EVERYTHING),
        live={it.id: _live(it, calls[it.id]) for it in rows},
        left=[
            (it.server, it.step_key)
            for of_run in calls.values()
            for it in of_run
            if it.settlement == SETTLEMENT_AT_END
        ],
    )


def _judge_chain(chain: Told, effects: dict[str, set[tuple[str, str]]], found: Accounted) -> None:
    name = f"chain {chain.verdict.correlation_id}"
    if (broken := chain.verdict.broken) is not None:
        found.faults.append(f"{name}: event {broken.number}: {broken.sentence}")
    told: dict[tuple[str, str], int] = defaultdict(int)
    for named in chain.keys:
        told[named] += 1
    wrong = [
        f"{name}, run {run_id}: {it.what} is {it.events} by its events and {it.checkpoint} by its checkpoint"
        for run_id, live in chain.live.items()
        for it in islice(differences(chain.state.runs.get(run_id), live), 20)
    ]
    for run_id in chain.live:
        for vendor, key in effects.get(str(run_id), ()):
            found.effects += 1
            if told[vendor, key] != 1:
                times = told[vendor, key]
                wrong.append(
                    f"{name}, run {run_id}: effect {key[:16]} at {vendor} is told of {times} times"
                )
    if chain.verdict.is_complete:
        found.faults += wrong
    else:
        lacks = "; ".join(it.sentence for it in chain.verdict.lacks)
        found.incomplete.append(f"{name}: {lacks}; {len(wrong)} things that it does not tell")


def _effects(requests: Iterable[Request]) -> dict[str, set[tuple[str, str]]]:
    """By run: vendor and step key of what took effect, however often it was sent."""
    found: dict[str, set[tuple[str, str]]] = defaultdict(set)
    for it in requests:
        if it.effect is not None:
            found[it.marker.partition("/")[0]].add((it.vendor, it.step_key))
    return found


def _live(run: Any, calls: Sequence[Any]) -> Live:
    return Live(
        status=run.status,
        error=run.error,
        is_ended=run.status in ENDED,
        is_begun=run.attempt > 0 and (run.status in ENDED or run.sequence > 0),
        counters={name: getattr(run, column) for name, column in COUNTERS.items()},
        resumes=run.resumes_recorded,
        calls=[
            LiveCall(
                step=it.step,
                index=it.index,
                step_key=it.step_key,
                fate=it.fate,
                settlement=it.settlement,
            )
            for it in calls
        ],
        before=_before(run),
        is_written_ahead=run.is_written_ahead,
    )


def _before(run: Any) -> dict[str, int]:
    return {"steps": 1, "calls": 1} if run.loop.startswith(APPROVED) else {}
