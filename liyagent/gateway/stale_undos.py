"""Undos of agents' maps that became stale: a tool is gone, may not be used any more or takes other arguments.

A map was right when it was saved; catalogues and contracts change behind it. Nobody learns it from a save then, so it
is told by `tools report`, by the deploy check and before a server is removed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from liyagent.agents.compensations import clean_compensations, undo_tool
from liyagent.agents.models import Agent
from liyagent.core.json_path import json_path
from liyagent.gateway.compensations import map_problems
from liyagent.gateway.needed import Need

# So many agents with a map are looked at, and so many named.
MOST_AGENTS = 1000
MOST_NAMED = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class StaleUndo:
    """The undo of `write` in the map of `agent` cannot be made as it is; `said`: where in the map, and why."""

    agent: str
    write: str
    said: str

    def __str__(self) -> str:
        """It in one sentence."""
        return f"agent {self.agent} undoes {self.write} in a way that fails: {self.said}"


def stale_undos() -> Iterator[StaleUndo]:
    """Yield each undo that would fail now, of agents that are switched on, by key."""
    for key, patterns, undos in _maps():
        definition = {"key": key, "tool_patterns": patterns, "compensations": undos}
        for place, said in map_problems(definition, is_whole=True):
            at = json_path(("compensations", *place))
            yield StaleUndo(agent=key, write=str(place[0]), said=f"{at} {said}")


def need_of(server: str) -> Need:
    """Say which agents undo writes at `server`: without it these undos cannot be made."""
    named = [key for key, _, undos in _maps() if server in _servers(undos)]
    if not named:
        return Need()
    more = " and more" if len(named) > MOST_NAMED else ""
    return Need(loses=f"undos of the agents {', '.join(named[:MOST_NAMED])}{more} are made at it")


def _maps() -> Iterator[tuple[str, list[str], dict[str, Any]]]:
    rows = Agent.objects.filter(is_enabled=True).exclude(compensations={}).order_by("key")
    for key, patterns, undos in rows.values_list("key", "tool_patterns", "compensations")[:MOST_AGENTS]:  # fmt: skip
        try:
            yield key, patterns, clean_compensations(undos)
        except ValueError:
            # Of a release to come: it is that release's to judge.
            continue


def _servers(undos: dict[str, Any]) -> set[str]:
    return {undo_tool(undo, name.partition("/")[0])[0] for name, undo in undos.items()}
