"""At the start of a process that carries runs: every hook that an agent names is registered in it."""

from __future__ import annotations

from liyagent.agents.hooks import unknown_hooks
from liyagent.agents.models import Agent
from liyagent.core.errors import BadSetting

MOST_TOLD = 10


def require_hooks() -> None:
    """Raise `BadSetting` where an agent that is switched on names a hook which is not here; ten are told at most."""
    hooked = Agent.objects.exclude(hooks=[]).filter(is_enabled=True).order_by("key")
    told = [
        f"agent {key} names the hook {name!r}, which no module of LIYAGENT_HOOK_MODULES registers"
        for key, names in hooked.values_list("key", "hooks").iterator()
        for name in unknown_hooks(names)
    ]
    if told:
        raise BadSetting("; ".join(told[:MOST_TOLD]))
