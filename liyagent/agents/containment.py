"""Contain and release: one agent, or everything. Acts on what runs at each run's next statement (ruling 5)."""

from __future__ import annotations

from collections.abc import Callable

from django.db import transaction
from django.db.models import F, Func

from liyagent.agents.errors import AgentNotContained, AgentUnknown, NothingContained
from liyagent.agents.models import Agent, ConfigVersion
from liyagent.audit.record import record
from liyagent.core.errors import BadInput, Conflict
from liyagent.core.plain import clean_text

LONGEST_REASON = 500
LONGEST_NAME = 150
# What has to be settled before everything may be released, in words: None where nothing stands against it. Filled by rooms above.
AGAINST_RELEASE: list[Callable[[], str | None]] = []
# As the triggers raise it: a version never comes twice, not even after a failover that lost one.
NEXT_VERSION = Func(F("version"), function="liyagent_next_config")


def contain_agent(key: str, *, actor: str, reason: str) -> None:
    """Let nothing of an agent start, resume or send. Raises `AgentUnknown`, `BadInput`, `Conflict`."""
    reason = _reason(reason)
    with transaction.atomic():
        rows = Agent.objects.filter(key=key, is_contained=False).update(
            is_contained=True, contained_by=actor[:LONGEST_NAME], contained_reason=reason
        )
        if rows != 1:
            _require(key)
            raise Conflict(f"agent {key} is contained already")
        record("agent.contained", actor=actor, detail={"agent": key, "reason": reason})


def release_agent(key: str, *, actor: str) -> None:
    """End a containment; one of everything stands. Raises `AgentUnknown`, `AgentNotContained`."""
    with transaction.atomic():
        rows = Agent.objects.filter(key=key, is_contained=True).update(
            is_contained=False, contained_by="", contained_reason=""
        )
        if rows != 1:
            _require(key)
            raise AgentNotContained(f"agent {key} is not contained")
        record("agent.released", actor=actor, detail={"agent": key})


def contain_all(*, actor: str, reason: str) -> None:
    """Let nothing of any agent start, resume or send, one saved later included. Raises `BadInput`, `Conflict`."""
    reason = _reason(reason)
    with transaction.atomic():
        rows = ConfigVersion.objects.filter(is_contained=False).update(
            version=NEXT_VERSION,
            is_contained=True,
            contained_by=actor[:LONGEST_NAME],
            contained_reason=reason,
        )
        if rows != 1:
            raise Conflict("everything is contained already")
        record("agents.all_contained", actor=actor, detail={"reason": reason})


def release_all(*, actor: str) -> None:
    """End the containment of everything; an agent contained on its own stays so.

    Raises `NothingContained`, and `Conflict` where something has to be settled before.
    """
    for why_not in AGAINST_RELEASE:
        if (why := why_not()) is not None:
            raise Conflict(why)
    with transaction.atomic():
        rows = ConfigVersion.objects.filter(is_contained=True).update(
            version=NEXT_VERSION, is_contained=False, contained_by="", contained_reason=""
        )
        if rows != 1:
            raise NothingContained
        record("agents.all_released", actor=actor)


def is_everything_contained() -> bool:
    """Whether nothing of any agent may start, resume or send."""
    return containment_of_all() is not None


def containment_of_all() -> ConfigVersion | None:
    """Return who contained everything and why, None where nobody did."""
    return ConfigVersion.objects.filter(is_contained=True).first()


def _reason(reason: str) -> str:
    reason = clean_text(reason).strip()
    if not 1 <= len(reason) <= LONGEST_REASON:
        raise BadInput(f"the reason of a containment wants 1 to {LONGEST_REASON} characters")
    return reason


def _require(key: str) -> None:
    if not Agent.objects.filter(key=key).exists():
        raise AgentUnknown(f"there is no agent {key!r}")
