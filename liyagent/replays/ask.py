"""Ask for a cohort replay: checked, estimated, and kept with the job that carries it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db import transaction

from liyagent.access.permissions import OPERATE, READ_WORDS
from liyagent.access.standing import standing_of
from liyagent.agents.containment import is_everything_contained
from liyagent.agents.errors import AgentUnknown
from liyagent.agents.models import Agent
from liyagent.audit.record import record
from liyagent.core.canonical import digest
from liyagent.core.errors import BadInput
from liyagent.core.ids import new_id
from liyagent.core.plain import clean_text
from liyagent.jobs.ask import keep_job
from liyagent.jobs.models import LIVE, NOW, Job
from liyagent.replays.cohort import Cohort, cohort_of
from liyagent.replays.errors import ReplayInvalid
from liyagent.replays.estimate import estimate_of
from liyagent.replays.models import CohortReplay
from liyagent.replays.override import checked_override

KIND = "cohort_replay"
MOST_BASELINE = 5
MOST_CALLS, MOST_TOKENS = 1_000_000, 10**10
LONGEST_TOLD = 2000


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """A cohort replay, checked: what is tried on which runs of the agent as it stands at `version`, and about what it costs."""

    agent: str
    version: int
    override: Mapping[str, Any]
    cohort: Cohort
    strict: bool
    baseline: int
    most_calls: int
    most_tokens: int
    estimate: Mapping[str, Any]

    @property
    def subject(self) -> str:
        """What its job is about: one that asks for the very same goes on already, and is found."""
        asked = [
            self.version, self.override, self.cohort.ids, self.strict, self.baseline, self.most_calls, self.most_tokens,
        ]  # fmt: skip
        return f"{self.agent} {digest(asked)[:16]}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """The cohort replay, and whether this asking made it."""

    replay: CohortReplay
    is_new: bool


def wanted_replay(
    agent_key: str,
    *,
    override: Mapping[str, Any],
    runs: Sequence[str] | None = None,
    limit: int | None = None,
    strict: bool = False,
    baseline: int = 0,
    most_calls: int = 0,
    most_tokens: int = 0,
    may_choose_endpoint: bool = False,
) -> Wanted:
    """Return what is to be replayed, and what that costs; nothing is kept. Raises `AgentUnknown`, `BadInput`, `ReplayInvalid`."""
    agent = Agent.objects.filter(key=clean_text(agent_key)).first()
    if agent is None:
        raise AgentUnknown(f"there is no agent {clean_text(agent_key)[:80]!r}")
    if refusal := refusal_of(agent):
        raise BadInput(refusal)
    _check_numbers(baseline=baseline, most_calls=most_calls, most_tokens=most_tokens)
    tried = checked_override(agent, override, may_choose_endpoint=may_choose_endpoint)
    cohort = cohort_of(agent.key, runs=runs, limit=limit)
    return Wanted(
        agent=agent.key,
        version=agent.version,
        override=tried,
        cohort=cohort,
        strict=strict,
        baseline=baseline,
        most_calls=most_calls,
        most_tokens=most_tokens,
        estimate=estimate_of(
            cohort,
            model=tried.get("model", agent.model),
            own_model=agent.model,
            baseline=baseline,
        ),
    )


def ask_replay(wanted: Wanted, *, asked_by: str, mission: str = "") -> Asked:
    """Keep a cohort replay and its job; the very same one that goes on already is found instead (RP-01, RP-06)."""
    while True:
        with transaction.atomic(durable=True):
            replay = _keep(wanted, asked_by=asked_by, mission=mission)
        if replay is not None:
            return Asked(replay=replay, is_new=True)
        job = Job.objects.filter(kind=KIND, subject=wanted.subject, status__in=LIVE).first()
        # None where it ended between the two statements.
        found = CohortReplay.objects.filter(job_id=job.id).first() if job is not None else None
        if found is not None:
            return Asked(replay=found, is_new=False)


def refusal_of(agent: Agent) -> str:
    """Say why nothing of an agent may be tried now, empty where it may."""
    if agent.is_contained or is_everything_contained():
        return f"agent {agent.key} is contained: nothing of it is sent"
    if not agent.is_enabled:
        return f"agent {agent.key} is switched off: no run of it would go on"
    return ""


def refusal_now(replay: CohortReplay) -> str:
    """Say why a cohort replay may not go on now, empty where it may: asked at each take."""
    agent = Agent.objects.filter(key=replay.agent_key).first()
    if agent is None:
        return f"agent {replay.agent_key} no longer exists"
    if agent.version != replay.agent_version:
        return (
            f"agent {agent.key} was saved meanwhile: it stands at version {agent.version}, and what is tried was laid over "
            f"version {replay.agent_version}; ask again"
        )
    return refusal_of(agent) or standing_of(replay.asked_by, OPERATE, READ_WORDS)


def told_override(override: Mapping[str, Any]) -> dict[str, Any]:
    """Return an override for the audit, long instructions cut and told by their digest."""
    told = dict(override)
    text = told.get("instructions", "")
    if len(text) > LONGEST_TOLD:
        told["instructions"] = f"{text[:LONGEST_TOLD]}…"
        told["instructions_sha256"] = digest(text)
    return told


def _keep(wanted: Wanted, *, asked_by: str, mission: str) -> CohortReplay | None:
    replay_id = new_id()
    job_id = keep_job(
        KIND, wanted.subject, asked_by=asked_by, params={"replay": str(replay_id)}, mission=mission
    )
    if job_id is None:
        return None
    replay = CohortReplay.objects.create(
        id=replay_id,
        agent_key=wanted.agent,
        agent_version=wanted.version,
        override=wanted.override,
        strict=wanted.strict,
        baseline=wanted.baseline,
        most_calls=wanted.most_calls,
        most_tokens=wanted.most_tokens,
        runs=wanted.cohort.ids,
        skipped=list(wanted.cohort.skipped),
        estimate=wanted.estimate,
        job_id=job_id,
        asked_by=asked_by[:150],
        mission=_mission_of(job_id),
        created_at=NOW,
    )
    detail = {
        "replay": str(replay.id),
        "event": "asked",
        "version": wanted.version,
        "override": told_override(wanted.override),
        "runs": len(wanted.cohort.runs),
    }
    record("agent.cohort_replay", actor=asked_by, mission=replay.mission, detail=detail, agent=wanted.agent)  # fmt: skip
    replay.refresh_from_db()
    return replay


def _mission_of(job_id: UUID) -> str:
    return str(Job.objects.values_list("mission", flat=True).get(id=job_id))


def _check_numbers(**given: int) -> None:
    most = {"baseline": MOST_BASELINE, "most_calls": MOST_CALLS, "most_tokens": MOST_TOKENS}
    problems = {
        name: f"wants a whole number from 0 to {most[name]}"
        for name, value in given.items()
        if type(value) is not int or not 0 <= value <= most[name]
    }
    if problems:
        raise ReplayInvalid(problems)
