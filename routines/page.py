"""What the page of a routine shows: its steps, where each value comes from, its runs, and how it does."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.db.models import OuterRef, Q, Subquery

from liyagent.core.tables import visible
from liyagent.core.templates import EXPRESSION
from liyagent.workflows.check import problems_of
from liyagent.workflows.load import in_order
from liyagent.workflows.models import Workflow
from liyagent.workflows.picture import anchor, box_id, picture_of
from liyagent.workflows.words import steps_in_words
from routines.changes import MOST_CHANGES, changes_between
from routines.models import Routine, RoutineState
from routines.request import is_as_asked, open_request
from routines.standing import standing_of
from routines.tools_seen import changed_tools
from routines.wording import KINDS, score_told, standing_told, support_told, tools_told
from runs.models import ROOT_LOOP, Run

MOST_RUNS = 50
MOST_RECENT = 20
# Runs below one that asked no model, as in `routines.standing`.
NO_MODEL = Q(loop__startswith="undo:") | Q(loop__startswith="approved:") | Q(loop="handoff")
MOST_ORIGINS = 200
MOST_MISMATCHES = 20
LONGEST_VALUE = 200
LONGEST_JSON = 60_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ValueRow:
    """A line of the table of values. `value` is that of a literal where it may be read; `place` where it can be made a parameter."""

    shown: str
    kind: str
    reads: str
    value: str
    distinct: int
    why: str
    place: str


def shown_definition(definition: Mapping[str, Any]) -> dict[str, Any]:
    """Return a definition as a picture, in words and as JSON; nothing of one that is empty, or none."""
    if not definition.get("steps") or problems_of(definition):
        return {}
    text = json.dumps(in_order(definition), ensure_ascii=False, indent=2)
    return {
        "picture": picture_of(definition),
        "steps": [
            {"number": number, "told": it, "anchor": anchor(it.key), "box": box_id(it.key)}
            for number, it in enumerate(steps_in_words(definition), 1)
        ],
        "json": visible(text[:LONGEST_JSON]),
        "json_left_out": max(0, len(text) - LONGEST_JSON),
    }


def values_of(routine: Routine, *, with_words: bool) -> list[ValueRow]:
    """Return where each value of its steps comes from, the first two hundred."""
    args = {it["id"]: it.get("args", {"task": it.get("task")}) for it in routine.definition.get("steps", ())}  # fmt: skip
    may_change = routine.state in {RoutineState.SUGGESTED, RoutineState.SUSPENDED}
    return [
        ValueRow(
            shown=it["shown"],
            kind=KINDS.get(it["kind"], it["kind"]),
            reads=it["reads"],
            value=_value_at(args, it["place"]) if with_words and it["kind"] == "literal" else "",
            distinct=it["distinct"],
            why=it["why"],
            place=it["place"] if may_change and it["kind"] == "literal" else "",
        )
        for it in routine.origins[:MOST_ORIGINS]
    ]


def given_of(definition: Mapping[str, Any]) -> list[dict[str, str]]:
    """Return what each step that calls a tool is given, a line a value: as it is, or where it is read."""
    rows: list[dict[str, str]] = []
    for step in definition.get("steps", ()):
        waiting: list[tuple[str, Any]] = [("$", step["args"])] if "args" in step else []
        while waiting:
            where, it = waiting.pop()
            reads = it.get(EXPRESSION) if isinstance(it, dict) else None
            if reads is None and it and isinstance(it, dict | list):
                named = [(f".{name}", item) for name, item in it.items()] if isinstance(it, dict) else [(f"[{name}]", item) for name, item in enumerate(it)]  # fmt: skip
                waiting += [(f"{where}{name}", item) for name, item in reversed(named)]
                continue
            kind = "literal" if reads is None else "parameter" if str(reads).startswith("input.") else "expression"  # fmt: skip
            value = _shortened(it) if reads is None else str(reads)
            rows.append({"step": step["id"], "path": where, "kind": KINDS[kind], "value": value})
    return rows


def recent_runs(routine: Routine) -> list[dict[str, Any]]:
    """Return the newest runs since it was adopted, each with the run in which the agent was asked, None where it was not."""
    if not routine.workflow_key or routine.adopted_at is None:
        return []
    of_it = Run.objects.filter(workflow=routine.workflow_key, loop=ROOT_LOOP, created_at__gte=routine.adopted_at)  # fmt: skip
    family = Run.objects.filter(correlation_id=OuterRef("correlation_id"), parent_id=OuterRef("id"))
    asked = family.filter(agent_key=OuterRef("agent_key"), workflow="").exclude(NO_MODEL)
    child = asked.order_by("id")
    newest = of_it.order_by("-created_at", "-id").annotate(asked=Subquery(child.values("id")[:1]))
    return list(newest.values("id", "status", "created_at", "asked")[:MOST_RECENT])


def routine_told(routine: Routine, *, with_words: bool) -> dict[str, Any]:
    """Return all that its page shows; what holds values of runs where words may be read alone."""
    standing = standing_of(routine)
    score, score_kind = score_told(routine.score)
    mismatches = routine.score.get("mismatches", [])
    runs, runs_left_out = runs_of(routine)
    return {
        "tools": tools_told(routine.tools, most=40),
        "support": support_told(routine),
        "score": score,
        "score_kind": score_kind,
        "mismatches": mismatches[:MOST_MISMATCHES],
        "mismatched": routine.score.get("mismatched", len(mismatches)),
        "values": values_of(routine, with_words=with_words),
        "values_left_out": max(0, len(routine.origins) - MOST_ORIGINS),
        "parameters": routine.parameters,
        "runs": runs,
        "runs_left_out": runs_left_out,
        "changed_tools": changed_tools(routine.tools_seen),
        "standing": standing_told(standing) if standing else [],
        "recent": recent_runs(routine),
        "request": request_of(routine),
        "definition": shown_definition(routine.definition) if with_words else {},
    }


def runs_of(routine: Routine) -> tuple[list[tuple[str, bool]], int]:
    """Return the runs that it was compiled from, the newest first, each with whether it is kept still; and how many more there are."""
    ids = sorted(routine.runs, reverse=True)
    shown = ids[:MOST_RUNS]
    kept = {str(it) for it in Run.objects.filter(id__in=shown).values_list("id", flat=True)}
    return [(it, it in kept) for it in shown], len(ids) - len(shown)


def request_of(routine: Routine) -> dict[str, Any]:
    """Return the request that is open for it, and whether it is about what the routine is now; `{}` for none."""
    found = open_request(routine) if routine.state == RoutineState.FILED else None
    return {"approval": found, "is_as_asked": is_as_asked(routine, found)} if found else {}


def compared(args: Mapping[str, Any], routine: Routine | None) -> dict[str, Any]:
    """Return what a request would save, and what changed since: in the routine, in its tools, and in the workflow that it replaces."""
    standing = Workflow.objects.filter(key=str(args.get("workflow", ""))).first()
    would = args["definition"]
    given = given_of(would)
    moved = changes_between(would, routine.definition) if routine and routine.digest != args["digest"] else []  # fmt: skip
    replaced = changes_between(standing.definition, would) if standing and standing.digest != args["digest"] else []  # fmt: skip
    return {
        **shown_definition(would),
        "given": given[:MOST_ORIGINS],
        "given_left_out": max(0, len(given) - MOST_ORIGINS),
        "digest": args["digest"],
        "workflow": args["workflow"],
        "parameters": args.get("parameters", []),
        "score": score_told(args.get("score", {})),
        "mismatches": args.get("score", {}).get("mismatches", [])[:MOST_MISMATCHES],
        "moved": moved[:MOST_CHANGES],
        "standing": standing,
        "replaced": replaced[:MOST_CHANGES],
        "changed_tools": changed_tools(args.get("tools_seen", {})),
    }


def _value_at(args: Mapping[str, Any], place: str) -> str:
    """A literal by its pointer, as JSON; "" where the definition has it in another form."""
    names = [it.replace("~1", "/").replace("~0", "~") for it in place.split("/")[1:]]
    found: Any = args
    for name in names:
        if isinstance(found, dict) and name in found:
            found = found[name]
        elif isinstance(found, list) and name.isascii() and name.isdigit() and int(name) < len(found):  # fmt: skip
            found = found[int(name)]
        else:
            return ""
    return _shortened(found)


def _shortened(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return visible(text if len(text) <= LONGEST_VALUE else f"{text[:LONGEST_VALUE]}…")
