"""Start a run: its row, sealed first part, event head and audit row in one commit, before anybody is told (ruling 29)."""

from __future__ import annotations

import os
import time
import uuid
from dataclasses import dataclass
from uuid import UUID

from django.db import IntegrityError, connection, transaction

from events.chain import genesis_hash
from liyagent.agents.channels import is_open
from liyagent.agents.containment import is_everything_contained
from liyagent.agents.errors import AgentUnknown, ChannelClosed
from liyagent.agents.guardrails import Acted
from liyagent.agents.models import Agent
from liyagent.core.errors import BadInput
from liyagent.core.plain import clean_text, json_bytes
from liyagent.core.seal import tag_of
from runs.checkpoint import START, keyring, seal_head, sealer_of, started_as
from runs.conversation import start_part
from runs.errors import AgentContained, StartKeyReused
from runs.guard import facts_of, masked_start, record_acted
from runs.hot import Counters
from runs.models import ROOT_LOOP, Run, StartKey
from runs.wake import tell_queued

LONGEST_TASK = 200_000
MOST_TURNS = 500
TURN_ROLES = frozenset({"user", "assistant"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Started:
    """A run that is stored; `is_new` is false where its start key had named it before."""

    run_id: UUID
    correlation_id: UUID
    is_new: bool


def start_run(
    *,
    agent_key: str,
    task: str,
    entry: str,
    started_by: str,
    mission: str,
    request_id: str,
    history: list[dict[str, str]] | None = None,
    start_key: str = "",
    body_digest: str = "",
) -> Started:
    """Store a run as queued; any process's runner takes it.

    With a `start_key` the first start is found again: the same answer for the same body, `StartKeyReused`
    for another. What the agent's input guardrails mask is sealed masked; a refusal of theirs ends the run
    before its first step. Raises `AgentUnknown`, `AgentContained`, `ChannelClosed`, `BadInput`.
    """
    earlier = _find(started_by, agent_key, start_key, body_digest)
    if earlier is not None:
        return earlier
    agent = _agent(agent_key, entry)
    task = clean_text(task)
    turns = _turns(history or [])
    _check_task(task)
    task, turns, acted = masked_start(agent.guardrails, task=task, turns=turns)
    run_id = new_run_id()
    run = _new_run(agent, run_id)
    run.entry, run.started_by, run.request_id = entry, started_by, request_id
    run.mission = mission or str(run.correlation_id)
    sealed = _seal(run, task=task, turns=turns, acted=acted)
    try:
        with transaction.atomic(durable=True):
            _store(run, sealed, start_key=start_key, body_digest=body_digest)
            for it in acted:
                record_acted(run, it)
    except IntegrityError:
        earlier = _find(started_by, agent_key, start_key, body_digest)
        if earlier is None:
            raise
        return earlier
    return Started(run_id=run_id, correlation_id=run.correlation_id, is_new=True)


def new_run_id() -> UUID:
    """Return a UUIDv7 (RFC 9562): ids sort by the time they were made."""
    milliseconds = time.time_ns() // 1_000_000
    value = (milliseconds << 80) | int.from_bytes(os.urandom(10), "big")
    value = (value & ~(0xF << 76)) | (0x7 << 76)
    value = (value & ~(0x3 << 62)) | (0x2 << 62)
    return uuid.UUID(int=value)


def _agent(agent_key: str, entry: str) -> Agent:
    agent = Agent.objects.filter(key=agent_key).first()
    if agent is None:
        raise AgentUnknown(agent=agent_key)
    if agent.is_contained or not agent.is_enabled or is_everything_contained():
        raise AgentContained(agent=agent_key)
    if not is_open(agent.channels, entry):
        raise ChannelClosed(
            f"agent {agent_key} permits runs by {', '.join(agent.channels)}, not by {entry}"
        )
    return agent


def _check_task(task: str) -> None:
    if not task.strip():
        raise BadInput("task is empty; it wants what the agent is asked to do")
    if len(task) > LONGEST_TASK:
        raise BadInput(f"task has {len(task)} characters; {LONGEST_TASK} is the most")


def _turns(history: list[dict[str, str]]) -> list[dict[str, str]]:
    if len(history) > MOST_TURNS:
        raise BadInput(f"history has {len(history)} turns; {MOST_TURNS} is the most")
    for number, turn in enumerate(history):
        if turn.get("role") not in TURN_ROLES or not isinstance(turn.get("text"), str):
            raise BadInput(f"history.{number} wants a role (user or assistant) and a text")
    turns = [{"role": turn["role"], "text": clean_text(turn["text"])} for turn in history]
    if sum(len(turn["text"]) for turn in turns) > LONGEST_TASK:
        raise BadInput(f"history has more than {LONGEST_TASK} characters")
    return turns


def _new_run(agent: Agent, run_id: UUID) -> Run:
    return Run(
        id=run_id,
        correlation_id=run_id,
        loop=ROOT_LOOP,
        agent_key=agent.key,
        agent_version=agent.version,
        recording=agent.recording,
        key_id=keyring().newest,
    )


def _seal(run: Run, *, task: str, turns: list[dict[str, str]], acted: list[Acted]) -> bytes:
    """Seal the first part, which also says as whose run it was started, and the head over it."""
    sealer = sealer_of(run)
    part = start_part(task=task, history=turns, run=started_as(run))
    if acted:
        part["guarded"] = [facts_of(run, it) for it in acted]
    sealed = sealer.seal(part, kind=START, number=0)
    run.seal = seal_head(
        sealer,
        sequence=0,
        counters=Counters(),
        parts=1,
        last_tag=tag_of(sealed),
        open_marks=set(),
        settled=set(),
    )
    return sealed


START_RUN = "SELECT liyagent_start(%s, %s, NULL, %s, %s, %s, %s, %s, %s, %s, %s, %s::smallint, %s, %s, %s, %s, %s::jsonb)"


def _store(run: Run, sealed: bytes, *, start_key: str, body_digest: str) -> None:
    detail = {"agent": run.agent_key, "version": run.agent_version, "entry": run.entry}
    with connection.cursor() as cursor:
        cursor.execute(
            START_RUN,
            [
                run.id,
                run.correlation_id,
                run.loop,
                run.agent_key,
                run.agent_version,
                run.entry,
                run.mission,
                run.request_id,
                run.started_by,
                run.recording,
                run.format,
                run.key_id,
                bytes(run.seal),
                sealed,
                genesis_hash(run.correlation_id),
                json_bytes(detail).decode(),
            ],
        )
        created_at = cursor.fetchone()[0]
    if start_key:
        StartKey.objects.create(
            owner=run.started_by,
            agent_key=run.agent_key,
            key=start_key,
            body_digest=body_digest,
            run_id=run.id,
            created_at=created_at,
        )
    transaction.on_commit(tell_queued)


def _find(owner: str, agent_key: str, start_key: str, body_digest: str) -> Started | None:
    if not start_key:
        return None
    known = StartKey.objects.filter(owner=owner, agent_key=agent_key, key=start_key).first()
    if known is None:
        return None
    if known.body_digest != body_digest:
        raise StartKeyReused(key=start_key, run_id=known.run_id)
    run = Run.objects.only("correlation_id").get(id=known.run_id)
    return Started(run_id=known.run_id, correlation_id=run.correlation_id, is_new=False)
