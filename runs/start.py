"""Start a run: its row, sealed first part, event head and audit row in one commit, before anybody is told (ruling 29)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any
from uuid import UUID

from django.conf import settings

from liyagent.agents.channels import is_open
from liyagent.agents.errors import AgentUnknown, ChannelClosed
from liyagent.core.errors import BadInput, LiyagentError
from liyagent.core.ids import new_id
from liyagent.core.plain import clean_text
from liyagent.core.traceparent import TRACEPARENT
from missions.context import current_stamp
from runs.authority import AgentNow, agent_now, newest_config
from runs.begin import Begun, begin_run, current_config
from runs.checkpoint import keyring, seal_begun, started_as
from runs.conversation import start_part
from runs.errors import AgentContained, NotStarted, StartKeyReused
from runs.guard import facts_of, masked_start
from runs.minds import MIND
from runs.models import MINDED_FORMAT, ROOT_LOOP, Run, StartKey
from runs.wake import tell_queued
from runs.written_ahead import is_written_ahead

LONGEST_TASK = 200_000
# A configuration that changes at each of these is being loaded: not now.
MOST_LOOKS = 10
MOST_TURNS = 500
NOTHING: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """That a run's steps are decided about by another mind than a model: `facts` are sealed into its first part.

    Its start is given our own words, and no model reads them: no guardrail looks at them.
    """

    mind: str
    workflow: str
    facts: Mapping[str, Any]


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
    run_id: UUID | None = None,
    continues: UUID | None = None,
    told: Mapping[str, Any] = NOTHING,
    plan: Plan | None = None,
) -> Started:
    """Store a run as queued; any process's runner takes it.

    With a `run_id`, made by `new_id`, it is that run: started again with it, it is started once.
    With a `start_key` the first start is found again: the same answer for the same body, `StartKeyReused`
    for another. What the agent's input guardrails mask is sealed masked; a refusal of theirs ends the run
    before its first step. `continues` names the ended run that it goes on from (`go_on.continue_run` judges that), `told`
    stands in its audit row; with a `plan` no model is asked. Raises `AgentUnknown`, `AgentContained`, `ChannelClosed`, `BadInput`; `NotStarted` while the
    database is away.
    """
    earlier = find_started(started_by, agent_key, start_key, body_digest)
    if earlier is not None:
        return earlier
    task = clean_text(task)
    turns = _turns(history or [])
    _check_task(task)
    run_id = run_id or new_id()
    config = newest_config() or current_config()
    for _ in range(MOST_LOOKS):
        agent = _agent(agent_key, entry, config=config)
        if isinstance(agent, LiyagentError):
            # Judged by what this process knew: only what stands now may refuse.
            now = current_config()
            if now == config:
                raise agent
            config = now
            continue
        run = _new_run(agent, run_id)
        run.entry, run.started_by, run.request_id = entry, started_by, request_id
        run.continues = continues
        run.is_written_ahead = plan is not None or is_written_ahead(
            entry=entry, may_wait=agent.may_wait, tool_patterns=agent.tool_patterns
        )
        if plan is not None:
            run.workflow, run.format = plan.workflow, MINDED_FORMAT
        run.mission = mission or str(run.correlation_id)
        begun = _begin(
            run,
            agent,
            task,
            turns,
            start_key=start_key,
            body_digest=body_digest,
            told=told,
            plan=plan,
        )
        if begun.run_id is not None and begun.correlation_id is not None:
            if begun.body_digest != body_digest:
                raise StartKeyReused(key=start_key, run_id=begun.run_id)
            tell_queued()
            return Started(
                run_id=begun.run_id, correlation_id=begun.correlation_id, is_new=begun.is_new
            )
        config = begun.config
    raise NotStarted("the configuration changes faster than a run can be started")


def _begin(
    run: Run,
    agent: AgentNow,
    task: str,
    turns: list[dict[str, str]],
    *,
    start_key: str,
    body_digest: str,
    told: Mapping[str, Any],
    plan: Plan | None,
) -> Begun:
    guardrails = agent.guardrails if plan is None else {}
    task, turns, acted = masked_start(guardrails, task=task, turns=turns)
    facts = [facts_of(run, it) for it in acted]
    sealed = _seal(run, task=task, turns=turns, acted=facts, plan=plan)
    return begin_run(
        run,
        sealed=sealed,
        config=agent.config,
        acted=facts,
        start_key=start_key,
        body_digest=body_digest,
        told=told,
    )


def _agent(agent_key: str, entry: str, *, config: int) -> AgentNow | LiyagentError:
    """The agent as it stood at `config`, or why nothing of it may start."""
    agent = agent_now(agent_key, config=config)
    if agent is None:
        return AgentUnknown(agent=agent_key)
    if agent.is_contained or not agent.is_enabled or agent.is_all_contained:
        return AgentContained(agent=agent_key)
    if not is_open(agent.channels, entry):
        return ChannelClosed(
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


def _new_run(agent: AgentNow, run_id: UUID) -> Run:
    return Run(
        id=run_id,
        correlation_id=run_id,
        loop=ROOT_LOOP,
        agent_key=agent.key,
        agent_version=agent.version,
        recording=agent.recording,
        key_id=keyring().newest,
    )


def _seal(
    run: Run,
    *,
    task: str,
    turns: list[dict[str, str]],
    acted: list[dict[str, Any]],
    plan: Plan | None,
) -> bytes:
    """Seal the first part, which also says as whose run it was started, and the head over it."""
    part = start_part(task=task, history=turns, run=started_as(run))
    if plan is not None:
        part |= {MIND: plan.mind, **plan.facts}
    if acted:
        part["guarded"] = acted
    if (traceparent := current_stamp().traceparent) and settings.LIYAGENT.traces:
        part[TRACEPARENT] = traceparent
    sealed, run.seal = seal_begun(run, part)
    return sealed


def find_started(owner: str, agent_key: str, start_key: str, body_digest: str) -> Started | None:
    """Return what a start key named before, None where it names nothing. Raises `StartKeyReused` for another body."""
    if not start_key:
        return None
    known = StartKey.objects.filter(owner=owner, agent_key=agent_key, key=start_key).first()
    if known is None:
        return None
    if known.body_digest != body_digest:
        raise StartKeyReused(key=start_key, run_id=known.run_id)
    run = Run.objects.only("correlation_id").get(id=known.run_id)
    return Started(run_id=known.run_id, correlation_id=run.correlation_id, is_new=False)
