"""A routine as mining stores it, for what people do with it; its definition is one of the small world of runs."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from liyagent.core.canonical import digest
from liyagent.core.ids import new_id
from routines.models import NOW, Routine
from routines.pattern import pattern_of
from routines.tools_seen import tools_seen

TOOLS = ["v/look", "v/keyed", "v/blind"]
ASKS = "{{ input.task }}\n\nA routine began this and could not go on. Done already, do not repeat it: {{ steps }}"


def asks(number: int) -> dict[str, Any]:
    """The step that asks the agent itself where step `number` failed, told what was done before it."""
    done = ", ".join(f"{TOOLS[it]}: {{{{ steps.s{it + 1}.output }}}}" for it in range(number - 1))
    task = f"{{{{ input.task }}}} (done already: {done or 'nothing'})"
    return {"id": f"ask{number}", "type": "agent", "agent": "triage", "task": task, "next": "end"}


def definition(**args: Any) -> dict[str, Any]:
    """Look at a host, then write what was seen, and write once more; each falls back to the agent."""
    second = {"of": {"$expr": "steps.s1.output.seen.host"}, "kind": "restart", **args}
    return {
        "input": {
            "type": "object",
            "properties": {"task": {"type": "string"}, "host": {"type": "string"}},
            "required": ["task", "host"],
            "additionalProperties": False,
        },
        "steps": [
            {"id": "s1", "type": "tool", "server": "v", "tool": "look", "args": {"host": "{{ input.host }}"}, "on_error": "ask1"},
            {"id": "s2", "type": "tool", "server": "v", "tool": "keyed", "args": second, "on_error": "ask2"},
            {"id": "s3", "type": "tool", "server": "v", "tool": "blind", "args": {"of": {"$expr": "steps.s2.output.id"}}, "on_error": "ask3", "next": "end"},
            asks(1), asks(2), asks(3),
        ],
    }  # fmt: skip


def store(*, agent: str = "triage", of: dict[str, Any] | None = None, **columns: Any) -> Routine:
    """Store a suggestion."""
    whole = of or definition()
    known: dict[str, Any] = {
        "id": new_id(),
        "agent_key": agent,
        "pattern": pattern_of(agent, TOOLS),
        "tools": TOOLS,
        "definition": whole,
        "digest": digest(whole),
        "parameters": [{"name": "host", "types": ["string"], "description": "", "places": ["/s1/host"], "distinct": 3, "is_sensitive": False}],
        "origins": [],
        "runs": [str(UUID(int=it)) for it in range(3)],
        "support": 7,
        "distinct_inputs": 5,
        "score": {"runs": 3, "matched": 3, "mismatches": []},
        "tools_seen": tools_seen(TOOLS),
        "mined_at": NOW,
        "created_at": NOW,
        "changed_at": NOW,
    }  # fmt: skip
    row = Routine.objects.create(**{**known, **columns})
    return Routine.objects.get(id=row.id)


def move_on(routine: Routine, of: dict[str, Any]) -> Routine:
    """Mining compiled the pattern to something else."""
    Routine.objects.filter(id=routine.id).update(definition=of, digest=digest(of))
    return Routine.objects.get(id=routine.id)
