"""What `manage.py check --deploy` looks at: that every hook an agent names is there."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, register
from django.db import DatabaseError, connection

from liyagent.agents.hooks import import_hook_modules, unknown_hooks
from liyagent.agents.models import Agent
from liyagent.core.checks import TAG
from liyagent.core.errors import BadSetting

MOST_AGENTS = 1000


@register(TAG, deploy=True)
def check_hooks(**_: Any) -> Iterable[CheckMessage]:
    """A run of an agent whose hook is missing fails."""
    try:
        import_hook_modules(settings.LIYAGENT.hook_modules)
        agents = list(Agent.objects.exclude(hooks=[]).order_by("key")[:MOST_AGENTS])
    except BadSetting as error:
        yield Error(str(error), hint="Correct the name, or install the module.", id="liyagent.E030")
        return
    except DatabaseError:
        connection.close()
        return
    for agent in agents:
        unknown = unknown_hooks(agent.hooks)
        if unknown:
            yield Error(
                f"agent {agent.key} names the hook {unknown[0]}, which nothing registers",
                hint="Name its module in LIYAGENT_HOOK_MODULES, or take the hook off the agent.",
                id="liyagent.E031",
            )
