"""What came of each step of a workflow in one run, for its page: by the run's events, and where it stands by its last part.

Bounded: two looks into the log and two parts, however long the run; a definition has at most 200 steps.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from events.content import some_text, whole_number
from events.words import without_words
from liyagent.core.errors import LiyagentError
from liyagent.core.pills import BAD, GOOD, QUIET, WARN
from liyagent.core.seal import tag_of
from liyagent.workflows.branches import BRANCH, PINNED, branch_loop
from liyagent.workflows.models import WorkflowVersion
from liyagent.workflows.picture import STATES, Picture, anchor, box_id, picture_of
from liyagent.workflows.words import StepTold, steps_in_words
from runs.checkpoint import START, STEP, sealer_of
from runs.models import Part, Run, RunStatus
from runs.shown_words import shown_words
from runs.told_events import LAST, Told, Window, told_in

MOST_EVENTS = 3_000
MOST_RUNS = 200
# Slashes in the key of a step that lies deepest; tries of a step.
DEEPEST, MOST_TRIES = 6, 11
TOLD_KINDS = " AND kind IN ('workflow.started', 'workflow.step', 'workflow.ended')"
KINDS = {"done": GOOD, "failed": BAD, "unknown": BAD, "skipped": QUIET, "current": QUIET}
AT_REST = (RunStatus.WAITING, RunStatus.PAUSED)


@dataclass(frozen=True, slots=True, kw_only=True)
class StepShown:
    """A step and what came of it last; `state` is "" where the run did not come to it, `event` where the log tells of it."""

    told: StepTold
    anchor: str
    box: str
    state: str
    words: str
    times: int = 0
    attempt: int = 0
    at: datetime | None = None
    event: int | None = None
    error: str = ""

    @property
    def kind(self) -> str:
        """The colour beside its words."""
        return KINDS.get(self.state, WARN)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSteps:
    """A run's workflow as far as it went. `picture` is None where its definition is not kept any more.

    `at` is the key of the step at which it stands, or stood when it failed; `branch` names the branch that the run is.
    """

    key: str
    version: int
    branch: str
    picture: Picture | None
    steps: Sequence[StepShown]
    at: str
    is_cut: bool

    @property
    def at_box(self) -> str:
        """The box of that step, "" for none."""
        return box_id(self.at) if self.at else ""

    @property
    def counted(self) -> str:
        """Say how many came to what: `3 done, 1 failed, 2 not reached`."""
        counts: dict[str, int] = {}
        for it in self.steps:
            counts[it.state or "not reached"] = counts.get(it.state or "not reached", 0) + 1
        return ", ".join(f"{number} {name}" for name, number in counts.items())


def steps_of(run: Run, *, with_words: bool) -> RunSteps | None:
    """Return what came of the steps of a workflow's run, None for a run that is of none; errors where words may be read."""
    if not run.workflow:
        return None
    family = _family(run)
    told = told_in(run.correlation_id, [it.id for it in family], Window(0, LAST), limit=MOST_EVENTS + 1, more=TOLD_KINDS)  # fmt: skip
    by_run: dict[UUID, list[Told]] = {}
    for it in told[:MOST_EVENTS]:
        by_run.setdefault(it.run_id, []).append(it)
    own = by_run.get(run.id, [])
    pinned = _pinned(run)
    version = whole_number(_first(own, "workflow.started").get("version"))
    definition = _definition(run, version, pinned)
    walk = _Walk(family=family, by_run=by_run, with_words=with_words)
    came = walk.came
    if definition is not None:
        walk.through(run, definition["steps"])
    at = _at(run, own)
    if at and definition is not None and not run.is_ended:
        state = "waiting" if run.status in AT_REST or run.not_before else "current"
        before = came.get(at)
        came[at] = _shown(at, state, times=before.times if before else 0)
    if definition is None:
        picture, steps = None, []
    else:
        picture = picture_of(definition, {key: it.state for key, it in came.items()})
        steps = [_row(it, came.get(it.key)) for it in steps_in_words(definition)]
    return RunSteps(
        key=run.workflow,
        version=version or whole_number(pinned.get("version")),
        branch=some_text(pinned.get(BRANCH)),
        picture=picture,
        steps=steps,
        at=at if any(it.told.key == at for it in steps) else "",
        is_cut=len(told) > MOST_EVENTS or len(family) > MOST_RUNS,
    )


def _family(run: Run) -> list[Run]:
    """The run, and those of the same workflow in its chain: its branches are among them."""
    rows = Run.objects.filter(correlation_id=run.correlation_id, workflow=run.workflow)
    found = rows.exclude(id=run.id).only("id", "parent_id", "loop", "status").order_by("id")
    return [run, *found[:MOST_RUNS]]


