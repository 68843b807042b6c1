"""Register a life of a process as a holder, and end it."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from uuid import UUID

import psycopg
from django.db import connection

from liyagent.leases.identity import Identity
from liyagent.leases.models import Holder


def register_holder(
    identity: Identity,
    *,
    name: str,
    lease_seconds: float,
    formats: Sequence[int],
    key_ids: Sequence[str],
) -> UUID:
    """Store a new holder, alive for one lease from now by the database's clock, and return its id."""
    holder_id = uuid.uuid4()
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO leases_holder (id, name, boot_id, pid_namespace, pid, started_ticks, renew_by,"
            " formats, key_ids, is_draining, created_at) VALUES (%s, %s, %s, %s, %s, %s,"
            " liyagent_now() + make_interval(secs => %s), %s, %s, false, liyagent_now())",
            [
                holder_id,
                name,
                identity.boot_id,
                identity.pid_namespace,
                identity.pid,
                identity.started_ticks,
                lease_seconds,
                list(formats),
                list(key_ids),
            ],
        )
    return holder_id


def start_draining(holder_id: UUID) -> None:
    """Take no more runs from now on."""
    Holder.objects.filter(id=holder_id).update(is_draining=True)


def end_holder(holder_id: UUID) -> None:
    """Forget a holder that holds nothing any more: a drained one, or one proven dead and claimed from."""
    Holder.objects.filter(id=holder_id).delete()


NEIGHBOURS = (
    "SELECT id, pid, started_ticks FROM leases_holder"
    " WHERE boot_id = %s AND pid_namespace = %s AND id <> %s LIMIT 1000"
)


def neighbours(
    connection: psycopg.Connection, *, identity: Identity, but: UUID
) -> list[tuple[UUID, int, int]]:
    """Return (id, pid, started_ticks) of the other holders whose death can be proven from here."""
    place = (identity.boot_id, identity.pid_namespace, but)
    return [(it[0], it[1], it[2]) for it in connection.execute(NEIGHBOURS, place).fetchall()]


def prune_holders(*, older_than_seconds: float) -> int:
    """Forget holders that have not renewed for long; a run whose holder has no row counts as lapsed."""
    with connection.cursor() as cursor:
        cursor.execute(
            "DELETE FROM leases_holder WHERE renew_by < liyagent_now() - make_interval(secs => %s)",
            [older_than_seconds],
        )
        return int(cursor.rowcount)
