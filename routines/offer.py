"""Compile one group of runs, and say what that would change: nothing is written here."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any
from uuid import UUID

from django.conf import settings

from liyagent.core.ids import new_id
from liyagent.gateway.active import data_rules
from routines.compile import compile_routine
from routines.compiled import AsParameter, Compiled
from routines.models import Routine, RoutineState
from routines.score import score
from routines.sightings import Group
from routines.sources import sources_of
from routines.tools_seen import tools_seen

# Mining never brings one back that was dismissed, and leaves alone what is in use.
LEFT_ALONE = (RoutineState.DISMISSED, RoutineState.ADOPTED)

KNOWN = ("state", "tools", "digest", "as_parameters", "withheld", "runs", "tools_seen")


class Change(StrEnum):
    """What becomes of a pattern."""

    NEW = "new"
    CHANGED = "changed"
    SAME = "same"
    LEFT_ALONE = "left alone"
    TOO_FEW = "too few of its runs can be read again"


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """A pattern, what it compiles to, and the routine that there is of it. `compiled` is None where nothing was compiled."""

    agent_key: str
    group: Group
    change: Change
    known: Routine | None
    compiled: Compiled | None = None
    score: dict[str, Any] | None = None
    tools_seen: dict[str, str] | None = None
    as_parameters: tuple[dict[str, str], ...] = ()
    # Of one that is new, so that it is known before it is kept.
    routine_id: UUID = field(default_factory=new_id)


def offer_of(agent_key: str, group: Group) -> Offer:
    """Compile the newest runs of a group, unless its pattern was dismissed or is adopted."""
    rows = Routine.objects.filter(agent_key=agent_key, pattern=group.pattern)
    known = rows.only(*KNOWN).first()
    if known is not None and known.state in LEFT_ALONE:
        return Offer(agent_key=agent_key, group=group, change=Change.LEFT_ALONE, known=known)
    runs = sources_of(agent_key, group)
    if len(runs) < settings.LIYAGENT.routine_min_support:
        return Offer(agent_key=agent_key, group=group, change=Change.TOO_FEW, known=known)
    made = tuple(known.as_parameters) if known else ()
    compiled = compile_routine(
        runs,
        agent=agent_key,
        as_parameters=[AsParameter(**it) for it in made],
        rules=data_rules(),
    )
    return Offer(
        agent_key=agent_key,
        group=group,
        change=_change(known, compiled),
        known=known,
        compiled=compiled,
        score={} if compiled.withheld else score(compiled.definition, runs).plain(),
        tools_seen=_tools_met(known, compiled),
        as_parameters=made,
    )


def _change(known: Routine | None, compiled: Compiled) -> Change:
    if known is None:
        return Change.NEW
    is_same = (known.digest, known.withheld) == (compiled.digest, compiled.withheld)
    return Change.SAME if is_same else Change.CHANGED


def _tools_met(known: Routine | None, compiled: Compiled) -> dict[str, str]:
    """The tools as its runs met them: without a run newer than those before, a tool that changed is no better known (ids rise with time)."""
    now = tools_seen(compiled.tools)
    if known is None or max(compiled.runs, default="") > max(known.runs, default=""):
        return now
    return {name: known.tools_seen.get(name) or it for name, it in now.items()}
