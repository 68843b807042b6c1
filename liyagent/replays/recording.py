"""Load what was recorded of a run, or say why it cannot be replayed (RP-01).

The record is the run's events, judged first: a chain that was changed, or that lacks something, is nobody's recording. What
the run was given is its sealed first part.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import islice
from typing import Any

from events.completeness import Completeness
from events.content import quick_content
from events.keys import checking_keys
from events.reading import EventRow, one_moment, purged_among, read_facts, read_head, stream_events
from events.sealing import SEAL_CHECK
from events.verdict import Judge, Verdict
from liyagent.core.seal import KeyMissing, SealBroken
from liyagent.replays.as_told import as_told
from liyagent.replays.recorded import RecordedCall, RecordedStep, Recording, Skipped
from runs.approved_run import is_approved_run
from runs.checkpoint import sealer_of, started_as
from runs.minds import MIND
from runs.models import Part, Run, RunStatus
from runs.transcript import messages_kept

FULL = "full"
MOST_EVENTS = 20_000
# Of several recordings that are replayed side by side.
MOST_SIZE = 20_000_000
DIGEST = frozenset({"sha256", "bytes"})
TOO_LONG = f"its record is too long to be replayed: {MOST_EVENTS} events, or {MOST_SIZE} characters, are the most"


class NotReplayable(Exception):
    """The run cannot be replayed; the message is the reason."""


def load_recording(run: Run) -> Recording | Skipped:
    """Return what was recorded of a run, or why it is skipped; as many statements however long the run, and none that writes."""
    try:
        _check_run(run)
        start = _start_of(run)
        told = _read(run)
        return _recording(run, start, told)
    except NotReplayable as why:
        return Skipped(run_id=run.id, reason=str(why))


def _check_run(run: Run) -> None:
    """What its row alone says."""
    if not run.is_ended:
        raise NotReplayable(f"it has not ended: it is {run.status}")
    if is_approved_run(run):
        raise NotReplayable("it made a call that a person approved, and asked no model")
    if run.workflow:
        raise NotReplayable(f"it is a run of workflow {run.workflow}, which asks no model")
    if run.parent_id is not None or run.correlation_id != run.id:
        raise NotReplayable("it is part of another run: that one is replayed, with what it said")
    if run.recording != FULL:
        raise NotReplayable("it was recorded as metadata: its words are not kept")
    if run.events_missing:
        raise NotReplayable(f"{run.events_missing} of its events were never written")


def _start_of(run: Run) -> Mapping[str, Any]:
    """What the run was given, as it was sealed before it began."""
    part = Part.objects.filter(run_id=run.id, number=0).first()
    if part is None:
        raise NotReplayable("what it was given is not kept any more")
    try:
        start: dict[str, Any] = sealer_of(run).open(bytes(part.sealed), kind=part.kind, number=0)
    except KeyMissing:
        raise NotReplayable(
            f"the key {run.key_id} that its words are sealed with is not here"
        ) from None
    except SealBroken as error:
        raise NotReplayable(f"what it was given does not open: {error}") from None
    if start.get("run") != started_as(run):
        raise NotReplayable("its row is not that of the run that was started")
    if MIND in start:
        raise NotReplayable(f"no model decided about its steps, but {start[MIND]}")
    return start


@dataclass(slots=True)
class _Told:
    """What the events of one run tell, taken one by one; those of one moment were written in one commit."""

    steps: list[RecordedStep] = field(default_factory=list)
    calls: dict[tuple[int, int], RecordedCall] = field(default_factory=dict)
    ended: Mapping[str, Any] | None = None
    answer: str = ""
    # When the last commit was made, and the one before it; at first, when the run began.
    _at: datetime | None = None
    _before: datetime | None = None
    _busy_ms: int = 0

    def see(self, row: EventRow) -> None:
        """Take the next event of the run."""
        if row.at != self._at:
            self._before, self._at, self._busy_ms = self._at, row.at, 0
        content = quick_content(row.content)
        if row.kind == "step":
            self._see_step(row, content)
        elif row.kind == "tool.call":
            # One that was filed anew is told of twice: what came of it stands last.
            call = _call(row, content)
            self._busy_ms += call.ms
            self.calls[call.step, call.index] = call
        elif row.kind == "run.ended":
            # One that could not be opened tells of no answer.
            self.ended = content
            self.answer = _words(row, content, "answer") if "answer" in content else ""

    def _see_step(self, row: EventRow, content: Mapping[str, Any]) -> None:
        took = (row.at - self._before).total_seconds() * 1000 if self._before else 0
        self.steps.append(
            RecordedStep(
                number=content["step"],
                text=_words(row, content, "text"),
                finish=content["finish"],
                calls=tuple(content["calls"]),
                input_tokens=content["input_tokens"],
                output_tokens=content["output_tokens"],
                cost_micros=content["cost_micros"],
                model_ms=max(0, round(took) - self._busy_ms),
            )
        )


def _call(row: EventRow, content: Mapping[str, Any]) -> RecordedCall:
    return RecordedCall(
        step=content["step"],
        index=content["index"],
        server=content["server"],
        tool=content["tool"],
        args=_words(row, content, "args"),
        effect=content["effect"],
        fate=content["fate"],
        posture=content["posture"],
        settlement=content["settlement"],
        result=_words(row, content, "result"),
        ms=content["ms"],
    )


def _words(row: EventRow, content: Mapping[str, Any], name: str) -> Any:
    """Words of an event. Raises `NotReplayable` where their digest stands for them: nothing is served in their stead (FL-90)."""
    value = content.get(name)
    is_digest = isinstance(value, dict) and value.keys() == DIGEST
    if is_digest or name not in content:
        raise NotReplayable(
            f"words of it are missing: the {name} of event {row.number} ({row.kind})"
        )
    return value


def _read(run: Run) -> _Told:
    """Judge the run's chain and take what it tells of this run, of one moment. Raises `NotReplayable`."""
    chain = run.correlation_id
    # A start is told with the first step. One that was taken again began with its row, give or take its wait in the queue.
    told = _Told(_at=run.taken_at if run.attempt == 1 else run.created_at)
    missing: NotReplayable | None = None
    with one_moment():
        judge = Judge(
            correlation_id=chain,
            head=read_head(chain),
            keys=checking_keys(),
            completeness=Completeness.of(read_facts(chain, chain).get(chain, ())),
            seal=SEAL_CHECK.check,
        )
        if judge.head is None and chain in purged_among([chain]):
            raise NotReplayable("its record was purged")
        size = 0
        for row in islice(stream_events(chain, chain), MOST_EVENTS + 1):
            size += len(row.content)
            if size > MOST_SIZE or judge.seen >= MOST_EVENTS:
                raise NotReplayable(TOO_LONG)
            judge.see(row)
            if row.run_id == run.id and judge.broken is None and missing is None:
                missing = _seen(told, row)
    _check_verdict(judge.verdict())
    if missing is not None:
        raise missing
    return told


