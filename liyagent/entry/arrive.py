"""Receive: one row for one delivery, stored before anybody is answered (ruling 29)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import connection, transaction
from psycopg.types.json import Jsonb

from liyagent.core.errors import BadInput
from liyagent.core.ids import new_id
from liyagent.core.traceparent import TRACEPARENT
from liyagent.leases.own import OWN
from missions.context import current_stamp
from runs.checkpoint import keyring
from runs.models import CHECKPOINT_FORMAT

ARRIVAL = "arrival"
LONGEST_DELIVERY_ID = 255
# Whoever received it starts it at once; another does after this time, or once the first is known to have died.
IN_HAND_SECONDS = 10
# A start that could not be made for so long is told as refused.
PATIENCE_SECONDS = 86_400

RECEIVE = """
INSERT INTO entry_arrival (run_id, way, source, delivery_id, body_digest, agent_key, started_by, mission, request_id, sealed,
        key_id, state, reason, outcome, received_at, next_at, give_up_at, claimed_until, claimed_by, attempts, ended_at)
    SELECT %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, '', it.now, it.now, it.now + make_interval(secs => %s),
        it.now + make_interval(secs => %s), %s, 1, CASE WHEN %s = 'skipped' THEN it.now END
        FROM (SELECT liyagent_now() AS now OFFSET 0) AS it
    ON CONFLICT ON CONSTRAINT entry_one_arrival_per_delivery DO NOTHING
    RETURNING run_id
"""
OWE = """
INSERT INTO entry_delivery (run_id, way, kind, number, address, state, created_at, next_at, give_up_at)
    SELECT %s, %s, %s, %s, %s, %s, it.now, it.now, it.now + make_interval(secs => %s)
        FROM (SELECT liyagent_now() AS now OFFSET 0) AS it
    ON CONFLICT ON CONSTRAINT entry_one_delivery_of_a_kind DO NOTHING
"""
FIND = "SELECT run_id FROM entry_arrival WHERE way = %s AND source = %s AND delivery_id = %s"


@dataclass(frozen=True, slots=True, kw_only=True)
class Owed:
    """A delivery that is owed for an arrival: `waiting` for the run's end, or `pending` at once."""

    kind: str
    address: dict[str, Any]
    number: int = 0
    state: str = "waiting"


@dataclass(frozen=True, slots=True, kw_only=True)
class Arriving:
    """What came in. `words` are plain data: `task`, and `history` where there is one."""

    way: str
    source: str
    delivery_id: str
    agent_key: str
    started_by: str
    words: dict[str, Any]
    mission: str = ""
    request_id: str = ""
    traceparent: str = ""
    body_digest: str = ""
    owed: Sequence[Owed] = field(default_factory=tuple)
    skipped: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrived:
    """The row that stands now; `is_new` is false where this delivery had come before."""

    run_id: UUID
    is_new: bool


def arrive(arriving: Arriving) -> Arrived:
    """Keep an arrival and what is owed for it, in one commit; the same delivery again finds the first, whatever its body.

    Nothing is started: `begin_arrival` does that, at once by whoever received it. Where `skipped` says why, nothing ever
    is. What names no mission gets that of the request that brings it. Raises `BadInput` for a delivery id that cannot be kept.
    """
    with transaction.atomic(durable=True):
        return keep_arrival(arriving)


def keep_arrival(arriving: Arriving) -> Arrived:
    """Do the same within the caller's transaction, which moves a cursor of its own along."""
    if not 1 <= len(arriving.delivery_id) <= LONGEST_DELIVERY_ID:
        raise BadInput(
            f"the delivery's id has {len(arriving.delivery_id)} characters; "
            f"it wants 1 to {LONGEST_DELIVERY_ID}"
        )
    run_id = new_id()
    state = "skipped" if arriving.skipped else "received"
    with connection.cursor() as cursor:
        cursor.execute(RECEIVE, _row(arriving, run_id, state))
        is_new = cursor.rowcount == 1
        if not is_new:
            cursor.execute(FIND, [arriving.way, arriving.source, arriving.delivery_id])
            (found,) = cursor.fetchone()
            return Arrived(run_id=found, is_new=False)
        for it in arriving.owed:
            owed: list[Any] = [
                run_id,
                arriving.way,
                it.kind,
                it.number,
                Jsonb(it.address),
                it.state,
            ]
            cursor.execute(OWE, [*owed, PATIENCE_SECONDS])
    return Arrived(run_id=run_id, is_new=True)


def _row(arriving: Arriving, run_id: UUID, state: str) -> list[Any]:
    ring = keyring()
    sealer = ring.sealer(key_id=ring.newest, run_id=run_id, format_number=CHECKPOINT_FORMAT)
    stamp = current_stamp()
    # Whoever starts it links its trace to the caller's.
    traceparent = arriving.traceparent or stamp.traceparent
    known = {TRACEPARENT: traceparent} if traceparent and settings.LIYAGENT.traces else {}
    sealed = sealer.seal({**arriving.words, **known}, kind=ARRIVAL, number=0)
    return [
        run_id, arriving.way, arriving.source, arriving.delivery_id, arriving.body_digest, arriving.agent_key,
        arriving.started_by, arriving.mission or stamp.mission, arriving.request_id or stamp.request_id, None if arriving.skipped else sealed, ring.newest,
        state, arriving.skipped[:500], PATIENCE_SECONDS, IN_HAND_SECONDS, OWN.holder, state,
    ]  # fmt: skip
