"""Tell of claims in spans: one in the story of each run that was lost, which a sweep, or a look at its process, found so."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from functools import partial
from uuid import UUID

from django.db import DatabaseError, InterfaceError, connection

from liyagent.telemetry.kinds import Kind
from liyagent.telemetry.spans import span, story_of, tell_later
from runs.models import Run

logger = logging.getLogger(__name__)

TOLD = (
    "id",
    "correlation_id",
    "parent_id",
    "mission",
    "agent_key",
    "attempt",
    "recording",
    "created_at",
    "losses",
)


def tell_claims(runs: Sequence[UUID], *, cause: str) -> None:
    """Have it told that these runs were claimed now. Whoever claims waits for nothing: the database is asked later."""
    if runs:
        tell_later(partial(_tell, runs, cause))


def _tell(runs: Sequence[UUID], cause: str, at: int) -> None:
    try:
        heads = list(Run.objects.filter(id__in=runs).only(*TOLD))
    except (DatabaseError, InterfaceError) as error:
        logger.warning("%d claims are told in no span, the database is away: %s", len(runs), error)
        return
    finally:
        connection.close()
    for head in heads:
        with story_of(head), span(Kind.SWEEP, cause, at=at) as told:
            told.tell(cause=cause, losses=head.losses)
