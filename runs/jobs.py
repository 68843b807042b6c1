"""What django-q2 runs for this room, and how the leader rings it (rulings 12 and 33)."""

from __future__ import annotations

import logging
import os
from uuid import UUID

import psycopg
from django.conf import settings
from django.db import connection as django_connection
from django.db.models.functions import Now
from django_q.conf import Conf
from django_q.models import OrmQ
from django_q.tasks import async_task

from liyagent.core.database import direct_connection
from liyagent.leases.identity import own_identity
from liyagent.leases.models import Holder
from runs.hand_off import hand_off_due
from runs.hot import AWAY
from runs.sweep import sweep_lapsed

logger = logging.getLogger(__name__)

SWEEP_JOB = "runs.jobs.sweep"
# Rings that a cluster took and died of come back after `retry`; no more than this many ever lie about.
MOST_QUEUED = 20
SERVED_BY = "LIYAGENT_SERVED_BY"


def ring_sweep(leader: UUID) -> bool:
    """Ring the clusters to sweep, unless a ring still waits or too much lies about; whether it rang."""
    queued = OrmQ.objects.filter(key=Conf.CLUSTER_NAME)
    if queued.filter(lock__lte=Now()).exists() or queued[:MOST_QUEUED].count() == MOST_QUEUED:
        return False
    async_task(SWEEP_JOB, str(leader), save=False)
    return True


def sweep(leader_holder_id: str) -> None:
    """Sweep for the process that this cluster belongs to, or for the leader that rang where it belongs to none, and hand
    off what failed runs left.

    Never raises. A database that is away is told and left to the next ring.
    """
    try:
        sweep_lapsed(_connection(), sweeper=_own_holder() or UUID(leader_holder_id))
        hand_off_due()
    except AWAY as error:
        logger.warning("not swept for %s, the database is away: %s", leader_holder_id, error)
        _disconnect()
    except Exception:
        logger.exception("the sweep that %s rang for went wrong", leader_holder_id)
        _disconnect()


def _own_holder() -> UUID | None:
    """Holder of the `serve` above us, whose runs we leave alone: it gives them back itself (ruling 12)."""
    served_by = os.environ.get(SERVED_BY)
    if not served_by:
        return None
    here = own_identity()
    lives = Holder.objects.filter(
        boot_id=here.boot_id, pid_namespace=here.pid_namespace, pid=int(served_by)
    )
    return lives.order_by("-created_at").values_list("id", flat=True).first()


_kept: dict[str, psycopg.Connection] = {}


def _connection() -> psycopg.Connection:
    """Return the connection of this worker process: its age is part of the grace."""
    url = settings.LIYAGENT.direct_database_url
    kept = _kept.get(url)
    if kept is None or kept.closed:
        kept = _kept[url] = direct_connection()
    return kept


def _disconnect() -> None:
    django_connection.close()
    while _kept:
        _kept.popitem()[1].close()


os.register_at_fork(after_in_child=_kept.clear)