def _seen(told: _Told, row: EventRow) -> NotReplayable | None:
    """Take an event; what of it cannot be used is told once the chain was judged, since a break is the better reason."""
    try:
        told.see(row)
    except NotReplayable as why:
        return why
    except (KeyError, TypeError):
        return NotReplayable(f"event {row.number} ({row.kind}) tells less than a replay needs")
    return None


def _check_verdict(verdict: Verdict) -> None:
    if verdict.broken is not None:
        broken = verdict.broken
        raise NotReplayable(
            f"its record is not intact: {broken.sentence} (event {broken.number}, {broken.reason})"
        )
    if verdict.lacks:
        lack = verdict.lacks[0]
        raise NotReplayable(f"its record is not complete: {lack.sentence} ({lack.reason})")


def _recording(run: Run, start: Mapping[str, Any], told: _Told) -> Recording:
    if told.ended is None:
        raise NotReplayable("its record does not tell how it ended")
    ended = told.ended
    if ended["status"] not in RunStatus.values:
        raise NotReplayable("its record does not tell how it ended")
    return Recording(
        run_id=run.id,
        agent=run.agent_key,
        agent_version=run.agent_version,
        entry=run.entry,
        mission=run.mission,
        started_by=run.started_by,
        task=start["task"],
        history=start["history"],
        steps=told.steps,
        calls=as_told(_in_order(told.calls), _messages_of(run)),
        status=ended["status"],
        error=ended["error"],
        reason=ended["reason"],
        answer=told.answer,
        input_tokens=sum(it.input_tokens for it in told.steps),
        output_tokens=sum(it.output_tokens for it in told.steps),
        cost_micros=sum(it.cost_micros for it in told.steps),
    )


def _messages_of(run: Run) -> list[dict[str, Any]]:
    try:
        return messages_kept(run)
    except (KeyMissing, SealBroken) as error:
        raise NotReplayable(f"what was said in it does not open: {error}") from None


def _in_order(calls: Mapping[tuple[int, int], RecordedCall]) -> Sequence[RecordedCall]:
    return [calls[place] for place in sorted(calls)]
