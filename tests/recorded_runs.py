"""Runs that an agent has behind it, recorded in full as processes record them: chains appended by the real function, and rows.

For what reads many past runs; each chain is tagged, hashed and intact, whatever it tells.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import psycopg

from events.chain import genesis_hash
from events.keys import tagging_key
from events.tags import Tagger
from liyagent.core.canonical import canonical
from liyagent.core.ids import new_id

AGENT = "triage"
ADD_HEAD = "INSERT INTO events_eventhead (correlation_id, count, hash) VALUES (%s, 0, %s)"
APPEND = "SELECT liyagent_append_events(%s, %s, %s, %s, %s::text[], %s::text[])"
RUN = {
    "request_id": "", "started_by": "olga", "reason": "", "format": 1, "key_id": "k", "attempt": 1, "losses": 0, "last_loss": "",
    "handovers": 0, "resumes_recorded": 0, "sequence": 1, "wakes": 0, "events_missing": 0, "timeline": 1, "parts": 2,
    "seal": b"\x00", "stop_requested": False, "stopped_by": "",
}  # fmt: skip
AT_ONCE = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """A call that a run made, and what came back."""

    tool: str
    args: Any = field(default_factory=dict)
    result: Any = "ok"
    fate: str = "done"
    posture: str = "posture"
    effect: str = "read"
    approval: str = ""
    settlement: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Past:
    """A run that has ended. `drop` kinds are not written, `also` are, before its end."""

    calls: Sequence[Made]
    task: Any = "what is to be done"
    agent: str = AGENT
    status: str = "answered"
    recording: str = "full"
    loop: str = "root"
    workflow: str = ""
    parent: UUID | None = None
    answer: str = "done"
    tokens: tuple[int, int] = (100, 20)
    also: Sequence[tuple[str, dict[str, Any]]] = ()
    days_ago: float = 0.0


def write_past(url: str, runs: Iterable[Past]) -> list[UUID]:
    """Write them, each a little later than the one before, and return their ids in this order."""
    written: list[UUID] = []
    counter = itertools.count()
    newest = datetime.now(UTC) - timedelta(hours=1)
    left = iter(runs)
    with psycopg.connect(url, autocommit=True) as database:
        while some := list(itertools.islice(left, AT_ONCE)):
            with database.transaction(), database.pipeline(), database.cursor() as cursor:
                for past in some:
                    at = newest - timedelta(days=past.days_ago) + timedelta(milliseconds=next(counter))  # fmt: skip
                    written.append(_write(cursor, past, at))
    return written


def _write(cursor: psycopg.Cursor[Any], past: Past, at: datetime) -> UUID:
    chain, run = new_id(), new_id()
    tagger = Tagger(
        key=tagging_key(), correlation_id=chain, run_id=run, mission=str(chain), attempt=1
    )
    told = list(_told(past))
    kinds = [kind for kind, _ in told]
    lines = [tagger.line(kind, canonical(facts).decode()) for kind, facts in told]
    steps = sum(kind == "step" for kind in kinds)
    row = RUN | {
        "id": run,
        "correlation_id": chain,
        "parent_id": past.parent,
        "loop": past.loop,
        "workflow": past.workflow,
        "agent_key": past.agent,
        "agent_version": 1,
        "entry": "api",
        "mission": str(chain),
        "recording": past.recording,
        "status": past.status,
        "model_steps": steps,
        "calls_made": len(past.calls),
        "input_tokens": past.tokens[0] * steps,
        "output_tokens": past.tokens[1] * steps,
        "created_at": at,
        "ended_at": at + timedelta(seconds=30),
    }
    names = ", ".join(row)
    marks = ", ".join(["%s"] * len(row))
    cursor.execute(f"INSERT INTO runs_run ({names}) VALUES ({marks})", list(row.values()))
    cursor.execute(ADD_HEAD, [chain, genesis_hash(chain)])
    cursor.execute(APPEND, [chain, run, str(chain), past.recording, kinds, lines])
    return run


def _told(past: Past) -> Iterable[tuple[str, dict[str, Any]]]:
    start = {"agent": past.agent, "version": 1, "entry": "api", "started_by": "olga", "holder": ""}
    yield "run.started", {**start, "task": past.task}
    counted = {"input_tokens": past.tokens[0], "output_tokens": past.tokens[1], "cost_micros": 0}
    for step, made in enumerate(past.calls, 1):
        asks = {"step": step, "finish": "calls", **counted, "calls": [made.tool], "text": ""}
        yield "step", asks
        yield "tool.call", _call(step, made)
    last = len(past.calls) + 1
    yield "step", {"step": last, "finish": "stop", **counted, "calls": [], "text": past.answer}
    yield from past.also
    totals = {name: count * last for name, count in counted.items()}
    ended = {"steps": last, "calls": len(past.calls), **totals, "unsettled": []}
    of_end = {"status": past.status, "reason": "", "error": "", "answer": past.answer}
    yield "run.ended", {**ended, **of_end}


def _call(step: int, made: Made) -> dict[str, Any]:
    server, _, tool = made.tool.partition("/")
    told = {
        "step": step, "index": 0, "server": server, "tool": tool, "effect": made.effect, "fate": made.fate, "posture": made.posture,
        "gate": "", "policy": "0" * 64, "run_as": "", "key": "", "settlement": made.settlement, "ms": 1, "args": made.args,
        "result": made.result,
    }  # fmt: skip
    return told | ({"approval": made.approval} if made.approval else {})
