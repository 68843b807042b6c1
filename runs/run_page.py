"""What the page of one run shows: its steps with their calls, fifty at a time, and what a person has to look at.

However long the run, a page asks the database the same number of times and shows no more than so many events.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from events.content import whole_number
from liyagent.agents.sub_agents import SUB_AGENTS
from runs.approved_run import loop_of
from runs.decisions import requests_of
from runs.head import answer_of
from runs.models import Call, Run
from runs.relatives import Relative, Relatives, relatives_of
from runs.run_timeline import Material, ShownStep, lay_out
from runs.shown_call import ShownCall
from runs.shown_words import shown_words
from runs.told_events import LAST, Told, Window, page_with, told_in, window_of
from runs.unknown import UNKNOWN

STEPS_A_PAGE = 50
MOST_EVENTS = 1000
# Of all sub-agents together, on one page.
MOST_NESTED = 500
MOST_MARKS = 1000
MOST_UNKNOWN = 100
LONGEST_ANSWER = 20_000
MARK_FACTS = (
    "id", "run_id", "step", "index", "server", "tool", "fate", "settlement", "step_key", "intent", "attempt", "marked_at",
    "settled_at", "late_look_at", "late_finding", "approval_id",
)  # fmt: skip
# A sub-agent that took no more steps than this is shown unfolded.
UNFOLDED_STEPS = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownSub:
    """A sub-agent's run nested in the call that handed it work, or the run that made an approved call."""

    run: Relative
    entries: Sequence[Any]
    is_cut: bool

    @property
    def is_unfolded(self) -> bool:
        """Whether it is short, or something in it wants to be seen."""
        has_trouble = self.run.status not in {"answered", "running", "queued"}
        return has_trouble or len(self.entries) <= UNFOLDED_STEPS


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownPage:
    """A page of a run's timeline. `is_truncated` where it holds more events or marks than are shown."""

    entries: Sequence[Any]
    number: int
    pages: int
    is_truncated: bool

    @property
    def steps(self) -> list[ShownStep]:
        """The steps of the page, for those who show nothing else."""
        return [it for it in self.entries if isinstance(it, ShownStep)]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Own:
    """What was read of a page of the run itself."""

    told: Sequence[Told]
    marks: Sequence[Mapping[str, Any]]
    shells: range
    window: Window | None
    is_truncated: bool


