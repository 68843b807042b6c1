"""The hot path's functions, called from outside: plain connections, no Django, one helper a function.

`Fence` says who writes. Each writer of an attempt takes (connection, fence, sequence) and returns the
function's row, or None where it matched nothing.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, LiteralString
from uuid import UUID, uuid4

import psycopg
from psycopg import sql
from psycopg.types.json import Jsonb

from events.chain import genesis_hash
from tests.databases import FreshDatabase

KEY = "k1"
KEPT_TABLES = (
    "runs_run",
    "runs_part",
    "runs_call",
    "events_runevent",
    "events_eventhead",
    "audit_auditrow",
    "transcripts_transcript",
    "approvals_approval",
)
Connection = psycopg.Connection[tuple[Any, ...]]
Row = tuple[Any, ...]
Events = Sequence[tuple[str, str]]
ONE_EVENT: Events = (("step", '{"n":1}'),)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fence:
    """An attempt at a run: what each of its writes must match."""

    run: UUID
    attempt: int
    holder: UUID
    correlation: UUID


class Server:
    """A database and the connections opened to it, closed with the test."""

    def __init__(self, database: FreshDatabase, stack: ExitStack) -> None:
        self.url = database.url
        self._stack = stack
        self._threads = stack.enter_context(ThreadPoolExecutor(4))
        self.watcher = self.connect()

    def connect(self) -> Connection:
        """Return a further session, each statement of it a commit; one that waits for ever fails."""
        return self._stack.enter_context(
            psycopg.connect(self.url, autocommit=True, options="-c statement_timeout=10s")
        )

    def start(self, call: Callable[..., Any], *values: Any) -> Future[Any]:
        """Run `call(*values)` in a thread."""
        return self._threads.submit(call, *values)

    def start_blocked(
        self, connection: Connection, call: Callable[..., Any], *values: Any
    ) -> Future[Any]:
        """Run `call(connection, *values)` in a thread; return once its session waits for another's lock."""
        future = self._threads.submit(call, connection, *values)
        wait_for(lambda: self.is_blocked(connection))
        return future

    def is_blocked(self, connection: Connection) -> bool:
        """Say whether this session waits for a lock."""
        row = self.watcher.execute(
            "SELECT cardinality(pg_blocking_pids(%s)) > 0", [connection.info.backend_pid]
        ).fetchone()
        return bool(row and row[0])


def wait_for(condition: Callable[[], bool], *, seconds: float = 10.0) -> None:
    """Return once the condition holds; fail after `seconds`."""
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until, "waited in vain"
        time.sleep(0.002)


def value(connection: Connection, query: str, *values: Any) -> Any:
    """Return the first column of the only row."""
    row = connection.execute(query, values).fetchone()
    assert row is not None
    return row[0]


def head(connection: Connection, run: UUID, column: str) -> Any:
    """Return one column of a run's head."""
    query = sql.SQL("SELECT {} FROM runs_run WHERE id = %s").format(sql.Identifier(column))
    row = connection.execute(query, [run]).fetchone()
    assert row is not None
    return row[0]


def config(connection: Connection) -> int:
    """The configuration version that every hot statement tells."""
    return int(value(connection, "SELECT version FROM agents_configversion"))


def kept(connection: Connection) -> dict[str, Row | None]:
    """Return a fingerprint of all that the hot path writes, to see that nothing was written."""
    query = (
        "SELECT count(*), md5(coalesce(string_agg(t::text, ' ' ORDER BY t::text), '')) FROM {} t"
    )
    return {
        table: connection.execute(sql.SQL(query).format(sql.Identifier(table))).fetchone()
        for table in KEPT_TABLES
    }


def add_holder(connection: Connection, *, seconds: float = 60.0, is_draining: bool = False) -> UUID:
    """Add a holder whose lease ends in `seconds` (negative: lapsed)."""
    holder = uuid4()
    connection.execute(
        "INSERT INTO leases_holder (id, name, boot_id, pid_namespace, pid, started_ticks, renew_by, formats,"
        " key_ids, is_draining, created_at) VALUES (%s, 'one', 'boot', 'ns', 1, 1,"
        " liyagent_now() + make_interval(secs => %s), '{1}', '{k1}', %s, liyagent_now())",
        [holder, seconds, is_draining],
    )
    return holder


