"""The policy set in force, by configuration version."""

from __future__ import annotations

import logging
from dataclasses import replace

from liyagent.core.errors import BadInput
from liyagent.gateway.models import Policy
from liyagent.gateway.policies import PolicySet, parse_policies
from liyagent.gateway.versioned import ByVersion

logger = logging.getLogger(__name__)


def active_policy(*, version: int) -> PolicySet:
    """Return the policy set in force at `version`, parsed once; an empty one, which denies all, if none is."""
    return _policies.at(version)


def forget_policies() -> None:
    """Drop what was read: for a process that changed databases."""
    _policies.forget()


def _load() -> PolicySet:
    policy = Policy.objects.filter(is_active=True).first()
    if policy is None:
        return parse_policies("")
    try:
        return parse_policies(policy.text)
    except BadInput as error:
        logger.exception("policy %s cannot be read; every call is refused", policy)
        return replace(parse_policies(""), fault=f"policy {policy} cannot be read: {error}")


_policies = ByVersion(_load)
