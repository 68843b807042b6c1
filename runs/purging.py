"""Purge events now and then, in whichever process comes to it first (EV-08)."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from uuid import uuid4

from events.purge import ClocksDiffer, purge_events
from liyagent.leases.lease import take_lease
from runs.rounds import ROUNDS, Round

logger = logging.getLogger(__name__)

LEASE, ACTOR = "purge of events", "system"
# What is due shows once a day. A look does a part of it, and leaves the rest to the next: others are kept by the same thread.
DAY_SECONDS, PART_SECONDS = 86_400.0, 60.0
MOST_SECONDS_A_LOOK = 10.0


def purge_now_and_then(give_up: Callable[[], bool]) -> int:
    """Purge what is due for some seconds, unless that was done within a day; return how many events went."""
    turn = uuid4()
    if take_lease(LEASE, holder=turn, seconds=PART_SECONDS) is None:
        return 0
    until = time.monotonic() + MOST_SECONDS_A_LOOK
    try:
        purged = purge_events(actor=ACTOR, give_up=lambda: give_up() or time.monotonic() > until)
    except ClocksDiffer as error:
        logger.error("%s", error)
        return 0
    if purged.is_whole:
        take_lease(LEASE, holder=turn, seconds=DAY_SECONDS)
    return purged.events


ROUNDS["old events"] = Round(look=purge_now_and_then)
