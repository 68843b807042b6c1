"""Carry one attempt of a run: what comes next, write ahead, make the calls, until it ends or goes back to the queue.

Only steps after the last one written are decided about anew (CR-15).
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import Never

from liyagent.core.metrics import STEPS
from liyagent.telemetry.spans import story_of
from runs.approved_mind import ApprovedMind
from runs.approved_run import is_approved_run
from runs.attempt import Attempt, Carrier
from runs.authority import refusal_on_resume
from runs.checkpoint import Stored
from runs.ending import Ending, HandedBack, MayNotGoOn, failed
from runs.mind import Mind
from runs.minds import MIND, MINDS
from runs.model_mind import ModelMind
from runs.opening import opened
from runs.undo_run import is_undo_run

logger = logging.getLogger(__name__)


def carry_run(stored: Stored, carrier: Carrier) -> None:
    """Carry an attempt just taken until it ends or is handed back.

    Raises `LostLease` where another process has taken it over, `KeyMissing` where its key is not here.
    """
    with story_of(stored.run):
        checkpoint = opened(stored, holder=carrier.holder, give_up=carrier.give_up)
        if checkpoint is None:
            return
        attempt = Attempt(checkpoint, carrier)
        try:
            go_on(attempt, _mind_of(attempt))
        except HandedBack:
            logger.info("run is carried here no more")
        except MayNotGoOn as over:
            attempt.end(over.ending)


def _mind_of(attempt: Attempt) -> Mind:
    name = attempt.checkpoint.parts[0].get(MIND)
    if name is not None:
        mind: Mind = MINDS[name](attempt)
        return mind
    return ApprovedMind(attempt) if is_approved_run(attempt.run) else ModelMind(attempt)


def go_on(attempt: Attempt, mind: Mind, *, took: Callable[[float], None] = STEPS.observe) -> Never:
    """Go on from the last step written; `took` is told the seconds of each step.

    Raises `MayNotGoOn` with the ending, `HandedBack`, `LostLease`.
    """
    agent, run = attempt.agent(), attempt.run
    # The run of an approved call goes on with what another was asked. What was done is undone whoever has left since.
    is_resume = (run.attempt > 1 or is_approved_run(run)) and not is_undo_run(run)
    # A way in is permitted by the agent that was asked there; who hands work down stands within.
    is_below = bool(attempt.chain)
    if is_resume and (refusal := refusal_on_resume(run, agent, is_handed_down=is_below)):
        raise MayNotGoOn(failed(*refusal))
    mind.begin(agent)
    attempt.resume()
    while True:
        began = time.monotonic()
        step = mind.next()
        if isinstance(step, Ending):
            took(time.monotonic() - began)
            raise MayNotGoOn(step)
        attempt.make(step)
        took(time.monotonic() - began)
