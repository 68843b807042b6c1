"""The hot statements of an attempt, one round trip and one commit each; that of a start is in `begin.py`.

Each is asked again, with the same sequence, until the database has answered: a lost answer is then told
apart from a lost lease by the function itself (ruling 5). A database that is away is waited for; what ends
the wait is `give_up`, which says that this attempt is no longer wanted here.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar
from uuid import UUID

import psycopg
from psycopg.types.json import Jsonb
from psycopg_pool import PoolTimeout

from liyagent.core.clock import boottime
from liyagent.core.database import hot_pool
from liyagent.core.hot_connection import HotConnection
from liyagent.core.metrics import STATEMENT_RETRIES, STATEMENTS
from runs.errors import LostLease

logger = logging.getLogger(__name__)

FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 0.02, 1.0
# A server that was made a standby answers and refuses to write: the one that took its place is waited for.
AWAY = (
    psycopg.OperationalError,
    psycopg.InterfaceError,
    PoolTimeout,
    psycopg.errors.ReadOnlySqlTransaction,
)
# Too large or too complex for the server (SQLSTATE class 54): it is there, and would say so again for ever.
TOO_MUCH = "54"

GiveUp = Callable[[], bool]
# Kinds and contents, each a line: one text is dumped several times faster than an array, and canonical JSON has no
# line's end in it.
Events = tuple[str, str]
AS_ARRAYS = r"string_to_array(%b, E'\n'), string_to_array(%b, E'\n')"
T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What every statement of an attempt is told back: whether a person stopped the run, and the configuration version."""

    stop: bool
    config: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Marked:
    """A stored mark. `deadline` is on this process's own clock, measured from before it was asked for (ruling 1)."""

    stop: bool
    config: int
    deadline: float
    same_intent: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Fence:
    """Which attempt writes, and the number of this write."""

    run_id: UUID
    attempt: int
    sequence: int


def ask(
    sql: str, values: Sequence[Any], *, give_up: GiveUp, meanwhile: Callable[[], None] | None = None
) -> list[tuple[Any, ...]]:
    """Run one hot statement, again while the database is away. Raises `LostLease` once `give_up` says so.

    `meanwhile` is run while the database is at it, each time that it is asked.
    """

    def answer(connection: HotConnection) -> list[tuple[Any, ...]]:
        if meanwhile is not None:
            return connection.execute_meanwhile(sql, values, meanwhile)
        return connection.execute(sql, values, binary=True).fetchall()

    return _until_answered(answer, give_up=give_up)


def ask_together(
    questions: Sequence[tuple[str, Sequence[Any]]], *, give_up: GiveUp
) -> list[list[tuple[Any, ...]]]:
    """Run several reads in one round trip, otherwise as `ask`."""

    def answer(connection: HotConnection) -> list[list[tuple[Any, ...]]]:
        with connection.pipeline():
            cursors = [connection.execute(sql, values, binary=True) for sql, values in questions]
        return [cursor.fetchall() for cursor in cursors]

    return _until_answered(answer, give_up=give_up)


def _until_answered(question: Callable[[HotConnection], T], *, give_up: GiveUp) -> T:
    pause, began = FIRST_PAUSE_SECONDS, time.perf_counter()
    while True:
        try:
            pool = hot_pool()
            # Not `pool.connection()`: that commits at its end, which an autocommit statement has no use for.
            connection = pool.getconn()
            try:
                answer = _answer(question, connection)
            finally:
                pool.putconn(connection)
        except AWAY as error:
            if (error.sqlstate or "").startswith(TOO_MUCH):
                raise
            if give_up():
                raise LostLease(
                    "the database is away and this attempt is no longer wanted"
                ) from error
            logger.warning("database away, asking again in %.2f s: %s", pause, error)
        else:
            STATEMENTS.observe(time.perf_counter() - began)
            return answer
        STATEMENT_RETRIES.inc()
        time.sleep(pause)
        pause = min(pause * 2, LONGEST_PAUSE_SECONDS)


def _answer(question: Callable[[HotConnection], T], connection: HotConnection) -> T:
    try:
        return question(connection)
    except psycopg.errors.ReadOnlySqlTransaction:
        # It stays with its standby: the next one is made anew.
        connection.close()
        raise


def config_version(give_up: GiveUp) -> int:
    """Return the configuration version now."""
    return int(ask("SELECT liyagent_config_version()", (), give_up=give_up)[0][0])


def database_now(give_up: GiveUp) -> datetime:
    """Return the database's time (ruling 1)."""
    now: datetime = ask("SELECT liyagent_now()", (), give_up=give_up)[0][0]
    return now


STOPPED_BY = """
SELECT stopped_by, (
    SELECT detail->>'reason' FROM audit_auditrow
    WHERE run_id = runs_run.id AND action = 'agent.run.stop_requested' ORDER BY id DESC LIMIT 1
) FROM runs_run WHERE id = %s"""


def stopped_by(run_id: UUID, *, give_up: GiveUp) -> str:
    """Return who stopped a run and why: `stopped by olga: wrong host`."""
    who, why = ask(STOPPED_BY, (run_id,), give_up=give_up)[0]
    return f"stopped by {who or 'a person'}" + (f": {why}" if why else "")


