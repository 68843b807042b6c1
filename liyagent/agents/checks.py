"""What must hold of the agents that are stored before a process may carry runs of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.core import checks
from django.db import ProgrammingError

from liyagent.agents.hooks import unknown_hooks
from liyagent.agents.models import Agent
from liyagent.core.errors import BadSetting

MOST_TOLD = 10


@checks.register(checks.Tags.database)
def hooks_are_registered(
    *, databases: Sequence[str] | None = None, **_kwargs: Any
) -> list[checks.CheckMessage]:
    """`manage.py check --database default`: every hook that an agent names is registered in this process."""
    if not databases:
        return []
    try:
        told = _unregistered()
    except ProgrammingError:
        # `migrate` asks before there is a table, or the column.
        return []
    return [checks.Error(it, id="agents.E001") for it in told]


def check_hooks() -> None:
    """At the start of a process. Raises `BadSetting` naming each agent and hook, at most ten."""
    if told := _unregistered():
        raise BadSetting("; ".join(told[:MOST_TOLD]))


def _unregistered() -> list[str]:
    hooked = Agent.objects.exclude(hooks=[]).filter(is_enabled=True).order_by("key")
    return [
        f"agent {key} names the hook {name!r}, which no module of LIYAGENT_HOOK_MODULES registers"
        for key, names in hooked.values_list("key", "hooks").iterator()
        for name in unknown_hooks(names)
    ]
