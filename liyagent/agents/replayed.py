"""What an agent that has `require_replay` wants before it is asked in another way: a table of judges that a higher room fills."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from liyagent.agents.errors import ReplayWanted
from liyagent.agents.models import Agent

# What a cohort replay tries: how the model is asked, and where.
TRIED = ("model", "provider", "instructions", "base_url", "api_key_env")
# What changes nothing of what an agent does, and may be saved along with what was tried.
ASIDE = frozenset(
    {"name", "owner", "channels", "recording", "is_enabled", "require_replay"},
)

# Says why an agent, as it stands, may not take exactly this change, "" where it may. The agent's row is locked. Where there is
# none, nobody gives leave.
Judge = Callable[[Agent, Mapping[str, Any]], str]
JUDGES: list[Judge] = []


def require_replayed(agent: Agent, before: Mapping[str, Any], values: Mapping[str, Any]) -> None:
    """Raise `ReplayWanted` where the agent, as it stands before the save, takes this change only as a replay tried it.

    `before` and `values` are full definitions. What was not tried is not saved along: it would be live with what was.
    """
    changed = {name: values[name] for name in values if before.get(name) != values[name]}
    change = {name: changed[name] for name in TRIED if name in changed}
    if not before.get("require_replay") or not change:
        return
    named = ", ".join(change)
    beside = sorted(set(changed) - set(change) - ASIDE)
    if beside:
        raise ReplayWanted(
            f"agent {agent.key} changes its {named} only as a cohort replay tried it, and {', '.join(beside)} was not tried; "
            "save that by itself"
        )
    reasons = [it(agent, change) for it in JUDGES] or ["nothing in this process judges that"]
    if reason := next(filter(None, reasons), ""):
        raise ReplayWanted(f"agent {agent.key} changes its {named} only as a cohort replay tried it: {reason}")  # fmt: skip
