"""Whether a change of an agent that has `require_replay` was tried: by a verdict for exactly that override over exactly its version."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from liyagent.agents.models import Agent
from liyagent.agents.replayed import JUDGES
from liyagent.replays.models import CohortReplay, ReplayStatus, Verdict
from liyagent.replays.verdict import Standing, standing_of_verdict


def refusal_of_change(agent: Agent, change: Mapping[str, Any]) -> str:
    """Say what to run before an agent, as it stands, takes exactly this change; "" where a replay that holds gives leave.

    The newest that is done speaks alone: none before it outweighs a regression that it saw. A row that was changed behind our
    back, or that nobody with a key of ours wrote, gives no leave.
    """
    rows = CohortReplay.objects.filter(agent_key=agent.key, agent_version=agent.version)
    done = rows.filter(status=ReplayStatus.DONE, override=dict(change))
    newest = done.order_by("-created_at", "-id").first()
    if newest is None:
        return _wanted(agent, change)
    return _why_not(newest, standing_of_verdict(newest, with_results=True))


def _why_not(replay: CohortReplay, standing: Standing) -> str:
    if not standing.is_verified:
        return f"replay {replay.id} of it does not verify: {standing.why}"
    if not replay.verdict:
        return f"replay {replay.id} of it replayed no run: {replay.reason}"
    if replay.verdict == Verdict.REGRESSED:
        return f"replay {replay.id} of it regressed"
    return ""


def _wanted(agent: Agent, change: Mapping[str, Any]) -> str:
    options = " ".join(f"--{name.replace('_', '-')} …" for name in change)
    return f"none tried this change of version {agent.version}; run: manage.py cohort_replay {agent.key} {options}"


JUDGES.append(refusal_of_change)