def page_of(
    run: Run,
    number: int,
    *,
    with_words: bool,
    relatives: Relatives | None = None,
    broken_at: int | None = None,
) -> ShownPage:
    """Return a page of the run's timeline, the nearest there is; words only where they may be read.

    `broken_at`: the event at which the record is broken, marked where it stands.
    """
    pages = max(1, -(-run.model_steps // STEPS_A_PAGE))
    number = min(max(number, 1), pages)
    own = _own(run, number, pages)
    family = relatives if relatives is not None else relatives_of(run)
    requests = requests_of(it["approval_id"] for it in own.marks)
    entries = lay_out(
        Material(
            told=own.told,
            marks=own.marks,
            requests=requests,
            shells=own.shells,
            begun=run.taken_at if run.attempt == 1 and number == 1 else None,
            broken_at=_if_within(broken_at, own),
        ),
        with_words=with_words,
    )
    is_nested_cut = _nest(run, family, entries, own.window, with_words=with_words)
    return ShownPage(
        entries=entries,
        number=number,
        pages=pages,
        is_truncated=own.is_truncated or is_nested_cut,
    )


def page_of_event(run: Run, number: int) -> int:
    """Return the page on which an event of the run's chain stands."""
    return page_with(run, number, steps=STEPS_A_PAGE)


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


def _own(run: Run, number: int, pages: int) -> _Own:
    window = window_of(run, number, steps=STEPS_A_PAGE)
    told: list[Told] = []
    if window is not None:
        # The step with which the next page begins says which steps are of this one.
        told = told_in(
            run.correlation_id,
            [run.id],
            window._replace(last=min(window.last + 1, LAST)),
            limit=MOST_EVENTS + 2,
        )
    following = told.pop() if window and told and told[-1].number == window.last else None
    shells = _steps_of(run, number, pages, told, following)
    marks = _marks(run_id=run.id, step__gte=shells.start, step__lt=shells.stop)
    return _Own(
        told=told[:MOST_EVENTS],
        marks=marks[:MOST_MARKS],
        shells=shells,
        window=window,
        is_truncated=len(told) > MOST_EVENTS or len(marks) > MOST_MARKS,
    )


def _steps_of(
    run: Run, number: int, pages: int, told: Sequence[Told], following: Told | None
) -> range:
    """Which steps are of this page: those that its events tell of, and those between for which there is no event."""
    first = (number - 1) * STEPS_A_PAGE + 1
    steps = [whole_number(it.content.get("step")) for it in told if it.kind == "step"]
    if not steps:
        return range(first, min(first + STEPS_A_PAGE, run.model_steps + 1))
    low = min(steps) if number > 1 else 1
    high = max(steps)
    if following is not None:
        high = max(high, whole_number(following.content.get("step")) - 1)
    elif number == pages:
        high = max(high, run.model_steps)
    return range(low, min(high, low + 2 * STEPS_A_PAGE) + 1)


def _nest(
    run: Run, family: Relatives, entries: Sequence[Any], window: Window | None, *, with_words: bool
) -> bool:
    """Put each sub-agent's run into the call that it works on; say whether more of them is told than is shown."""
    calls = _calls_in(entries)
    children = _attached(calls, family)
    below = [it for it in family.below({it.id for it in children.values()}) if it != run.id]
    if not below:
        return False
    first = window.first if window else 0
    told = told_in(run.correlation_id, below, Window(first, LAST), limit=MOST_NESTED + 1)
    marks = _marks(run_id__in=below)
    requests = requests_of(it["approval_id"] for it in marks)
    is_cut = len(told) > MOST_NESTED

    def add(asking: Sequence[ShownCall], found: Mapping[str, Relative]) -> None:
        for call in asking:
            child = found.get(call.key) or found.get(loop_of(call.approval_id))
            if child is None or child.id == run.id:
                continue
            own = [it for it in told[:MOST_NESTED] if it.run_id == child.id]
            nested = lay_out(
                Material(
                    told=own,
                    marks=[it for it in marks[:MOST_MARKS] if it["run_id"] == child.id],
                    requests=requests,
                ),
                with_words=with_words,
            )
            has_end = any(it.kind == "run.ended" for it in own)
            call.sub = ShownSub(run=child, entries=nested, is_cut=is_cut and not has_end)
            below_it = _calls_in(nested)
            # Only what is its own child may be nested in it, so that this ends.
            add(
                below_it,
                {
                    k: it
                    for k, it in _attached(below_it, family).items()
                    if it.parent_id == child.id
                },
            )

    add(calls, children)
    return is_cut


def _attached(calls: Sequence[ShownCall], family: Relatives) -> dict[str, Relative]:
    """The run that works on each call, by the key that both name."""
    by_loop = family.by_loop()
    keys = {it.key for it in calls if it.key and it.name.startswith(SUB_AGENTS)}
    keys |= {loop_of(it.approval_id) for it in calls if it.approval_id}
    return {it: by_loop[it] for it in keys if it in by_loop}


def _calls_in(entries: Sequence[Any]) -> list[ShownCall]:
    return [call for it in entries if isinstance(it, ShownStep) for call in it.calls]


def _marks(**chosen: Any) -> list[dict[str, Any]]:
    rows = Call.objects.filter(**chosen).order_by("step", "index")
    return list(rows.values(*MARK_FACTS)[: MOST_MARKS + 1])


def _if_within(number: int | None, own: _Own) -> int | None:
    if number is None or own.window is None:
        return None
    return number if own.window.first <= number < own.window.last else None
