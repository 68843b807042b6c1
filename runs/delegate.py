"""Hand work to a sub-agent, and find its answer by the delegation key (CR-23, ruling 32)."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.conf import settings
from psycopg.types.json import Jsonb

from liyagent.agents.guardrails import screen
from liyagent.core.ids import new_id
from liyagent.core.plain import clean_text
from liyagent.core.seal import KeyMissing, SealBroken
from liyagent.gateway.outcome import Fate, Outcome, Payload, Verdict
from liyagent.transcripts.models import Transcript
from runs import hot
from runs.authority import AgentNow, agent_now
from runs.checkpoint import (
    Checkpoint,
    keyring,
    seal_begun,
    sealer_of,
    started_as,
    stored_rows,
)
from runs.conversation import start_part
from runs.ending import HandedBack
from runs.errors import LostLease
from runs.family import CHAIN, chain_of
from runs.file_call import intent_of
from runs.finish import TRANSCRIPT
from runs.guard import facts_of, masked_start
from runs.handed import NAME, Handed
from runs.handing import Ride, hand_to_agent, tell_written
from runs.in_doubt import UNKNOWN_TEXT
from runs.marks import SealedMark
from runs.models import Call, Run, RunStatus
from runs.suspend import give_back

logger = logging.getLogger(__name__)

DELEGATE = hot.with_events(
    "SELECT * FROM liyagent_delegate("
    "%s, %s, %s, %b, %s, %s, %s, %s, %s, %s, %s, %s, %b, %s, %s, %s, %s, %s, %s::smallint, %s, %b, %b, %s, EVENTS, %s)"
)
WAIT = hot.with_events("SELECT * FROM liyagent_wait_for_child(%s, %s, %s, %b, %s, EVENTS)")
COME_BACK = (
    "UPDATE runs_run SET settle_after = GREATEST(settle_after, liyagent_now() + make_interval(secs => %s))"
    " WHERE id = %s AND attempt = %s AND status = 'running' RETURNING id"
)
NOT_STORED = (
    "this run was started as one that is not written ahead (TICKETIQ_CRASH_RESUME_ENTRIES), and cannot wait for "
    "another agent; a run started from now on can"
)
STOPPED = "Refused: this run was stopped by a person."
ENDED_OTHERWISE = (
    "The agent {agent} ended as {status}{reason}. What it did until then stands in run {run}."
)
NOT_TOLD = (
    "The agent {agent} answered, and its answer cannot be told: {why}. It stands in run {run}."
)


def delegate(
    checkpoint: Checkpoint,
    verdict: Verdict,
    payload: Payload,
    *,
    step: int,
    has_identity: bool,
    approval: UUID | None = None,
) -> Outcome | None:
    """Start the child and put the parent to sleep, in one commit; `approval` is consumed by it.

    An outcome says why there is no child. None: nothing was written, and it is to be judged again, since the configuration
    is no longer the one that it was judged by, or its approval no longer stands. Raises `HandedBack` once it sleeps,
    `LostLease`.
    """
    call, place = verdict.call, (step, verdict.call.index)
    agent = agent_now(call.tool, config=checkpoint.config)
    refusal = _refusal(agent, call.tool)
    if not checkpoint.run.is_written_ahead:
        refusal = NOT_STORED
    if agent is None or refusal:
        return Outcome(fate=Fate.REFUSED, error=f"Refused (delegation): {refusal}")
    was_marked, judged_by = place in checkpoint.open_marks, checkpoint.config
    checkpoint.open_marks.add(place)
    checkpoint.held.discard(place)
    child = _child_of(checkpoint.run, agent, key=payload.key)
    chain = (*chain_of(checkpoint), checkpoint.run.agent_key)
    begun = _begun(checkpoint, child, agent, task=payload.args["task"], chain=chain)
    mark = SealedMark(
        payload=payload,
        has_identity=has_identity,
        key_window_seconds=0,
        marked_after=checkpoint.database_time(),
        approval=str(approval or ""),
        handoff=begun.handed,
    )
    tell_written(checkpoint, begun.handed)
    fence = checkpoint.next_fence()
    values = (
        fence.run_id, fence.attempt, fence.sequence, checkpoint.head_seal(), step, call.index,
        call.provider_call_id[:200], call.server, call.tool, payload.key, has_identity, intent_of(payload),
        mark.seal(checkpoint.sealer, step=step, index=call.index), judged_by, approval, child.id, child.agent_version,
        child.recording, child.format, child.key_id, begun.seal, begun.start, Jsonb(begun.facts), *checkpoint.events.taken(),
        Jsonb(begun.ride),
    )  # fmt: skip
    rows = hot.ask(DELEGATE, values, give_up=checkpoint.give_up)
    told, is_handed = hot.told_of(rows, fence), rows[0][2]
    if is_handed:
        raise HandedBack
    checkpoint.events.take_back()
    if was_marked:
        checkpoint.held.add(place)
    else:
        checkpoint.open_marks.discard(place)
    checkpoint.stop, checkpoint.config = told.stop, told.config
    return Outcome(fate=Fate.REFUSED, error=STOPPED) if told.stop and approval is None else None


def answer_of_child(checkpoint: Checkpoint, row: Call) -> Outcome:
    """Ask again by the delegation key: the child's answer, or what it ended as. Raises `HandedBack` while it is at it.

    A child that was lost is claimed by the sweep as any run is, once a loss: its parent never carries it.
    """
    key, give_up = row.step_key, checkpoint.give_up
    values = (checkpoint.run.correlation_id, key)
    found = stored_rows(Run, "correlation_id = %s AND loop = %s", values, give_up=give_up)
    if not found:
        # Mark and child are one commit: somebody removed the child's row.
        return Outcome(fate=Fate.UNKNOWN, error=UNKNOWN_TEXT, key=key)
    child = found[0]
    if not child.is_ended:
        raise wait_for_children(checkpoint)
    checkpoint.heard[row.step, row.index] = child
    if child.status != RunStatus.ANSWERED:
        reason = f": {child.reason}" if child.reason else ""
        told = ENDED_OTHERWISE.format(
            agent=child.agent_key, status=child.status, reason=reason, run=child.id
        )
        return Outcome(fate=Fate.FAILED, error=told, key=key, by_tool=True)
    try:
        return Outcome(fate=Fate.DONE, result=answer_told(checkpoint, child), key=key)
    except KeyMissing as error:
        logger.warning(
            "the answer of run %s is sealed with a key that is not here: %s", child.id, error
        )
        raise come_back(checkpoint) from error
    except (SealBroken, LookupError) as error:
        logger.error("the answer of run %s cannot be told: %s", child.id, error)
        told = NOT_TOLD.format(agent=child.agent_key, why=error, run=child.id)
        return Outcome(fate=Fate.FAILED, error=told, key=key, by_tool=True)


def answer_told(checkpoint: Checkpoint, child: Run) -> str:
    kept = stored_rows(Transcript, "run_id = %s", (child.id,), give_up=checkpoint.give_up)
    if not kept:
        raise LookupError("it is no longer kept")
    told = sealer_of(child).open(bytes(kept[0].sealed), kind=TRANSCRIPT, number=0)
    # One that ended in the release before does not say whose it is.
    if told.get("run", started_as(child)) != started_as(child):
        raise SealBroken("it is not the answer of the run that was handed the work")
    return str(told["answer"])


def wait_for_children(checkpoint: Checkpoint) -> HandedBack:
    """Sleep on. The head was read, with its wakes, before the child was: an end since then queues the parent."""
    fence = checkpoint.next_fence()
    values = (fence.run_id, fence.attempt, fence.sequence, checkpoint.head_seal())
    given = (*values, checkpoint.run.wakes, *checkpoint.events.taken())
    hot.told_of(hot.ask(WAIT, given, give_up=checkpoint.give_up), fence)
    return HandedBack()


def come_back(checkpoint: Checkpoint) -> HandedBack:
    """Give the run back until a lease has passed: another process, or this one started anew, may have the key."""
    run, seconds = checkpoint.run, settings.LIYAGENT.lease_seconds
    rows = hot.ask(COME_BACK, (seconds, run.id, run.attempt), give_up=checkpoint.give_up)
    if not rows:
        raise LostLease(run_id=run.id, attempt=run.attempt)
    return give_back(checkpoint, until_settled=True)


def _refusal(agent: AgentNow | None, key: str) -> str:
    if agent is None or not agent.is_enabled:
        return f"there is no agent {key} that works."
    return f"agent {key} is contained." if agent.is_contained or agent.is_all_contained else ""


def _child_of(parent: Run, agent: AgentNow, *, key: str) -> Run:
    return Run(
        # Above its parent's, so that whoever locks heads in the order of their ids locks parents first.
        id=new_id(above=parent.id),
        correlation_id=parent.correlation_id,
        parent_id=parent.id,
        loop=key,
        agent_key=agent.key,
        agent_version=agent.version,
        entry=parent.entry,
        mission=parent.mission,
        started_by=parent.started_by,
        recording=agent.recording,
        key_id=keyring().newest,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Begun:
    """A child that begins: its first part and its head, sealed, what its guardrails did to the task, and the hand-off of it."""

    start: bytes
    seal: bytes
    facts: list[dict[str, Any]]
    handed: Handed
    ride: Ride


def _begun(
    checkpoint: Checkpoint, child: Run, agent: AgentNow, *, task: str, chain: tuple[str, ...]
) -> _Begun:
    """Seal what a child is given as its guardrails leave it; the very same is handed over (HO-03)."""
    task, _, acted = masked_start(agent.guardrails, task=clean_text(task), turns=[])
    facts = [facts_of(child, it) for it in acted]
    handed, ride, given = hand_to_agent(
        checkpoint, child, key=child.loop, task=task, keeps=not _refuses(agent, task)
    )
    part = {
        **start_part(task=task, history=[], run=started_as(child)),
        CHAIN: list(chain),
        NAME: given,
    }
    if facts:
        part["guarded"] = facts
    start, seal = seal_begun(child, part)
    return _Begun(start=start, seal=seal, facts=facts, handed=handed, ride=ride)


def _refuses(agent: AgentNow, task: str) -> bool:
    """Whether a check refuses the task: such words are kept nowhere (`liyagent_finish`)."""
    checks = agent.guardrails.get("input", ())
    return screen(task, checks=checks, direction="input").refused is not None
