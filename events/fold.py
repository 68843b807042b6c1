"""The state of a chain's runs, folded from its events alone (EV-04). Pure and total: whatever is stored, it never raises.

Every text is cut, every number is one that a counter can be, and of all lists together no more than `most` items are kept:
what was left out is counted. So a chain of any length has a state of bounded size.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from events.chain import StoredEvent
from events.content import content_of, some_list, some_text, whole_number

OPEN, UNKNOWN = "open", "unknown"
MOST = 2000
MOST_LEFT = 100
SETTLEMENT_AT_END = "run_ended"
COUNTERS = ("input_tokens", "output_tokens", "cost_micros")
CALL_TEXTS = ("server", "tool", "effect", "fate", "posture", "gate", "policy", "key", "settlement")
AUTHORITY = ("digest", "policy", "ceiling", "run_as")


@dataclass(slots=True, kw_only=True)
class CallState:
    """One tool call with its authority. `number` is the event that told of it last, `times` how many told of its outcome.

    `gate` is what refused or held it, `approval` the request that it was made by; `run_as` as whom, where a request says so.
    """

    step: int
    index: int
    facts: dict[str, str] = field(default_factory=lambda: dict.fromkeys(CALL_TEXTS, ""))
    run_as: str = ""
    approval: str = ""
    decision: str = ""
    decided_by: str = ""
    settled_by: str = ""
    milliseconds: int = 0
    number: int = 0
    times: int = 0

    def told(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {
            "step": self.step,
            "index": self.index,
            **self.facts,
            "run_as": self.run_as,
            "approval": self.approval,
            "decision": self.decision,
            "decided_by": self.decided_by,
            "settled_by": self.settled_by,
            "ms": self.milliseconds,
            "event": self.number,
        }


@dataclass(slots=True)
class Budget:
    """How many items all lists of a state may still keep."""

    left: int

    def take(self) -> bool:
        """Whether one more may be kept."""
        self.left -= 1
        return self.left >= 0


@dataclass(slots=True)
class Kept:
    """The first of a list, as long as there is room; `count` is how many there were."""

    budget: Budget
    items: list[dict[str, Any]] = field(default_factory=list)
    count: int = 0

    def add(self, item: dict[str, Any]) -> None:
        """Keep an item, or count it."""
        self.count += 1
        if self.budget.take():
            self.items.append(item)

    def told(self) -> list[dict[str, Any]]:
        """Return what was kept."""
        return self.items


@dataclass(slots=True, kw_only=True)
class RunState:
    """What the events of one run come to. `status` is `open` until an event tells of its end, `unknown` where none told of its
    start. `steps` are the steps told of; `counters` of the end stand in `ended`.
    """

    run_id: UUID
    budget: Budget
    status: str = UNKNOWN
    mission: str = ""
    agent: str = ""
    version: int = 0
    entry: str = ""
    started_by: str = ""
    recording: str = ""
    steps: int = 0
    last_step: int = 0
    calls_asked: int = 0
    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(COUNTERS, 0))
    calls: dict[tuple[int, int], CallState] = field(default_factory=dict)
    calls_left_out: int = 0
    approvals: dict[str, dict[str, Any]] = field(default_factory=dict)
    approvals_left_out: int = 0
    resumes: Kept = field(init=False)
    retries: Kept = field(init=False)
    guardrails: Kept = field(init=False)
    sagas: Kept = field(init=False)
    handoffs: Kept = field(init=False)
    workflow: dict[str, Any] = field(default_factory=dict)
    handed_over: int = 0
    missing: int = 0
    ended: dict[str, Any] = field(default_factory=dict)
    ends: int = 0
    first: int = 0
    last: int = 0

    def __post_init__(self) -> None:
        """Begin with nothing."""
        self.resumes, self.retries, self.guardrails = (Kept(self.budget) for _ in range(3))
        self.sagas, self.handoffs = Kept(self.budget), Kept(self.budget)

    @property
    def has_more(self) -> bool:
        """Whether something was left out of its lists."""
        lists = (self.resumes, self.retries, self.guardrails, self.sagas, self.handoffs)
        left_out = self.calls_left_out or self.approvals_left_out
        return bool(left_out) or any(it.count > len(it.items) for it in lists)

    def told(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {
            "run_id": str(self.run_id),
            "status": self.status,
            "mission": self.mission,
            "agent": self.agent,
            "version": self.version,
            "entry": self.entry,
            "started_by": self.started_by,
            "recording": self.recording,
            "steps": self.steps,
            "calls_asked": self.calls_asked,
            **self.counts,
            "calls": [self.calls[it].told() for it in sorted(self.calls)],
            "approvals": list(self.approvals.values()),
            "retries": self.retries.told(),
            "resumes": self.resumes.told(),
            "handed_over": self.handed_over,
            "guardrails": self.guardrails.told(),
            "sagas": self.sagas.told(),
            "handoffs": self.handoffs.told(),
            "workflow": self.workflow or None,
            "missing": self.missing,
            "ended": self.ended or None,
            "has_more": self.has_more,
            "events": [self.first, self.last],
        }


@dataclass(slots=True)
class State:
    """What a chain comes to: its runs in the order in which they are told of first. `left_out`: events of runs that had no room."""

    budget: Budget
    runs: dict[UUID, RunState] = field(default_factory=dict)
    left_out: int = 0
    events: int = 0
    missing: int = 0
    unknown: int = 0

    def see(self, row: StoredEvent) -> None:
        """Take the next event."""
        self.events += 1
        run = self.runs.get(row.run_id)
        if run is None:
            if not self.budget.take():
                self.left_out += 1
                return
            run = self.runs[row.run_id] = RunState(run_id=row.run_id, budget=self.budget)
            run.first = row.number
        run.last = row.number
        run.mission = some_text(row.mission) or run.mission
        run.recording = some_text(row.recording) or run.recording
        fold_one = FOLDS.get(row.kind)
        if fold_one is not None:
            fold_one(run, content_of(row.content), row.number)
        else:
            self.unknown += 1
        if row.kind == "gap":
            self.missing += whole_number(content_of(row.content).get("missing"))


def fold(events: Iterable[StoredEvent], *, most: int = MOST) -> State:
    """Return the state that these events come to, in the order in which they stand."""
    state = State(Budget(most))
    for row in events:
        state.see(row)
    return state


def _started(run: RunState, told: Mapping[str, Any], _number: int) -> None:
    run.agent, run.entry = some_text(told.get("agent")), some_text(told.get("entry"))
    run.version = whole_number(told.get("version"))
    run.started_by = some_text(told.get("started_by"))
    if not run.ended:
        run.status = OPEN


def _step(run: RunState, told: Mapping[str, Any], _number: int) -> None:
    run.steps += 1
    run.last_step = max(run.last_step, whole_number(told.get("step")))
    run.calls_asked += len(some_list(told.get("calls")))
    for name in COUNTERS:
        run.counts[name] += whole_number(told.get(name))


def _call(run: RunState, told: Mapping[str, Any], number: int) -> None:
    call = _call_at(run, told)
    if call is None:
        return
    call.facts = {name: some_text(told.get(name)) for name in CALL_TEXTS}
    call.milliseconds = whole_number(told.get("ms"))
    call.run_as = some_text(told.get("run_as")) or call.run_as
    call.approval = some_text(told.get("approval")) or call.approval
    call.number = number
    call.times += 1


def _call_settled(run: RunState, told: Mapping[str, Any], number: int) -> None:
    call = _call_at(run, told)
    if call is None:
        return
    for name in ("server", "tool", "fate", "settlement"):
        call.facts[name] = some_text(told.get(name))
    call.settled_by = some_text(told.get("by"))
    call.number = number


def _call_at(run: RunState, told: Mapping[str, Any]) -> CallState | None:
    place = (whole_number(told.get("step")), whole_number(told.get("index")))
    call = run.calls.get(place)
    if call is None:
        if not run.budget.take():
            run.calls_left_out += 1
            return None
        call = run.calls[place] = CallState(step=place[0], index=place[1])
    return call


def _requested(run: RunState, told: Mapping[str, Any], number: int) -> None:
    request = _approval(run, told)
    if request is None:
        return
    request |= {"gate": some_text(told.get("gate")), "requested": number}
    call = _call_at(run, told)
    if call is not None:
        call.approval, call.run_as = request["approval"], request["run_as"]
        call.decision = call.decided_by = ""


def _decided(run: RunState, told: Mapping[str, Any], number: int) -> None:
    request = _approval(run, told)
    if request is None:
        return
    decision, by = some_text(told.get("decision")), some_text(told.get("by"))
    request |= {"decision": decision, "by": by, "decided": number}
    call = _call_at(run, told)
    if call is not None and call.approval in {"", request["approval"]}:
        call.approval, call.run_as = request["approval"], request["run_as"]
        call.decision, call.decided_by = decision, by


def _approval(run: RunState, told: Mapping[str, Any]) -> dict[str, Any] | None:
    name = some_text(told.get("approval"))
    request = run.approvals.get(name)
    if request is None:
        if not run.budget.take():
            run.approvals_left_out += 1
            return None
        request = run.approvals[name] = {"approval": name, "decision": "", "by": ""}
    request |= {name: whole_number(told.get(name)) for name in ("step", "index")}
    request |= {name: some_text(told.get(name)) for name in ("server", "tool", *AUTHORITY)}
    return request


def _resumed(run: RunState, told: Mapping[str, Any], number: int) -> None:
    settled = [
        {
            "index": whole_number(it.get("index")),
            "call": some_text(it.get("call")),
            "settlement": some_text(it.get("settlement")),
        }
        for it in some_list(told.get("calls"))[:MOST_LEFT]
        if isinstance(it, dict)
    ]
    numbers = {name: whole_number(told.get(name)) for name in ("attempt", "step", "losses")}
    texts = {name: some_text(told.get(name)) for name in ("cause", "holder")}
    run.resumes.add({**numbers, **texts, "calls": settled, "event": number})


def _handed_over(run: RunState, _told: Mapping[str, Any], _number: int) -> None:
    run.handed_over += 1


def _guarded(run: RunState, told: Mapping[str, Any], number: int) -> None:
    names = ("direction", "check", "name", "action")
    run.guardrails.add({name: some_text(told.get(name)) for name in names} | {"event": number})


def _gap(run: RunState, told: Mapping[str, Any], _number: int) -> None:
    run.missing += whole_number(told.get("missing"))


def _ended(run: RunState, told: Mapping[str, Any], number: int) -> None:
    """The end, and what it says of calls that nobody settled before it."""
    run.ends += 1
    run.status = some_text(told.get("status")) or UNKNOWN
    numbers = {
        name: whole_number(told[name])
        for name in ("steps", "calls", *COUNTERS, "losses")
        if name in told
    }
    places = [_place(it) for it in some_list(told.get("unsettled"))[:MOST_LEFT]]
    run.ended = {
        "status": run.status,
        "reason": some_text(told.get("reason")),
        "error": some_text(told.get("error")),
        **numbers,
        "event": number,
    }
    if "unsettled" in told:
        run.ended["unsettled"] = [list(it) for it in places]
    for step, index in places:
        call = _call_at(run, {"step": step, "index": index})
        if call is not None and not call.facts["fate"]:
            call.facts["settlement"], call.number = SETTLEMENT_AT_END, number


def _place(value: Any) -> tuple[int, int]:
    items = some_list(value)
    return (whole_number(items[0]), whole_number(items[1])) if len(items) == 2 else (0, 0)


def _retry(run: RunState, told: Mapping[str, Any], number: int) -> None:
    texts = {"name": some_text(told.get("name"))}
    run.retries.add({**texts, "attempt": whole_number(told.get("attempt")), "event": number})


def _workflow(run: RunState, told: Mapping[str, Any], number: int) -> None:
    names = ("workflow", "name", "fate", "waits_for", "failed_step")
    run.workflow |= {name: some_text(told[name]) for name in names if name in told}
    run.workflow["event"] = number


def _saga(run: RunState, told: Mapping[str, Any], number: int) -> None:
    texts = (
        "server",
        "tool",
        "key",
        "undo",
        "missing",
        "fate",
        "approval",
        "note",
        "handoff",
        "id",
    )
    numbers = (
        "step",
        "index",
        "order",
        "round",
        "undos",
        "tries",
        "tried",
        "done",
        "held",
        "failed",
        "unknown",
    )
    run.sagas.add(
        {name: some_text(told[name]) for name in texts if name in told}
        | {name: whole_number(told[name]) for name in numbers if name in told}
        | {"event": number}
    )


def _handoff(run: RunState, told: Mapping[str, Any], number: int) -> None:
    texts = {name: some_text(told.get(name)) for name in ("thread", "digest", "direction")}
    run.handoffs.add({**texts, "version": whole_number(told.get("version")), "event": number})


FOLDS = {
    "run.started": _started,
    "run.resumed": _resumed,
    "run.handed_over": _handed_over,
    "run.ended": _ended,
    "step": _step,
    "tool.call": _call,
    "call.settled": _call_settled,
    "approval.requested": _requested,
    "approval.decided": _decided,
    "agent.guardrail": _guarded,
    "gap": _gap,
    "retry": _retry,
    "workflow.started": _workflow,
    "workflow.step": _workflow,
    "workflow.waiting": _workflow,
    "workflow.ended": _workflow,
    "saga.registered": _saga,
    "saga.compensating": _saga,
    "saga.undone": _saga,
    "saga.ended": _saga,
    "saga.handoff": _saga,
    "handoff": _handoff,
}
