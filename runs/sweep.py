"""Claim what lapsed, each loss once (rulings 3, 4, 12): the one verb of the leader's thread and of the clusters."""

from __future__ import annotations

import logging
from uuid import UUID

import psycopg
from django.conf import settings

from runs.recovery import claimed

logger = logging.getLogger(__name__)

MOST_CLAIMS = 200
SOMEBODY_RENEWED = "SELECT 1 FROM leases_holder WHERE renew_by > liyagent_now() LIMIT 1"
SWEEP = "SELECT run FROM liyagent_sweep(%s, %s, %s)"


def sweep_lapsed(connection: psycopg.Connection, *, sweeper: UUID) -> list[UUID]:
    """Queue again what a lapsed holder held, never what `sweeper` holds; return the runs, at most 200.

    Claims nothing until `connection` is older than one lease and one sweep (ruling 3), so keep it: a fresh
    one for each sweep never finds anything. Nothing either while nobody at all has renewed: then the server itself
    stood still, its connections whole, and each holder renews as soon as it is asked again. Raises psycopg's errors.
    """
    if connection.execute(SOMEBODY_RENEWED).fetchone() is None:
        return []
    grace = settings.LIYAGENT.lease_seconds + settings.LIYAGENT.sweep_seconds
    rows = connection.execute(SWEEP, (sweeper, MOST_CLAIMS, grace)).fetchall()
    claimed([row[0] for row in rows], cause="lapse")
    if rows:
        logger.warning(
            "claimed %d runs, their lease ran out: %s",
            len(rows),
            ", ".join(str(row[0]) for row in rows),
        )
    return [row[0] for row in rows]
