"""The course of a workflow: which step comes next, by its definition, its input and what came of each step. Pure.

A run that is taken over goes through it anew with what was stored, and stands where the other stood: nothing here
is a function of the clock, of chance, or of anything that was not written.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from liyagent.core.conditions import CannotBeJudged, holds
from liyagent.core.errors import LiyagentError
from liyagent.core.plain import NotStorable, to_plain
from liyagent.core.templates import BadTemplate, lookup, render_by
from liyagent.workflows.done import DONE, Made, done_told, made_of
from liyagent.workflows.steps import END, Definition, Step
from liyagent.workflows.waits import check_wait

# What a step's words are filled in from, by the type of the step: the fields of its body that are templates.
FILLED = {
    "tool": ("args",),
    "agent": ("task",),
    "set": ("values",),
    "wait": ("seconds", "until", "signal"),
    "approve": ("question",),
}
LONGEST_ERROR = 2000
# Of what one template makes, and of all variables together: a loop that doubles what it holds ends by this, and no
# process for want of memory.
MOST_BYTES = 4 << 20
WITHIN = frozenset({"set", "branch"})


class Came(StrEnum):
    """What came of a step. UNKNOWN and HELD are no failures to retry or fall back on: it may have happened, or will."""

    DONE = "done"
    FAILED = "failed"
    REFUSED = "refused"
    UNKNOWN = "unknown"
    HELD = "held"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """A step that needs the world: `number` steps were executed before it, and `attempt` counts its tries from 1."""

    step: Step
    number: int
    attempt: int
    body: Mapping[str, Any]
    delay_seconds: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What came of an `Ask`."""

    came: Came
    output: Any = None
    error: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Over:
    """The course is at its end; `step` is the one that failed, "" where none did. `is_cap`: it may make no more steps."""

    step: str = ""
    came: Came = Came.DONE
    output: Any = None
    error: str = ""
    is_cap: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What is told of a step that came to its end."""

    step: Step
    result: Result
    attempt: int


@dataclass(slots=True, kw_only=True)
class Course:
    """Where a run of a workflow stands. Ask `next`, do what it wants, tell `took`, until it is `Over`.

    `tried` is every attempt that needed the world, with what it came to and its error; `told` the steps that came to an end;
    `made` those of them that needed the world, in words, for whoever goes on where one failed (`run.done`).
    """

    definition: Definition
    input: Any
    run: Mapping[str, Any]
    before: Mapping[str, Any] = field(default_factory=dict)
    vars: dict[str, Any] = field(default_factory=dict)
    steps: dict[str, Any] = field(default_factory=dict)
    told: list[Told] = field(default_factory=list)
    tried: list[dict[str, Any]] = field(default_factory=list)
    executed: int = 0
    made: list[Made] = field(default_factory=list)
    _at: str = ""
    _body: Mapping[str, Any] = field(default_factory=dict)
    _attempt: int = 1
    _delay: float = 0.0
    _last: Any = None
    _over: Over | None = None

    def __post_init__(self) -> None:
        """Stand before the first step."""
        self._at = self.definition.first

    def scope(self) -> dict[str, Any]:
        """Return what expressions read."""
        steps = {**self.before.get("steps", {}), **self.steps}
        values = {**self.before.get("vars", {}), **self.vars}
        return {"input": self.input, "vars": values, "steps": steps, "run": dict(self.run)}

    def next(self) -> Ask | Over:
        """Return the next step that needs the world, filled in, or how it ended. Asked again, it answers the same."""
        while self._over is None:
            if self._at == END:
                self._over = self._ended()
            elif self.executed >= self.definition.most_steps:
                error = f"{self.executed} steps were executed, as many as it may"
                self._over = Over(step=self._at, came=Came.FAILED, error=error, is_cap=True)
            else:
                step = self.definition.steps[self._at]
                try:
                    asked = self._enter(step)
                except LiyagentError as error:
                    self._failed(step, Result(came=Came.FAILED, error=str(error)), may_retry=False)
                    continue
                if asked is not None:
                    return asked
        return self._over

    def took(self, result: Result) -> None:
        """Go on behind the step that was asked for last with what came of it."""
        step = self.definition.steps[self._at]
        facts = {"step": step.id, "number": self.executed, "attempt": self._attempt}
        self.tried.append(
            {**facts, "came": result.came.value, "error": result.error[:LONGEST_ERROR]}
        )
        if result.came is Came.DONE:
            self._done(step, result)
        else:
            self._failed(step, result, may_retry=result.came is Came.FAILED)

    def _enter(self, step: Step) -> Ask | None:
        """What the step wants of the world; None where it was done here."""
        if step.when and self._attempt == 1 and not holds(step.when, self.scope()):
            self._done(step, Result(came=Came.SKIPPED))
            return None
        if step.type == "branch":
            self._branch(step)
            return None
        body = dict(step.body)
        for name in FILLED.get(step.type, ()):
            if name in body:
                body[name] = self._filled(body[name])
        if step.type == "wait":
            check_wait(body)
        if step.type == "set":
            self.vars = _bounded({**self.vars, **body["values"]}, "the variables")
            self._done(step, Result(came=Came.DONE, output=body["values"]))
            return None
        self._body = body
        return Ask(
            step=step,
            number=self.executed,
            attempt=self._attempt,
            body=body,
            delay_seconds=self._delay,
        )

    def _filled(self, template: Any) -> Any:
        scope = self.scope()

        def find(path: str) -> Any:
            return done_told(self.made) if path == DONE else lookup(path, scope)

        return _bounded(render_by(template, find), "what its template makes")

    def _branch(self, step: Step) -> None:
        scope = self.scope()
        for number, case in enumerate(step.body["cases"]):
            try:
                is_taken = holds(case["when"], scope)
            except CannotBeJudged as error:
                raise CannotBeJudged(f"case {number}: {error}") from None
            if is_taken:
                self._done(step, Result(came=Came.DONE, output=number), to=case["next"])
                return
        self._done(step, Result(came=Came.DONE), to=step.body.get("else", step.next))

    def _done(self, step: Step, result: Result, *, to: str = "") -> None:
        self._tell(step, result)
        if step.type not in WITHIN and result.came is Came.DONE:
            self._last = result.output
        self._go(to or step.next)

    def _failed(self, step: Step, result: Result, *, may_retry: bool) -> None:
        if may_retry and self._attempt <= step.retry.times:
            self._delay = step.retry.backoff_seconds * 2 ** (self._attempt - 1)
            self._attempt += 1
            return
        self._tell(step, result)
        if result.came not in {Came.UNKNOWN, Came.HELD}:
            if step.on_error:
                self._go(step.on_error)
                return
            if step.has_fallback and self._fell_back(step):
                return
        self._over = Over(step=step.id, came=result.came, error=result.error)

    def _fell_back(self, step: Step) -> bool:
        try:
            output = self._filled(step.fallback)
        except LiyagentError:
            # What failed first is what a person has to hear of.
            return False
        self.steps[step.id]["output"] = self._last = output
        self._go(step.next)
        return True

    def _tell(self, step: Step, result: Result) -> None:
        self.told.append(Told(step=step, result=result, attempt=self._attempt))
        if step.type not in WITHIN and result.came is not Came.SKIPPED:
            # One that could not be filled in was given nothing.
            body = self._body or {**step.body, "args": None, "task": None}
            answer = result.error or result.output
            self.made.append(
                made_of(step.id, body, type_=step.type, came=result.came.value, answer=answer)
            )
        self.steps[step.id] = {
            "came": result.came.value,
            "output": result.output,
            "error": result.error,
            "attempts": self._attempt,
        }

    def _go(self, to: str) -> None:
        self.executed += 1
        self._at, self._attempt, self._delay, self._body = to, 1, 0.0, {}

    def _ended(self) -> Over:
        if not self.definition.has_output:
            return Over(output=self._last)
        try:
            return Over(output=self._filled(self.definition.output))
        except LiyagentError as error:
            return Over(step="output", came=Came.FAILED, error=str(error))


def _bounded(value: Any, what: str) -> Any:
    """A copy of its own, of at most 4 MiB, nested at most 100 deep. Raises `BadTemplate`."""
    try:
        return to_plain(value, limit_bytes=MOST_BYTES)
    except NotStorable as error:
        raise BadTemplate(f"{what} cannot be kept: {error}") from None