def told_of(rows: list[tuple[Any, ...]], fence: Fence) -> Told:
    """Return what a statement told this attempt. Raises `LostLease` where it matched nothing."""
    if not rows:
        raise LostLease(run_id=fence.run_id, attempt=fence.attempt, sequence=fence.sequence)
    return Told(stop=rows[0][0], config=rows[0][1])


def with_events(statement: str) -> str:
    """Return a statement that takes events along, by the word EVENTS where they stand."""
    return statement.replace("EVENTS", AS_ARRAYS)


STEP = with_events(
    "SELECT * FROM liyagent_step(%s, %s, %s, %b, %s, %s, %s, %s, %s, %s, %b, EVENTS)"
)
MARK = "SELECT * FROM liyagent_mark(%s, %s, %s, %b, %s, %s, %s, %s, %s, %s, %s, %s, %s, %b, %s)"
SETTLE = with_events(
    "SELECT * FROM liyagent_settle(%s, %s, %s, %b, %s, %s, %s, %s, %b, %s, %s, %s, EVENTS, %s, %b, %s)"
)
FLUSH = with_events("SELECT * FROM liyagent_flush(%s, %s, %s, %b, %s, %s, %s, EVENTS)")
RELEASE = with_events("SELECT * FROM liyagent_release(%s, %s, %s, %b, %s, %s, EVENTS)")
TAKE = "SELECT * FROM liyagent_take(%s, %s, %s, %s, %s)"
TAKE_ONE = "SELECT * FROM liyagent_take_one(%s, %s, %s, %s)"
DUE_ALONE = "SELECT * FROM liyagent_due_alone(%s, %s, %s)"
CLAIM = "SELECT * FROM liyagent_claim(%s, %s, %s, NULL)"
FINISH = with_events(
    "SELECT * FROM liyagent_finish("
    "%s, %s, %s, %b, %s, %s, %s, %s, %s, %s, %s, %s, %b, %s, %s, %s, EVENTS, %s, %b, %b, %b)"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Counters:
    """How much a run has used so far; stored on its head, under its seal."""

    steps: int = 0
    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost_micros: int = 0

    def values(self) -> tuple[int, int, int, int, int]:
        """Return them in the order of the head's columns."""
        return self.steps, self.calls, self.input_tokens, self.output_tokens, self.cost_micros


@dataclass(frozen=True, slots=True, kw_only=True)
class Audit:
    """An audit row that rides in a statement's commit."""

    action: str = ""
    detail: dict[str, Any] | None = None

    def values(self) -> tuple[str, Jsonb]:
        """Return them in the order of the functions' parameters."""
        return self.action, Jsonb(self.detail or {})


NO_AUDIT = Audit()


@dataclass(frozen=True, slots=True, kw_only=True)
class SagaRide:
    """What rides in a commit for the run's saga: facts and sealed pieces, as `sagas/sql/saga.sql` takes them."""

    facts: dict[str, Any] | None = None
    sealed: tuple[bytes | None, ...] = (None,)

    def values(self) -> tuple[Jsonb | bytes | None, ...]:
        """Return them in the order of the functions' parameters."""
        return None if self.facts is None else Jsonb(self.facts), *self.sealed


NO_UNDO = SagaRide()
NO_SAGA = SagaRide(sealed=(None, None, None))


def write_step(
    fence: Fence,
    *,
    seal: bytes,
    counters: Counters,
    part: int,
    sealed: bytes,
    events: Events,
    give_up: GiveUp,
    meanwhile: Callable[[], None],
) -> Told:
    """Write the checkpoint of a model step that asked for calls (CR-09). Raises `LostLease`. `meanwhile` as in `ask`."""
    values = (fence.run_id, fence.attempt, fence.sequence, seal, *counters.values(), part, sealed)
    rows = ask(STEP, (*values, *events), give_up=give_up, meanwhile=meanwhile)
    return told_of(rows, fence)


def write_mark(
    fence: Fence,
    *,
    seal: bytes,
    step: int,
    index: int,
    provider_call_id: str,
    server: str,
    tool: str,
    key: str,
    has_identity: bool,
    key_window_seconds: int,
    intent: str,
    sealed: bytes,
    give_up: GiveUp,
    handoff: dict[str, Any] | None = None,
) -> Marked:
    """Mark a call in doubt just before it is made (CR-10); seen stored when this returns. Raises `LostLease`.

    `handoff` rides in its commit: what is handed over by the call, as `liyagent_hand` takes it (HO-03). A mark whose answer was lost is asked for again, and its remaining time is measured from before that.
    """
    values = (fence.run_id, fence.attempt, fence.sequence, seal, step, index, provider_call_id)
    what = (server, tool, key, has_identity, key_window_seconds, intent, sealed, _ride(handoff))
    asked_at = boottime()

    def ask_again() -> bool:
        nonlocal asked_at
        asked_at = boottime()
        return give_up()

    rows = ask(MARK, (*values, *what), give_up=ask_again)
    if not rows:
        raise LostLease(run_id=fence.run_id, attempt=fence.attempt, sequence=fence.sequence)
    stop, config, seconds_left, same_intent = rows[0]
    return Marked(
        stop=stop, config=config, deadline=asked_at + seconds_left, same_intent=same_intent
    )


def write_settled(
    fence: Fence,
    *,
    seal: bytes,
    step: int,
    index: int,
    fate: str,
    settlement: str,
    outcome: bytes | None,
    late_look_seconds: float | None,
    audit: Audit,
    undo: SagaRide,
    events: Events,
    give_up: GiveUp,
    handoff: dict[str, Any] | None = None,
) -> Told:
    """Keep what a marked call came back with, how it is undone, its audit row and events in one commit. Raises `LostLease`.

    `handoff` as in `write_mark`: what came back of it.
    """
    values = (fence.run_id, fence.attempt, fence.sequence, seal, step, index, fate, settlement)
    rest = (outcome, late_look_seconds, *audit.values(), *events, *undo.values(), _ride(handoff))
    return told_of(ask(SETTLE, (*values, *rest), give_up=give_up), fence)


def _ride(handoff: dict[str, Any] | None) -> Jsonb | None:
    return None if handoff is None else Jsonb(handoff)


def flush(
    fence: Fence,
    *,
    seal: bytes,
    resumes: int,
    audit: Audit,
    events: Events,
    give_up: GiveUp,
) -> Told:
    """Write buffered events and an audit row alone. Raises `LostLease`."""
    values = (fence.run_id, fence.attempt, fence.sequence, seal, resumes, *audit.values(), *events)
    return told_of(ask(FLUSH, values, give_up=give_up), fence)


def release(
    fence: Fence,
    *,
    seal: bytes,
    is_handover: bool,
    until_settled: bool,
    events: Events,
    give_up: GiveUp,
) -> Told:
    """Give the run back to the queue without a loss. Raises `LostLease`."""
    values = (fence.run_id, fence.attempt, fence.sequence, seal, is_handover, until_settled)
    return told_of(ask(RELEASE, (*values, *events), give_up=give_up), fence)


def finish(
    fence: Fence,
    *,
    seal: bytes,
    status: str,
    reason: str,
    error: str,
    counters: Counters,
    transcript: bytes | None,
    late_look_seconds: float | None,
    audit: Audit,
    saga: SagaRide,
    events: Events,
    give_up: GiveUp,
) -> Told:
    """End the run: status, transcript, audit, what is undone and last events in one commit. Raises `LostLease`."""
    values = (fence.run_id, fence.attempt, fence.sequence, seal, status, reason, error)
    rest = (
        *counters.values(),
        transcript,
        late_look_seconds,
        *audit.values(),
        *events,
        *saga.values(),
    )
    return told_of(ask(FINISH, (*values, *rest), give_up=give_up), fence)


def take(
    holder: UUID,
    *,
    again: int,
    fresh: int,
    formats: Sequence[int],
    key_ids: Sequence[str],
    give_up: GiveUp,
) -> list[tuple[UUID, int]]:
    """Take up to `again` runs that ran before and `fresh` new ones: (run, attempt) each."""
    rows = ask(TAKE, (holder, again, fresh, list(formats), list(key_ids)), give_up=give_up)
    return [(run, attempt) for run, attempt in rows]


def take_one(
    holder: UUID, run_id: UUID, *, formats: Sequence[int], key_ids: Sequence[str], give_up: GiveUp
) -> list[tuple[UUID, int]]:
    """Take exactly this run if it is queued and due: (run, attempt), or nothing (ruling 11)."""
    rows = ask(TAKE_ONE, (holder, run_id, list(formats), list(key_ids)), give_up=give_up)
    return [(run, attempt) for run, attempt in rows]


def due_alone(
    *, formats: Sequence[int], key_ids: Sequence[str], limit: int, give_up: GiveUp
) -> dict[UUID, bool]:
    """Return queued runs with two losses that are due, which `take` leaves, and whether each was stopped; those first."""
    rows = ask(DUE_ALONE, (list(formats), list(key_ids), limit), give_up=give_up)
    return dict(rows)


def mine(holder: UUID, *, give_up: GiveUp) -> list[tuple[UUID, int]]:
    """Return the running rows of a holder: how a take whose answer was lost is found (ruling 5)."""
    rows = ask("SELECT * FROM liyagent_mine(%s)", (holder,), give_up=give_up)
    return [(run, attempt) for run, attempt in rows]


def claim(runs: Sequence[tuple[UUID, int]], *, cause: str, give_up: GiveUp) -> list[UUID]:
    """Count attempts as lost and queue their runs: those that are still running so."""
    ids, attempts = [run for run, _ in runs], [attempt for _, attempt in runs]
    rows = ask(CLAIM, (ids, attempts, cause), give_up=give_up)
    return [row[0] for row in rows]


def hand_over(holder: UUID, *, give_up: GiveUp) -> list[UUID]:
    """Queue all that a holder still carries, without a loss."""
    return [
        row[0] for row in ask("SELECT * FROM liyagent_hand_over(%s)", (holder,), give_up=give_up)
    ]