def lapse(connection: Connection, holder: UUID) -> None:
    """Age the holder's lease so that it ran out a second ago."""
    connection.execute(
        "UPDATE leases_holder SET renew_by = liyagent_now() - interval '1 second' WHERE id = %s",
        [holder],
    )


def add_run(
    connection: Connection, *, correlation: UUID | None = None, **columns: Any
) -> tuple[UUID, UUID]:
    """Add a queued run, and the head of its chain if it is a root's; return its id and correlation id."""
    run = uuid4()
    row = {
        "id": run,
        "correlation_id": correlation or run,
        "loop": "root" if correlation is None else str(run),
        "agent_key": "helper",
        "mission": "mission-1",
        "key_id": KEY,
        **columns,
    }
    base = {
        "agent_version": 1, "entry": "playground", "request_id": "", "started_by": "", "recording": "full",
        "status": "queued", "reason": "", "format": 1, "attempt": 0, "losses": 0, "last_loss": "",
        "handovers": 0, "resumes_recorded": 0, "sequence": 0, "wakes": 0, "events_missing": 0, "timeline": 0,
        "model_steps": 0, "calls_made": 0, "input_tokens": 0, "output_tokens": 0, "parts": 1, "seal": b"",
        "stop_requested": False, "stopped_by": "",
    }  # fmt: skip
    row = {**base, **row}
    connection.execute(
        sql.SQL("INSERT INTO runs_run (created_at, {}) VALUES (liyagent_now(), {})").format(
            sql.SQL(", ").join(map(sql.Identifier, row)),
            sql.SQL(", ").join(map(sql.Placeholder, row)),
        ),
        row,
    )
    if correlation is None:
        connection.execute(
            "INSERT INTO events_eventhead (correlation_id, count, hash) VALUES (%s, 0, %s)",
            [run, genesis_hash(run)],
        )
    return run, correlation or run


def take(
    connection: Connection,
    holder: UUID,
    *,
    again: int = 100,
    fresh: int = 100,
    formats: Sequence[int] = (1,),
    keys: Sequence[str] = (KEY,),
) -> list[tuple[UUID, int]]:
    """Take queued runs; return (run, attempt) of each."""
    rows = connection.execute(
        "SELECT run, attempt FROM liyagent_take(%s, %s, %s, %s::int[], %s)",
        [holder, again, fresh, list(formats), list(keys)],
    ).fetchall()
    return [(row[0], row[1]) for row in rows]


def take_one(connection: Connection, holder: UUID, run: UUID) -> list[tuple[UUID, int]]:
    """Take exactly this run; return (run, attempt) where it was to be had."""
    rows = connection.execute(
        "SELECT run, attempt FROM liyagent_take_one(%s, %s, '{1}', %s)", [holder, run, [KEY]]
    ).fetchall()
    return [(row[0], row[1]) for row in rows]


def start_run(
    connection: Connection,
    *,
    holder: UUID | None = None,
    correlation: UUID | None = None,
    **columns: Any,
) -> Fence:
    """Add a run and take it; without `holder`, for a new one."""
    holder = holder or add_holder(connection)
    run, chain = add_run(connection, correlation=correlation, **columns)
    attempt = dict(take(connection, holder))[run]
    return Fence(run=run, attempt=attempt, holder=holder, correlation=chain)


def retake(connection: Connection, fence: Fence, holder: UUID) -> Fence:
    """Take a run again for `holder`; one that was lost twice by its own door."""
    attempt = dict(take(connection, holder) or take_one(connection, holder, fence.run))[fence.run]
    return replace(fence, attempt=attempt, holder=holder)


def claim(connection: Connection, fence: Fence, *, proven: UUID | None = None) -> list[Row]:
    """Claim this attempt of the run as lost; return (run, attempt, losses) where that won."""
    return connection.execute(
        "SELECT run, attempt, losses FROM liyagent_claim(%s, %s::int[], %s, %s)",
        [[fence.run], [fence.attempt], "proof" if proven else "lapse", proven],
    ).fetchall()


def sweep(
    connection: Connection, sweeper: UUID | None, *, limit: int = 100, grace: float = 0.0
) -> list[Row]:
    """Claim what lapsed; return (run, attempt, losses) of each."""
    return connection.execute(
        "SELECT run, attempt, losses FROM liyagent_sweep(%s, %s, %s)", [sweeper, limit, grace]
    ).fetchall()


