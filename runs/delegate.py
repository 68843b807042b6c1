"""Hand work to a sub-agent, and find its answer by the delegation key (CR-23, ruling 32)."""

from __future__ import annotations

from psycopg.types.json import Jsonb

from liyagent.core.seal import tag_of
from liyagent.gateway.outcome import Fate, Outcome, Payload, Verdict
from liyagent.transcripts.models import Transcript
from runs import hot
from runs.authority import AgentNow, agent_now
from runs.checkpoint import (
    START,
    Checkpoint,
    keyring,
    seal_head,
    sealer_of,
    started_as,
    stored_rows,
)
from runs.conversation import start_part
from runs.ending import HandedBack
from runs.family import CHAIN, chain_of
from runs.file_call import intent_of
from runs.finish import TRANSCRIPT
from runs.guard import facts_of, masked_start
from runs.hot import Counters
from runs.ids import new_run_id
from runs.marks import SealedMark
from runs.models import Call, Run, RunStatus
from runs.suspend import go_on_waiting

MOST_DEEP = 3
DELEGATE = hot.with_events(
    "SELECT * FROM liyagent_delegate("
    "%s, %s, %s, %b, %s, %s, %s, %s, %s, %s, %s, %s, %b, %s, %s, %s, %s::smallint, %s, %b, %b, %s, EVENTS)"
)
ENDED_OTHERWISE = (
    "The agent {agent} ended as {status}{reason}. What it did until then stands in run {run}."
)


def delegate(
    checkpoint: Checkpoint, verdict: Verdict, payload: Payload, *, step: int, has_identity: bool
) -> Outcome:
    """Start the child and put the parent to sleep, in one commit. An outcome says why there is no child.

    Raises `HandedBack` once it sleeps, `LostLease`.
    """
    call = verdict.call
    chain = (*chain_of(checkpoint.parts[0]), checkpoint.run.agent_key)
    child_agent = agent_now(call.tool, config=checkpoint.config)
    refusal = _refusal(child_agent, call.tool, chain)
    if refusal or child_agent is None:
        return Outcome(fate=Fate.REFUSED, error=f"Refused (delegation): {refusal}")
    place = (step, call.index)
    checkpoint.open_marks.add(place)
    mark = SealedMark(
        payload=payload,
        has_identity=has_identity,
        key_window_seconds=0,
        marked_after=checkpoint.database_time(),
    )
    child = _child_of(checkpoint.run, child_agent, key=payload.key)
    task, _, acted = masked_start(child_agent.guardrails, task=payload.args["task"], turns=[])
    facts = [facts_of(child, it) for it in acted]
    start = {**start_part(task=task, history=[], run=started_as(child)), CHAIN: list(chain)}
    if facts:
        start["guarded"] = facts
    sealer = sealer_of(child)
    sealed = sealer.seal(start, kind=START, number=0)
    child_seal = seal_head(
        sealer,
        sequence=0,
        counters=Counters(),
        parts=1,
        last_tag=tag_of(sealed),
        open_marks=set(),
        settled=set(),
    )
    fence = checkpoint.next_fence()
    values = (
        fence.run_id, fence.attempt, fence.sequence, checkpoint.head_seal(), step, call.index,
        call.provider_call_id[:200], call.server, call.tool, payload.key, has_identity, intent_of(payload),
        mark.seal(checkpoint.sealer, step=step, index=call.index), child.id, child.agent_version, child.recording,
        child.format, child.key_id, child_seal, sealed, Jsonb(facts),
    )  # fmt: skip
    rows = hot.ask(DELEGATE, (*values, *checkpoint.events.taken()), give_up=checkpoint.give_up)
    hot.told_of(rows, fence)
    raise HandedBack


def answer_of_child(checkpoint: Checkpoint, row: Call) -> Outcome:
    """Ask again by the delegation key: the child's answer, or what it ended as. Raises `HandedBack` while it is at it.

    A child that was lost is claimed by the sweep as any run is: its parent never carries it.
    """
    key, give_up = row.step_key, checkpoint.give_up
    values = (checkpoint.run.correlation_id, key)
    found = stored_rows(Run, "correlation_id = %s AND loop = %s", values, give_up=give_up)
    if not found:
        return Outcome(fate=Fate.UNKNOWN, key=key)
    child = found[0]
    if not child.is_ended:
        # The head was read, with its wakes, before the child was.
        raise go_on_waiting(checkpoint, wakes=checkpoint.run.wakes)
    if child.status == RunStatus.ANSWERED:
        kept = stored_rows(Transcript, "run_id = %s", (child.id,), give_up=give_up)
        told = sealer_of(child).open(bytes(kept[0].sealed), kind=TRANSCRIPT, number=0)
        return Outcome(fate=Fate.DONE, result=told["answer"], key=key)
    told = ENDED_OTHERWISE.format(
        agent=child.agent_key,
        status=child.status,
        reason=f": {child.reason}" if child.reason else "",
        run=child.id,
    )
    return Outcome(fate=Fate.FAILED, error=told, key=key, by_tool=True)


def _refusal(agent: AgentNow | None, key: str, chain: tuple[str, ...]) -> str:
    if agent is None or not agent.is_enabled:
        return f"there is no agent {key} that works."
    if agent.is_contained or agent.is_all_contained:
        return f"agent {key} is contained."
    if key in chain:
        return f"agent {key} is already at it: {' > '.join(chain)} > {key} would be a circle."
    if len(chain) >= MOST_DEEP:
        return f"work is handed down {MOST_DEEP} deep at most: {' > '.join(chain)} is that deep."
    return ""


def _child_of(parent: Run, agent: AgentNow, *, key: str) -> Run:
    return Run(
        id=new_run_id(),
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
