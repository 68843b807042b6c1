"""Ask for a fine-tuning: of which agent, over which time, where, and of which model."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from liyagent.access.permissions import OPERATE, READ_WORDS
from liyagent.access.standing import standing_of
from liyagent.agents.containment import is_everything_contained
from liyagent.agents.errors import AgentUnknown
from liyagent.agents.models import Agent
from liyagent.core.environment import read_secret
from liyagent.jobs.ask import Asked, ask_for
from liyagent.training.fine_tunes.errors import FineTuneInvalid
from liyagent.training.spans import span_of

KIND = "fine_tune"
PROVIDER = "openai"
LONGEST_MODEL = 200
MOST_NAMED = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What is tuned: runs of `agent` begun from `since` up to `until` (times of the database), at which endpoint, from which model."""

    agent: str
    since: str
    until: str
    base_url: str
    api_key_env: str
    model: str

    @property
    def span(self) -> tuple[datetime, datetime]:
        """The time whose runs are looked at."""
        return datetime.fromisoformat(self.since), datetime.fromisoformat(self.until)


def wanted_of(
    agent_key: str,
    *,
    model: str,
    provider: str = PROVIDER,
    endpoint_of: str = "",
    since: str = "",
    until: str = "",
) -> Wanted:
    """Return what is to be tuned; nothing is kept. Raises `AgentUnknown`, and `FineTuneInvalid` that says what it wants.

    The endpoint is that of an agent of the provider `openai`: of `endpoint_of`, else of the agent itself, else the only one.
    """
    agent = find_agent(agent_key)
    if provider != PROVIDER:
        raise FineTuneInvalid(f"provider wants {PROVIDER}: an endpoint that speaks OpenAI's format")
    if not model.strip() or len(model) > LONGEST_MODEL or not model.isprintable():
        raise FineTuneInvalid("model wants the name of the model that is tuned, as the endpoint calls it")  # fmt: skip
    base_url, api_key_env = _endpoint(agent, endpoint_of)
    begin, end = span_of(since, until)
    return Wanted(
        agent=agent.key,
        since=begin,
        until=end,
        base_url=base_url,
        api_key_env=api_key_env,
        model=model.strip(),
    )


def ask_fine_tune(wanted: Wanted, *, asked_by: str, mission: str = "") -> Asked:
    """Ask for a fine-tuning; one of this agent that goes on already is found. Raises `FineTuneInvalid`, `BadInput`."""
    refusal = refusal_of(wanted, asked_by=asked_by)
    if refusal:
        raise FineTuneInvalid(refusal)
    if wanted.api_key_env:
        read_secret(wanted.api_key_env)
    return ask_for(KIND, wanted.agent, asked_by=asked_by, params=asdict(wanted), mission=mission)


def refusal_of(wanted: Wanted, *, asked_by: str) -> str:
    """Say why this may not be done now, empty where it may: asked at the start and at each take."""
    agent = Agent.objects.filter(key=wanted.agent).first()
    if agent is None:
        return f"agent {wanted.agent} no longer exists"
    if agent.is_contained or is_everything_contained():
        return f"agent {wanted.agent} is contained: nothing of it is sent"
    if not endpoints().filter(base_url=wanted.base_url, api_key_env=wanted.api_key_env).exists():
        return f"no agent uses the endpoint {wanted.base_url or 'of OpenAI'} with the key {wanted.api_key_env or '(none)'} any more"
    return standing_of(asked_by, OPERATE, READ_WORDS)


def find_agent(key: str) -> Agent:
    """Return an agent. Raises `AgentUnknown`."""
    agent = Agent.objects.filter(key=key.replace("\x00", "")).first()
    if agent is None:
        raise AgentUnknown(f"there is no agent {key[:80]!r}")
    return agent


def endpoints() -> Any:
    """The agents whose endpoint speaks OpenAI's format."""
    return Agent.objects.filter(provider=PROVIDER)


def _endpoint(agent: Agent, endpoint_of: str) -> tuple[str, str]:
    if endpoint_of or agent.provider == PROVIDER:
        like = find_agent(endpoint_of) if endpoint_of else agent
        if like.provider != PROVIDER:
            raise FineTuneInvalid(f"endpoint_of wants an agent of provider {PROVIDER}; {like.key} is of {like.provider}")  # fmt: skip
        return like.base_url, like.api_key_env
    known = list(endpoints().order_by("base_url", "api_key_env").values_list("base_url", "api_key_env").distinct()[:2])  # fmt: skip
    if len(known) == 1:
        return known[0][0], known[0][1]
    keys = ", ".join(endpoints().values_list("key", flat=True)[:MOST_NAMED]) or "none yet"
    raise FineTuneInvalid(f"endpoint_of wants the key of an agent whose endpoint is used, one of provider {PROVIDER}: {keys}")  # fmt: skip
