"""The statement of a start: all that a new run is, in one round trip and one commit (ruling 29)."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db import connection, transaction
from psycopg.types.json import Jsonb

from events.chain import genesis_hash
from liyagent.core.transactions import require_transaction
from missions.context import current_stamp
from runs import hot
from runs.errors import LostLease, NotStarted
from runs.models import Run
from runs.wake import tell_queued

BEGIN = (
    "SELECT * FROM liyagent_start(%s, %s, NULL, %s, %s, %s, %s, %s, %s, %s, %s, %s::smallint, %s, %b, %b, %b, %s, %s,"
    " %s, %s, %s, %s, %s, %s, %s)"
)
# As the connection of a transaction takes it, which is not one of the hot path.
BEGIN_WITHIN = BEGIN.replace("%b", "%s")
PATIENCE_SECONDS = 10.0
_is_within: ContextVar[bool] = ContextVar("is_within", default=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Begun:
    """What the database said of a start. `run_id` is None where `config` is another than was judged by."""

    is_new: bool
    config: int
    run_id: UUID | None
    correlation_id: UUID | None
    body_digest: str


def begin_run(
    run: Run,
    *,
    sealed: bytes,
    config: int,
    acted: list[dict[str, Any]],
    start_key: str,
    body_digest: str,
    told: Mapping[str, Any],
) -> Begun:
    """Store a sealed run, the audit of its start (with `told`) and of the guardrails that `acted`, if `config` still stands.

    A database that is away is waited for, 10 s at most: then `NotStarted` is raised.
    """
    detail = {"agent": run.agent_key, "version": run.agent_version, "entry": run.entry, **told}
    values = (
        run.id, run.correlation_id, run.loop, run.agent_key, run.agent_version, run.entry, run.mission,
        run.request_id, run.started_by, run.recording, run.format, run.key_id, bytes(run.seal), sealed,
        genesis_hash(run.correlation_id), Jsonb(detail), Jsonb(acted), config, start_key, body_digest, run.is_written_ahead,
        run.continues, current_stamp().address, run.workflow,
    )  # fmt: skip
    ((is_new, now, run_id, correlation_id, digest),) = _asked(values)
    return Begun(
        is_new=is_new,
        config=now,
        run_id=run_id,
        correlation_id=correlation_id,
        body_digest=digest,
    )


@contextmanager
def started_within() -> Iterator[None]:
    """Have runs that are started in this block start with the commit of the caller's transaction, or not at all.

    Raises `NoTransaction`. Other processes are told after the commit.
    """
    require_transaction("starting a run together with what it is started for")
    token = _is_within.set(True)
    try:
        yield
    finally:
        _is_within.reset(token)
    transaction.on_commit(tell_queued)


def _asked(values: Sequence[Any]) -> list[tuple[Any, ...]]:
    if _is_within.get():
        with connection.cursor() as cursor:
            cursor.execute(BEGIN_WITHIN, values)
            return list(cursor.fetchall())
    with _patience() as give_up:
        return hot.ask(BEGIN, values, give_up=give_up)


def current_config() -> int:
    """Return the configuration version that stands now. Raises `NotStarted` after 10 s without a database."""
    with _patience() as give_up:
        return hot.config_version(give_up)


@contextmanager
def _patience() -> Iterator[hot.GiveUp]:
    until = time.monotonic() + PATIENCE_SECONDS
    try:
        yield lambda: time.monotonic() > until
    except LostLease as error:
        raise NotStarted from error
