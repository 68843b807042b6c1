"""What the page of one run shows: its steps with their calls, fifty at a time, and what a person has to look at."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import connection

from events.words import without_words
from liyagent.agents.sub_agents import SUB_AGENTS
from liyagent.approvals.models import Approval
from liyagent.core.tables import visible
from runs.approved_run import loop_of
from runs.decisions import NOT_SENT, gate_told, requests_of, settlement_told, with_decision
from runs.head import answer_of
from runs.models import Call, Run
from runs.settle_by_person import BY_PERSON
from runs.unknown import UNKNOWN
from runs.wording import fact_in_words, fact_named

STEPS_A_PAGE = 50
MOST_EVENTS = 2000
MOST_MARKS = 2000
MOST_UNKNOWN = 100
# Of each word field this much is shown; it is cut in the database, so that a large result is never read whole.
LONGEST_WORDS = 4000
LONGEST_ANSWER = 20_000

# From which event on the page's steps are told, and where the next page's begin. No content is read for it.
STEP_NUMBERS = """
SELECT number FROM events_runevent WHERE correlation_id = %s AND run_id = %s AND kind = 'step'
    ORDER BY number OFFSET %s LIMIT %s
"""
EVENTS = """
SELECT number, at, kind, (SELECT jsonb_object_agg(key, CASE WHEN length(value::text) <= %s THEN value
        ELSE jsonb_build_object('cut', left(value #>> '{}', %s), 'of', length(value #>> '{}')) END)
        FROM jsonb_each(content::jsonb))::text
    FROM events_runevent WHERE correlation_id = %s AND run_id = %s AND number >= %s AND number < %s
    ORDER BY number LIMIT %s
"""
MARK_FACTS = (
    "id", "step", "index", "server", "tool", "fate", "settlement", "step_key", "intent", "attempt", "marked_at",
    "settled_at", "late_look_at", "late_finding", "approval_id",
)  # fmt: skip


@dataclass(slots=True, kw_only=True)
class ShownCall:
    """One call as the page shows it. `args` and `result` are empty where nobody may read them here.

    `held_by` is the gate that put it before a person, `decision` what was said of it, by a person or by a gate.
    """

    index: int
    name: str
    effect: str = ""
    fate: str = ""
    settlement: str = ""
    held_by: str = ""
    decision: str = ""
    approval_id: UUID | None = None
    key: str = ""
    milliseconds: int | None = None
    args: str = ""
    result: str = ""
    marked_at: datetime | None = None
    settled_at: datetime | None = None
    late_look_at: datetime | None = None
    late_finding: str = ""
    child: Mapping[str, Any] | None = None

    @property
    def is_unknown(self) -> bool:
        """Whether a person has to look for it."""
        return self.fate == "unknown" and self.late_finding != "found"

    @property
    def was_not_sent(self) -> bool:
        """Whether it certainly never left."""
        return self.fate in NOT_SENT

    @property
    def short_key(self) -> str:
        """The beginning of its step key."""
        return f"{self.key[:12]}…" if len(self.key) > 13 else self.key

    @property
    def duration(self) -> str:
        """How long it took, in words."""
        if self.milliseconds:
            return f"{self.milliseconds} ms"
        if self.was_not_sent:
            return "-"
        if self.marked_at and self.settled_at and self.settlement != BY_PERSON:
            return f"{(self.settled_at - self.marked_at).total_seconds() * 1000:.0f} ms"
        return "-"


@dataclass(slots=True, kw_only=True)
class ShownStep:
    """One model step with its calls. `number` is 0 for what was told before the first."""

    number: int
    at: datetime | None = None
    facts: dict[str, Any] = field(default_factory=dict)
    text: str = ""
    calls: list[ShownCall] = field(default_factory=list)
    others: list[dict[str, Any]] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownPage:
    """A page of a run's steps. `is_truncated` where it holds more events or marks than are shown."""

    steps: list[ShownStep]
    number: int
    pages: int
    is_truncated: bool


def page_of(run: Run, number: int, *, with_words: bool) -> ShownPage:
    """Return a page of the run's steps, the nearest there is; words only where they may be read."""
    pages = max(1, -(-run.model_steps // STEPS_A_PAGE))
    number = min(max(number, 1), pages)
    first = (number - 1) * STEPS_A_PAGE + 1
    steps = {
        it: ShownStep(number=it)
        for it in range(first, min(first + STEPS_A_PAGE, run.model_steps + 1))
    }
    told = list(_events(run, number))
    for at, kind, content in told[:MOST_EVENTS]:
        _add_event(steps, at, kind, content, with_words=with_words)
    marks = list(
        Call.objects.filter(run_id=run.id, step__gte=first, step__lt=first + STEPS_A_PAGE)
        .order_by("step", "index").values(*MARK_FACTS)[: MOST_MARKS + 1]
    )  # fmt: skip
    requests = requests_of(mark["approval_id"] for mark in marks)
    for mark in marks[:MOST_MARKS]:
        step = steps.setdefault(mark["step"], ShownStep(number=mark["step"]))
        _add_mark(step, with_decision(mark, requests), requests.get(mark["approval_id"]))
    for step in steps.values():
        step.calls.sort(key=lambda it: it.index)
    _add_children(run, [call for step in steps.values() for call in step.calls])
    return ShownPage(
        steps=[steps[it] for it in sorted(steps)],
        number=number,
        pages=pages,
        is_truncated=len(told) > MOST_EVENTS or len(marks) > MOST_MARKS,
    )


def unknown_of(run: Run) -> list[Call]:
    """Return the run's writes of unknown outcome, in order, at most 100."""
    rows = Call.objects.filter(UNKNOWN, run_id=run.id, correlation_id=run.correlation_id)
    return list(rows.defer("sealed", "outcome").order_by("step", "index")[:MOST_UNKNOWN])


def place_of(call: Call) -> str:
    """Return where on its run's page a call stands: the page of its step, and the line there."""
    page = max(0, call.step - 1) // STEPS_A_PAGE + 1
    return f"?steps={page}#call-{call.step}-{call.index}"


def answer_shown(run: Run) -> tuple[str, str]:
    """Return the answer of an ended run and, where there is none to show, why."""
    told = answer_of(run)
    if told.get("answer_missing"):
        return "", f"It cannot be opened here: {told['answer_missing']}"
    if told["answer"] is None:
        return "", "The run has not ended."
    text = str(told["answer"])
    return shown_words(
        text if len(text) <= LONGEST_ANSWER else {"cut": text[:LONGEST_ANSWER], "of": len(text)}
    ), ""


def shown_words(value: Any) -> str:
    """Return words as a page shows them: what is invisible written out, what was cut or not kept said."""
    if isinstance(value, Mapping) and set(value) == {"sha256", "bytes"}:
        return f"(not kept: {value['bytes']} bytes; this agent is recorded without words)"
    if isinstance(value, Mapping) and set(value) == {"cut", "of"}:
        cut = visible(str(value["cut"]))
        return f"{cut}\n(cut: the first {len(str(value['cut']))} of {value['of']} characters)"
    if isinstance(value, str):
        return visible(value)
    return "" if value is None else visible(json.dumps(value, indent=1, ensure_ascii=False))


def _events(run: Run, number: int) -> Iterator[tuple[datetime, str, dict[str, Any]]]:
    place = (run.correlation_id, run.id)
    with connection.cursor() as cursor:
        offset = (number - 1) * STEPS_A_PAGE
        cursor.execute(STEP_NUMBERS, [*place, offset, STEPS_A_PAGE + 1])
        numbers = [row[0] for row in cursor.fetchall()]
        if not numbers and number > 1:
            return
        first = numbers[0] if number > 1 else 0
        last = numbers[STEPS_A_PAGE] if len(numbers) > STEPS_A_PAGE else 1 << 62
        cursor.execute(EVENTS, [LONGEST_WORDS, LONGEST_WORDS, *place, first, last, MOST_EVENTS + 1])
        for _, at, kind, content in cursor.fetchall():
            yield at, kind, json.loads(content) if content else {}


def _add_event(
    steps: dict[int, ShownStep],
    at: datetime,
    kind: str,
    content: dict[str, Any],
    *,
    with_words: bool,
) -> None:
    place = content.get("step")
    number = (
        place if isinstance(place, int) else max(steps, default=0) if kind == "run.ended" else 0
    )
    step = steps.setdefault(number, ShownStep(number=number))
    told = content if with_words else without_words(content)
    if kind == "step":
        step.at, step.facts = at, told
        step.text = shown_words(told.get("text"))
    elif kind == "tool.call":
        step.calls.append(_call_of(told, at))
    else:
        shown = {
            fact_named(kind, name): shown_words(fact_in_words(name, value))
            for name, value in told.items()
            if name not in {"withheld", "step"}
        }
        step.others.append({"at": at, "kind": kind, "facts": shown})


def _call_of(told: Mapping[str, Any], at: datetime) -> ShownCall:
    return ShownCall(
        index=told["index"],
        name=visible(f"{told['server']}/{told['tool']}"),
        effect=told["effect"],
        fate=told["fate"],
        settlement=settlement_told(fate=told["fate"], settlement=told["settlement"]),
        decision=gate_told(
            fate=told["fate"], posture=told.get("posture", ""), gate=told.get("gate") or ""
        ),
        key=told.get("key") or "",
        milliseconds=told.get("ms"),
        args=shown_words(told.get("args")),
        result=shown_words(told.get("result")),
        settled_at=at,
    )


def _add_children(run: Run, calls: Sequence[ShownCall]) -> None:
    """Put each child beside the call that it works on, or that it made once that was approved; asked where one may be."""
    by_key = {it.key: it for it in calls if it.key and it.name.startswith(SUB_AGENTS)}
    by_key |= {loop_of(it.approval_id): it for it in calls if it.approval_id}
    if not by_key:
        return
    children = Run.objects.filter(correlation_id=run.correlation_id, loop__in=list(by_key))
    for child in children.values("id", "loop", "status")[:MOST_MARKS]:
        by_key[child["loop"]].child = child


def _add_mark(step: ShownStep, mark: Mapping[str, Any], request: Approval | None) -> None:
    """What a mark's row tells stands over what its event told: the row is what settles."""
    call = next((it for it in step.calls if it.index == mark["index"]), None)
    if call is None:
        call = ShownCall(index=mark["index"], name=visible(f"{mark['server']}/{mark['tool']}"))
        step.calls.append(call)
    call.effect, call.fate, call.settlement = "write", mark["fate"], mark["settlement"]
    call.key = mark["step_key"]
    call.marked_at, call.settled_at = mark["marked_at"], mark["settled_at"]
    call.late_look_at, call.late_finding = mark["late_look_at"], mark["late_finding"]
    if request is not None:
        call.held_by, call.decision, call.approval_id = request.gate, mark["decision"], request.id
