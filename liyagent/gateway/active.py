"""The policies in force, Cedar's and those of data, by configuration version."""

from __future__ import annotations

import logging
from dataclasses import replace

from liyagent.core.errors import BadInput
from liyagent.gateway.data_rules import ANYWHERE, DataRule, read_path, read_regex
from liyagent.gateway.models import DataAction, DataKind, DataPolicy, Policy
from liyagent.gateway.policies import PolicySet, parse_policies
from liyagent.gateway.versioned import ByVersion

logger = logging.getLogger(__name__)


def active_policy(*, version: int) -> PolicySet:
    """Return the policy set in force at `version`, parsed once; an empty one, which denies all, if none is."""
    return _policies.at(version)


def forget_policies() -> None:
    """Drop what was read: for a process that changed databases."""
    _policies.forget()


def data_rules() -> tuple[DataRule, ...]:
    """Return the enabled data policies as they stand in the table, by name."""
    return tuple(_rule(row) for row in DataPolicy.objects.filter(is_enabled=True).order_by("name"))


def _load(_version: int) -> PolicySet:
    return replace(_cedar(), data=data_rules())


def _cedar() -> PolicySet:
    policy = Policy.objects.filter(is_active=True).first()
    if policy is None:
        return parse_policies("")
    try:
        return parse_policies(policy.text)
    except BadInput as error:
        logger.exception("policy %s cannot be read; every call is refused", policy)
        return replace(parse_policies(""), fault=f"policy {policy} cannot be read: {error}")


def _rule(row: DataPolicy) -> DataRule:
    rule = DataRule(
        name=row.name,
        kind=row.kind,
        path=(ANYWHERE,),
        tools=row.tools,
        denies=row.action != DataAction.MASK,
    )
    try:
        regex = read_regex(row.regex) if row.kind == DataKind.REGEX else None
        return replace(rule, path=read_path(row.path), regex=regex)
    except BadInput as error:
        logger.exception("data policy %s cannot be read; what it covers is refused", row)
        return replace(rule, fault=str(error))


_policies = ByVersion(_load)
