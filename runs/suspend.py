"""A run that waits, or is given back, holds no thread and no lease; what waits is woken through the one door (ruling 39)."""

from __future__ import annotations

from datetime import datetime

from runs import hot
from runs.checkpoint import Checkpoint
from runs.ending import HandedBack

PAUSE = hot.with_events("SELECT * FROM liyagent_pause(%s, %s, %s, %b, %s, %s, EVENTS)")
WAIT = hot.with_events("SELECT * FROM liyagent_wait(%s, %s, %s, %b, %s, EVENTS)")


def go_on_waiting(checkpoint: Checkpoint, *, wakes: int) -> HandedBack:
    """Put a run back to sleep, and return what ends its attempt.

    `wakes` was read before what it waits for was looked at: a wake since then puts it into the queue. Raises `LostLease`.
    """
    fence = checkpoint.next_fence()
    values = (fence.run_id, fence.attempt, fence.sequence, checkpoint.head_seal(), wakes)
    rows = hot.ask(WAIT, (*values, *checkpoint.events.taken()), give_up=checkpoint.give_up)
    hot.told_of(rows, fence)
    return HandedBack()


def pause(
    checkpoint: Checkpoint, *, until: datetime | None, wakes: int | None = None
) -> HandedBack:
    """Put a run to rest until a time, or until it is woken (`until` is None), or whichever comes first; return what ends its attempt.

    `wakes` was read before what it waits for was looked at, None where nobody wakes it. Raises `LostLease`.
    """
    fence = checkpoint.next_fence()
    values = (fence.run_id, fence.attempt, fence.sequence, checkpoint.head_seal(), wakes, until)
    rows = hot.ask(PAUSE, (*values, *checkpoint.events.taken()), give_up=checkpoint.give_up)
    hot.told_of(rows, fence)
    return HandedBack()


def give_back(
    checkpoint: Checkpoint, *, until_settled: bool, handed_over_by: str = ""
) -> HandedBack:
    """Put a run back into the queue without a loss, and return what ends its attempt.

    At once, by the holder that drains (`handed_over_by`), or `until_settled`, once no earlier attempt can send any more.
    Raises `LostLease`.
    """
    if handed_over_by:
        checkpoint.events.add("run.handed_over", holder=handed_over_by)
    hot.release(
        checkpoint.next_fence(),
        seal=checkpoint.head_seal(),
        is_handover=bool(handed_over_by),
        until_settled=until_settled,
        events=checkpoint.events.taken(),
        give_up=checkpoint.give_up,
    )
    return HandedBack()
