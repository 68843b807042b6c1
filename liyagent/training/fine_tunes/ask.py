"""Ask for a fine-tuning: of which agent, over which time, where, and of which model."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import UTC, datetime, time
from typing import Any

from django.contrib.auth import get_user_model
from django.db import connection
from django.utils.dateparse import parse_date, parse_datetime

from liyagent.access.permissions import OPERATE, READ_WORDS
from liyagent.agents.containment import is_everything_contained
from liyagent.agents.errors import AgentUnknown
from liyagent.agents.models import Agent
from liyagent.core.environment import read_secret
from liyagent.core.errors import BadInput
from liyagent.jobs.ask import Asked, ask_for
from liyagent.training.fine_tunes.errors import FineTuneInvalid

KIND = "fine_tune"
PROVIDER = "openai"
# Who types commands on the machine holds its keys as well.
BY_SHELL = "cli:"
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
    begin = _moment(since, "since", datetime(2000, 1, 1, tzinfo=UTC))
    end = _moment(until, "until", database_now())
    if begin >= end:
        raise FineTuneInvalid(f"since ({begin.isoformat()}) is not before until ({end.isoformat()})")  # fmt: skip
    return Wanted(
        agent=agent.key,
        since=begin.isoformat(),
        until=end.isoformat(),
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


def standing_of(asked_by: str, *permissions: str) -> str:
    """Say what who asked lacks, empty where nothing. The shell is not asked."""
    if asked_by.startswith(BY_SHELL):
        return ""
    user = get_user_model().objects.filter(username=asked_by, is_active=True).first()
    if user is None:
        return f"{asked_by}, who asked for it, is no active user"
    missing = [it for it in permissions if not user.has_perm(it)]
    return f"{asked_by}, who asked for it, no longer holds {missing[0]}" if missing else ""


def find_agent(key: str) -> Agent:
    """Return an agent. Raises `AgentUnknown`."""
    agent = Agent.objects.filter(key=key.replace("\x00", "")).first()
    if agent is None:
        raise AgentUnknown(f"there is no agent {key[:80]!r}")
    return agent


def endpoints() -> Any:
    """The agents whose endpoint speaks OpenAI's format."""
    return Agent.objects.filter(provider=PROVIDER)


def database_now() -> datetime:
    """Return the database's time."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT liyagent_now()")
        ((now,),) = cursor.fetchall()
    found: datetime = now
    return found


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


def _moment(text: str, name: str, default: datetime) -> datetime:
    if not text:
        return default
    try:
        day = parse_date(text)
        moment = None if day else parse_datetime(text)
    except ValueError:
        moment = day = None
    if day is not None:
        moment = datetime.combine(day, time(), tzinfo=UTC)
    if moment is None or moment.tzinfo is None:
        raise BadInput(f"{name} wants a day such as 2026-11-01, or a moment such as 2026-11-01T08:00:00Z")  # fmt: skip
    return moment
