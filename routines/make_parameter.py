"""Turn a literal of a routine into a parameter: compiled anew from the same runs, under a digest of its own (RT-02)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any
from uuid import UUID

from django.db import transaction

from liyagent.audit.record import record
from liyagent.gateway.active import data_rules
from routines.adopt import refuse_settled, told_of
from routines.compile import compile_routine
from routines.compiled import AsParameter, Compiled, Kind
from routines.definition import TASK
from routines.listing import find_routine
from routines.lock import lock_routine
from routines.models import NOW, Routine, RoutineState
from routines.recorded import RecordedRun
from routines.refusals import (
    NameUnfit,
    PlaceUnknown,
    RoutineFiled,
    RoutineMoved,
    RoutineUnfit,
    RoutineWithheld,
)
from routines.score import score
from routines.sightings import Group
from routines.sources import sources_of
from routines.values import slug_of

MOST_NAMED = 8


def make_parameter(*, routine_id: UUID, place: str, name: str = "", digest: str = "", actor: str) -> Routine:  # fmt: skip
    """Have the value at a place given with each run, as `input.<name>`; kept for all minings to come.

    `place` is the JSON pointer of a literal as `origins` tells it, `name` ours where none is given, `digest` the one that was shown,
    where one was. The routine is compiled anew from its own runs, so that nothing else of it changes. Raises `RoutineUnknown`,
    `PlaceUnknown`, `NameUnfit`, `RoutineFiled`, `RoutineAdopted`, `RoutineDismissed`, `RoutineWithheld`; `RoutineMoved` where it is
    another by now, or its runs do not compile to it any more; `RoutineUnfit` where that cannot be compiled.
    """
    seen = find_routine(routine_id)
    _refuse(seen, digest)
    _check_place(seen, place)
    _check_name(seen, name)
    runs = _sources(seen)
    wanted = [*seen.as_parameters, asdict(AsParameter(place=place, name=name))]
    if _compiled(seen, runs, seen.as_parameters).digest != seen.digest:
        raise RoutineMoved(f"what was recorded of its runs does not come to it any more; have the runs of agent {seen.agent_key} mined again", routine=seen.id)  # fmt: skip
    compiled = _compiled(seen, runs, wanted)
    if compiled.withheld:
        raise RoutineUnfit(compiled.withheld, routine=seen.id)
    if name and name not in {it.name for it in compiled.parameters}:
        raise NameUnfit(
            f"name is {name}, which looks like one of something secret or personal, or is taken"
        )
    facts = {
        "definition": compiled.definition,
        "digest": compiled.digest,
        "parameters": [it.plain() for it in compiled.parameters],
        "origins": [it.plain() for it in compiled.origins],
        "score": score(compiled.definition, runs).plain(),
        "as_parameters": wanted,
    }
    return _keep(seen, facts, place=place, name=name, actor=actor)


def literals_of(routine: Routine) -> list[dict[str, Any]]:
    """Return where a routine's literals come from: those can be turned into parameters."""
    origins: list[dict[str, Any]] = routine.origins
    return [it for it in origins if it["kind"] == Kind.LITERAL]


def _keep(seen: Routine, facts: Mapping[str, Any], *, place: str, name: str, actor: str) -> Routine:
    with transaction.atomic(durable=True):
        routine = lock_routine(seen.id)
        _refuse(routine, seen.digest)
        if routine.as_parameters != seen.as_parameters:
            raise RoutineMoved("somebody else made a parameter of it meanwhile", routine=routine.id)
        Routine.objects.filter(id=routine.id).update(**facts, changed_at=NOW)
        before = routine.digest
        routine.refresh_from_db()
        detail = {**told_of(routine), "digest_before": before, "place": place, "parameter": name}
        record("agent.routine.changed", actor=actor, agent=routine.agent_key, detail=detail)
    return routine


def _refuse(routine: Routine, digest: str) -> None:
    refuse_settled(routine)
    if routine.state == RoutineState.FILED:
        raise RoutineFiled(f"request {routine.approval_id} is open about it as it is; withdraw that first", approval=routine.approval_id)  # fmt: skip
    if routine.withheld:
        raise RoutineWithheld(routine.withheld, routine=routine.id)
    if digest and digest != routine.digest:
        raise RoutineMoved(f"its digest is {routine.digest} by now", routine=routine.id)


def _check_place(routine: Routine, place: str) -> None:
    kinds = {it["place"]: it["kind"] for it in routine.origins}
    if kinds.get(place) == Kind.LITERAL:
        return
    if place in kinds:
        raise PlaceUnknown(f"place is {place!r}, which is no literal: it is {'an expression' if kinds[place] == Kind.EXPRESSION else 'a parameter'} already")  # fmt: skip
    places = [it["place"] for it in literals_of(routine)]
    more = f" and {len(places) - MOST_NAMED} more" if len(places) > MOST_NAMED else ""
    told = f"it has literals at {', '.join(places[:MOST_NAMED])}{more}" if places else "it has no literal"  # fmt: skip
    raise PlaceUnknown(f"place is {place[:200]!r}; {told}")


def _check_name(routine: Routine, name: str) -> None:
    if not name:
        return
    fit = slug_of(name)
    if fit != name:
        raise NameUnfit(f"name is {name[:80]!r}; it wants a few letters, digits and _, such as {fit or 'kind'}")  # fmt: skip
    taken = {TASK, *(it["name"] for it in routine.parameters), *(it["name"] for it in routine.as_parameters)}  # fmt: skip
    if name in taken:
        raise NameUnfit(f"name is {name}, which another parameter has")


def _sources(routine: Routine) -> list[RecordedRun]:
    group = Group(pattern=routine.pattern, count=routine.support, runs=[UUID(it) for it in routine.runs])  # fmt: skip
    found = sources_of(routine.agent_key, group)
    if not found:
        raise RoutineMoved("none of its runs can be read any more", routine=routine.id)
    return found


def _compiled(routine: Routine, runs: list[RecordedRun], made: list[dict[str, str]]) -> Compiled:
    asked = [AsParameter(**it) for it in made]
    return compile_routine(runs, agent=routine.agent_key, as_parameters=asked, rules=data_rules())
