"""What is tried instead: the fields of an override, checked as a save of the agent would check them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from liyagent.agents.definitions import definition_of
from liyagent.agents.fields import problems_of
from liyagent.agents.models import Agent
from liyagent.agents.replayed import TRIED
from liyagent.core.json_path import json_path
from liyagent.providers.client import PROVIDERS
from liyagent.replays.errors import ReplayInvalid

# Where words and a key are sent.
PLACES = ("base_url", "api_key_env")
SENDS_NOTHING = "scripted"
FIELD = "override"
MOST_NAMED = 5


def checked_override(
    agent: Agent, given: Mapping[str, Any], *, may_choose_endpoint: bool
) -> dict[str, Any]:
    """Return what of `given` is another than the agent has. Raises `ReplayInvalid` with the path of each thing that is wrong.

    Another address, the name of another key, or a key for another provider wants an agent that uses it so already, or the right to change
    agents: else a replay would send words and keys to wherever its asker likes.
    """
    stands = definition_of(agent)
    unknown = [name for name in given if name not in TRIED]
    if unknown:
        said = f"is not what a replay tries; it tries {', '.join(TRIED)}"
        raise ReplayInvalid({f"{FIELD}.{name[:80]}": said for name in unknown[:MOST_NAMED]})
    merged, found = problems_of({**stands, **given})
    problems = {
        f"{FIELD}{json_path(place).removeprefix('$')}": said
        for place, said in found.items()
        if place[0] in given
    }
    if "provider" in given and merged.get("provider", "") not in PROVIDERS and not problems:
        known = ", ".join(sorted(PROVIDERS))
        problems[f"{FIELD}.provider"] = f"is {given['provider']!r}; it wants one of {known}"
    if problems:
        raise ReplayInvalid(problems)
    override = {
        name: merged[name] for name in TRIED if name in given and merged[name] != stands[name]
    }
    if not override:
        raise ReplayInvalid({FIELD: f"changes nothing: agent {agent.key} has all of it already"})
    if not may_choose_endpoint:
        _require_known_endpoint(merged, override)
    return override


def _require_known_endpoint(merged: Mapping[str, Any], override: Mapping[str, Any]) -> None:
    moved = [name for name in PLACES if name in override]
    # Without an address each provider has its own: another one would be shown the key of the first.
    shows_key = merged["api_key_env"] and merged["provider"] != SENDS_NOTHING
    if not moved and "provider" in override and shows_key:
        moved = ["provider"]
    if not moved:
        return
    endpoint = {name: merged[name] for name in ("provider", *PLACES)}
    if not Agent.objects.filter(**endpoint).exists():
        said = "is used so by no agent; to send words and keys to another place wants the permission agents.change_agent"
        raise ReplayInvalid({f"{FIELD}.{name}": said for name in moved})