@dataclass(slots=True, kw_only=True)
class _Walk:
    """Goes through the runs of a workflow's chain, from the run down into the branches that it started."""

    family: Sequence[Run]
    by_run: Mapping[UUID, list[Told]]
    with_words: bool
    came: dict[str, StepShown] = field(default_factory=dict)

    def through(self, run: Run, steps: Sequence[Mapping[str, Any]], *, prefix: str = "") -> None:
        """Hear what each step of a run came to last, those of branches by the runs that they are."""
        by_id = {it["id"]: it for it in steps}
        loops = {it.loop: it for it in self.family if it.parent_id == run.id}
        own = self.by_run.get(run.id, [])
        told = [it for it in own if it.kind == "workflow.step"]
        failed = some_text(_first(own, "workflow.ended").get("failed_step"))
        for number, it in enumerate(told):
            step = by_id.get(self._hear(it, prefix, is_failed=it is told[-1], failed=failed))
            attempts = whole_number(it.content.get("attempt"))
            self._below(run, step, loops, number=number, attempts=attempts, prefix=prefix)
        for step in steps:
            # One that is not over yet: its branches are at it.
            self._below(run, step, loops, number=len(told), attempts=MOST_TRIES, prefix=prefix)

    def _hear(self, told: Told, prefix: str, *, is_failed: bool, failed: str) -> str:
        content = told.content if self.with_words else without_words(told.content)
        name, fate = some_text(content.get("name")), some_text(content.get("fate"))
        before = self.came.get(f"{prefix}{name}")
        self.came[f"{prefix}{name}"] = _shown(
            f"{prefix}{name}",
            "failed" if is_failed and name == failed and fate == "refused" else fate,
            times=(before.times if before else 0) + 1,
            attempt=whole_number(content.get("attempt")),
            at=told.at,
            event=None if prefix else told.number,
            error=shown_words(content.get("why")),
        )
        return name

    def _below(
        self,
        run: Run,
        step: Mapping[str, Any] | None,
        loops: Mapping[str, Run],
        *,
        number: int,
        attempts: int,
        prefix: str,
    ) -> None:
        if step is None or step["type"] != "parallel" or prefix.count("/") > DEEPEST:
            return
        for branch, inner in step["branches"].items():
            known = {"step": step["id"], "number": number, "branch": branch}
            tries = range(min(max(attempts, 1), MOST_TRIES), 0, -1)
            found = (loops.get(branch_loop(run.id, attempt=it, **known)) for it in tries)
            child = next((it for it in found if it is not None), None)
            if child is not None:
                self.through(child, inner, prefix=f"{prefix}{step['id']}/{branch}/")


def _shown(key: str, state: str, **known: Any) -> StepShown:
    return StepShown(
        told=StepTold(key, "", "", "", ""),
        anchor="",
        box="",
        state=state,
        words=STATES.get(state, state),
        **known,
    )


def _row(told: StepTold, came: StepShown | None) -> StepShown:
    known = came or _shown(told.key, "")
    return StepShown(
        told=told, anchor=anchor(told.key), box=box_id(told.key), state=known.state, words=known.words, times=known.times,
        attempt=known.attempt, at=known.at, event=known.event, error=known.error,
    )  # fmt: skip


def _first(told: Sequence[Told], kind: str) -> Mapping[str, Any]:
    return next((it.content for it in told if it.kind == kind), {})


def _definition(run: Run, version: int, pinned: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """As it was pinned; of a run whose parts are gone, as its version was saved."""
    if "definition" in pinned:
        found: Mapping[str, Any] = pinned["definition"]
        return found
    if run.parent_id is not None or not version:
        return None
    rows = WorkflowVersion.objects.filter(workflow__key=run.workflow, number=version)
    return rows.values_list("definition", flat=True).first()


def _pinned(run: Run) -> Mapping[str, Any]:
    """What the run's first part pins, `{}` where it is not kept or cannot be opened here."""
    part = Part.objects.filter(run_id=run.id, number=0).first()
    if part is None:
        return {}
    try:
        start = sealer_of(run).open(bytes(part.sealed), kind=START, number=0)
    except LiyagentError:
        return {}
    pinned: Mapping[str, Any] = start.get(PINNED, {})
    return pinned


def _at(run: Run, own: Sequence[Told]) -> str:
    """The step at which it stands, by its last part; of one that ended, the step that failed."""
    if run.is_ended:
        return some_text(_first(own, "workflow.ended").get("failed_step"))
    if run.parts < 2:
        return ""
    parts = {it.number: bytes(it.sealed) for it in Part.objects.filter(run_id=run.id, number__gte=run.parts - 2)}  # fmt: skip
    last, before = parts.get(run.parts - 1), parts.get(run.parts - 2)
    if last is None or before is None:
        return ""
    try:
        part = sealer_of(run).open(last, kind=STEP, number=run.parts - 1, previous=tag_of(before))
    except LiyagentError:
        return ""
    asked = part["calls"][-1]["id"] if part.get("calls") else ""
    return str(asked).rpartition("#")[0]