def fenced(
    connection: Connection,
    function: str,
    fence: Fence,
    sequence: int,
    values: Sequence[Any],
    *,
    casts: Mapping[int, LiteralString] = MappingProxyType({}),
) -> Row | None:
    """Call a hot function with the fence first; `casts` say how the values at these places are written."""
    given = (fence.run, fence.attempt, sequence, b"seal %d" % sequence, *values)
    holes = [sql.SQL(casts.get(at, "%s")) for at in range(-4, len(values))]
    query = sql.SQL("SELECT * FROM {}({})").format(
        sql.Identifier(f"liyagent_{function}"), sql.SQL(", ").join(holes)
    )
    return connection.execute(query, given).fetchone()


def arrays(events: Events) -> tuple[list[str], list[str]]:
    """Return events as the hot functions take them: kinds, and contents."""
    return [kind for kind, _ in events], [content for _, content in events]


def step(
    connection: Connection,
    fence: Fence,
    sequence: int,
    *,
    part: int | None = None,
    events: Events = ONE_EVENT,
) -> Row | None:
    """Write a model step; its part's number is the sequence unless named."""
    values = (1, 1, 10, 5, 0, sequence if part is None else part, b"part", *arrays(events))
    return fenced(connection, "step", fence, sequence, values)


def mark(
    connection: Connection,
    fence: Fence,
    sequence: int,
    *,
    index: int = 0,
    intent: str = "digest",
    key: str = "",
    sealed: bytes = b"sealed",
) -> Row | None:
    """Mark the call `index` of step 1."""
    values = (
        1,
        index,
        f"call-{index}",
        "jira",
        "create_issue",
        key or f"key-{index}",
        True,
        60,
        intent,
        sealed,
    )
    return fenced(connection, "mark", fence, sequence, values)


def settle(
    connection: Connection,
    fence: Fence,
    sequence: int,
    *,
    index: int = 0,
    fate: str = "done",
    late: float | None = None,
    events: Events = ONE_EVENT,
) -> Row | None:
    """Settle the call `index` of step 1, with an audit row."""
    values = (
        1,
        index,
        fate,
        "routed",
        b"outcome",
        late,
        "tool.call",
        Jsonb({"index": index}),
        *arrays(events),
    )
    return fenced(connection, "settle", fence, sequence, values)


def flush(
    connection: Connection, fence: Fence, sequence: int, *, events: Events = ONE_EVENT
) -> Row | None:
    """Flush events and an audit row alone."""
    values = (1, "agent.run.crash_resumed", Jsonb({}), *arrays(events))
    return fenced(connection, "flush", fence, sequence, values)


def finish(
    connection: Connection,
    fence: Fence,
    sequence: int,
    *,
    status: str = "answered",
    late: float = 30.0,
    events: Events = (("run.ended", "{}"),),
) -> Row | None:
    """End the run with a transcript and an audit row."""
    values = (
        status,
        "",
        "",
        2,
        1,
        20,
        9,
        0,
        b"transcript",
        late,
        "agent.run.ended",
        Jsonb({}),
        *arrays(events),
    )
    return fenced(connection, "finish", fence, sequence, values)


def release(
    connection: Connection,
    fence: Fence,
    sequence: int,
    *,
    is_handover: bool = True,
    until_settled: bool = False,
    events: Events = ONE_EVENT,
) -> Row | None:
    """Give the run back without a loss."""
    return fenced(
        connection, "release", fence, sequence, (is_handover, until_settled, *arrays(events))
    )


def mark_second(connection: Connection, fence: Fence, sequence: int) -> Row | None:
    """Mark the second call of step 1: the one that `begin` left unmarked."""
    return mark(connection, fence, sequence, index=1, intent="second")


Writer = Callable[[Connection, Fence, int], Row | None]
# Every write of an attempt, such that each fits as the third one after `begin`.
WRITERS: tuple[Writer, ...] = (step, mark_second, settle, flush, finish, release)
NEXT = 3


def begin(connection: Connection, *, holder: UUID | None = None) -> Fence:
    """Start a run with a step written (sequence 1) and its first call marked (sequence 2); `NEXT` is due."""
    fence = start_run(connection, holder=holder)
    assert step(connection, fence, 1) is not None
    assert mark(connection, fence, 2) is not None
    return fence
