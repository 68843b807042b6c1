"""The checkpoint of one attempt: what is stored of a run, opened, verified and written ahead (CR-09, CR-16).

The cost of a step does not grow with the run: the head is rewritten, and what the step added is one
sealed part, chained to the part before (ruling 15).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, TypeVar
from uuid import UUID

from django.conf import settings
from django.db.models import Model

from events.buffer import EventBuffer
from events.content import HIGHEST, content_of, whole_number
from liyagent.core.clock import boottime
from liyagent.core.seal import KeyMissing, Keyring, SealBroken, Sealer, tag_of
from runs.errors import CheckpointBroken, LostLease
from runs.event_buffer import event_buffer
from runs.handed import Handed
from runs.hot import Counters, Fence, GiveUp, ask, ask_together
from runs.marks import SealedMark, open_mark, open_outcome
from runs.models import Call, Intent, Run

M = TypeVar("M", bound=Model)
Places = set[tuple[int, int]]
START, STEP, HEAD = "start", "step", "head"


@dataclass(slots=True, kw_only=True)
class Checkpoint:
    """What this attempt knows to be stored. `sequence` is the number of its last write.

    `settled` are the last step's calls whose outcome is kept: without their rows they would be made again. `held` are the
    open marks of what was not sent: one that was reserved, and is put back to held, would be sent again.
    `is_start_told`: that the run was started is told, or will be with the next write.
    """

    run: Run
    sealer: Sealer
    parts: list[Any]
    last_tag: bytes
    counters: Counters
    marks: dict[tuple[int, int], Call]
    events: EventBuffer
    give_up: GiveUp
    sequence: int
    stop: bool
    config: int
    now: datetime
    now_at: float
    is_start_told: bool
    timeline: int = 0
    open_marks: Places = field(default_factory=set)
    settled: Places = field(default_factory=set)
    held: Places = field(default_factory=set)
    # The open marks of this attempt whose writes say how they are undone.
    declared: Places = field(default_factory=set)
    # What their calls handed over, and the ended children that calls in doubt were asked of.
    handed: dict[tuple[int, int], Handed] = field(default_factory=dict)
    heard: dict[tuple[int, int], Run] = field(default_factory=dict)
    # As whom, and below whom, the step in hand is made, where that is another than the run's: an undo is the writer's.
    acting_as: str = ""
    acting_below: tuple[str, ...] | None = None
    # The key of the undo in hand, "" where the step is none.
    undo_key: str = ""

    @property
    def acting(self) -> str:
        """The agent whose gates the step in hand passes."""
        return self.acting_as or self.run.agent_key

    @property
    def run_id(self) -> UUID:
        """The run's id."""
        return self.run.id

    @property
    def has_failed_over(self) -> bool:
        """Whether the last step was written before a standby took over: marks after it may be lost (ruling 40)."""
        return 0 not in {self.run.timeline, self.timeline} and self.run.timeline != self.timeline

    def next_fence(self) -> Fence:
        """Return the fence of the next write; it counts once the write is answered (`written`)."""
        return Fence(run_id=self.run.id, attempt=self.run.attempt, sequence=self.sequence + 1)

    def head_seal(self) -> bytes:
        """Seal the head as it will stand after the next write."""
        return seal_head(
            self.sealer,
            sequence=self.sequence + 1,
            counters=self.counters,
            parts=len(self.parts),
            last_tag=self.last_tag,
            open_marks=self.open_marks,
            settled=self.settled,
            held=self.held,
        )

    def add_part(self, part: Any, sealed: bytes) -> None:
        """Chain the next part, which the next write stores; the calls before it are done with."""
        self.parts.append(part)
        self.last_tag = tag_of(sealed)
        self.settled.clear()

    def database_time(self) -> datetime:
        """Return the database's time as this attempt can tell without asking: never later than it is."""
        return self.now + timedelta(seconds=boottime() - self.now_at)

    def written(self, told: Any) -> None:
        """Take note that the next write is stored, and of what it was told back."""
        self.sequence += 1
        self.stop = told.stop
        self.config = told.config


def seal_head(
    sealer: Sealer,
    *,
    sequence: int,
    counters: Counters,
    parts: int,
    last_tag: bytes,
    open_marks: Places,
    settled: Places,
    held: Collection[tuple[int, int]] = (),
) -> bytes:
    """Seal what the head claims: its write's number, counters, parts with the last tag, open, settled and held marks."""
    claims = {
        "counters": counters.values(),
        "parts": parts,
        "tag": last_tag.hex(),
        "marks": sorted(open_marks),
        "settled": sorted(settled),
        "held": sorted(held),
    }
    return sealer.seal(claims, kind=HEAD, number=sequence)


def seal_begun(run: Run, part: Any) -> tuple[bytes, bytes]:
    """Return the first part of a run that begins, sealed, and the head over it. Raises `KeyMissing`."""
    sealer = sealer_of(run)
    start = sealer.seal(part, kind=START, number=0)
    head = seal_head(
        sealer,
        sequence=0,
        counters=Counters(),
        parts=1,
        last_tag=tag_of(start),
        open_marks=set(),
        settled=set(),
    )
    return start, head


def keyring() -> Keyring:
    """Return the configured ring."""
    return Keyring(settings.LIYAGENT.seal_keys)


def sealer_of(run: Run) -> Sealer:
    """Return what seals and opens a run's words. Raises `KeyMissing`."""
    return keyring().sealer(key_id=run.key_id, run_id=run.id, format_number=run.format)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """What a resume needs of a run, as it was read in one round trip: sealed, and verified by nobody yet.

    `calls` are those of the last step, and unsettled ones. `last_told_step` is the step that the event log tells of last, 0
    for none, and `is_start_told` whether it tells of the start. `now` is the database's time, told at `now_at` here, and
    `timeline` the one that it writes on, 0 where that cannot be told.
    """

    run: Run
    config: int
    now: datetime
    now_at: float
    parts: list[tuple[int, str, bytes]]
    calls: list[Call]
    last_told_step: int
    is_start_told: bool
    timeline: int = 0


# A settled call of an earlier step stands in its part.
LAST_CALLS = (
    "run_id = %s AND (fate = '' OR step >= (SELECT model_steps FROM runs_run WHERE id = %s))"
)
PARTS = "SELECT number, kind, sealed FROM runs_part WHERE run_id = %s ORDER BY number"
# Only who wrote something told something, and who told of a step had told of the start before.
TOLD = """
SELECT step.content, CASE WHEN r.sequence = 0 THEN false WHEN step.content IS NOT NULL THEN true ELSE EXISTS (
        SELECT 1 FROM events_runevent e
        WHERE e.correlation_id = r.correlation_id AND e.run_id = r.id AND e.kind = 'run.started') END
    FROM runs_run r LEFT JOIN LATERAL (
        SELECT e.content FROM events_runevent e
        WHERE e.correlation_id = r.correlation_id AND e.run_id = r.id AND e.kind = 'step'
        ORDER BY e.number DESC LIMIT 1) AS step ON true
    WHERE r.id = %s
"""


def load(run_id: UUID, *, attempt: int, give_up: GiveUp) -> Stored:
    """Read an attempt just taken. Raises `LostLease` where it is no longer this attempt's."""
    heads, calls, parts, told, config = ask_together(
        (
            (_select(Run, "id = %s AND attempt = %s AND status = 'running'"), (run_id, attempt)),
            (_select(Call, LAST_CALLS), (run_id, run_id)),
            (PARTS, (run_id,)),
            (TOLD, (run_id,)),
            ("SELECT liyagent_config_version(), liyagent_now(), liyagent_timeline()", ()),
        ),
        give_up=give_up,
    )
    now_at = boottime()
    if not heads:
        raise LostLease(run_id=run_id, attempt=attempt)
    return Stored(
        run=_row(Run, heads[0]),
        config=config[0][0],
        now=config[0][1],
        now_at=now_at,
        parts=[(number, kind, sealed) for number, kind, sealed in parts],
        calls=[_row(Call, row) for row in calls],
        last_told_step=_step_told(told[0][0]),
        is_start_told=told[0][1],
        timeline=config[0][2],
    )


def _step_told(content: str | None) -> int:
    """The step that an event tells of, 0 without one; one that tells of none is none of ours, and then more than any."""
    if content is None:
        return 0
    return whole_number(content_of(content).get("step")) or HIGHEST


def stored_rows(model: type[M], where: str, values: Sequence[Any], *, give_up: GiveUp) -> list[M]:
    """Return a table's rows by a hot statement: it waits for a database that is away. Raises `LostLease`."""
    return [_row(model, it) for it in ask(_select(model, where), values, give_up=give_up)]


def _columns(model: type[Model]) -> list[str]:
    return [it.column for it in model._meta.concrete_fields]


def _select(model: type[Model], where: str) -> str:
    names = ", ".join(f'"{name}"' for name in _columns(model))
    return f"SELECT {names} FROM {model._meta.db_table} WHERE {where}"  # noqa: S608 - our own names


def _row(model: type[M], values: tuple[Any, ...]) -> M:
    return model.from_db("default", _columns(model), values)


def open_checkpoint(stored: Stored, *, give_up: GiveUp) -> Checkpoint:
    """Open and verify all that is stored of a run.

    Raises `KeyMissing`, `SealBroken` or `CheckpointBroken`: a part tampered with, swapped, cut off or
    older, or a head put back, is found here, before anything is sent (CR-16).
    """
    run = stored.run
    sealer = sealer_of(run)
    claims = sealer.open(run.seal, kind=HEAD, number=run.sequence)
    parts, last_tag = _open_parts(stored.parts, sealer)
    calls = {(call.step, call.index): call for call in stored.calls}
    open_marks, settled = _places(claims["marks"]), _places(claims["settled"])
    held = {place for place, call in calls.items() if not call.fate and call.intent == Intent.HELD}
    _check_claims(run, claims, parts=len(parts), last_tag=last_tag)
    _check_start(run, parts[0])
    _check_marks(run, calls, open_marks)
    _check_settled(run, calls, settled)
    _check_held(claims, held)
    marks = _check_calls(sealer, stored.calls)
    _check_log(run, last_told_step=stored.last_told_step)
    return Checkpoint(
        run=run,
        sealer=sealer,
        parts=parts,
        last_tag=last_tag,
        counters=counters_of(run),
        marks=calls,
        events=event_buffer(run, attempt=run.attempt),
        give_up=give_up,
        sequence=run.sequence,
        stop=run.stop_requested,
        config=stored.config,
        now=stored.now,
        now_at=stored.now_at,
        is_start_told=stored.is_start_told,
        timeline=stored.timeline,
        open_marks=open_marks,
        settled=settled,
        held=held,
        declared={place for place, mark in marks.items() if mark.undo is not None},
        handed={place: mark.handoff for place, mark in marks.items() if mark.handoff is not None},
    )


def first_part(stored: Stored) -> dict[str, Any]:
    """Return what a run was started with, `{}` where that does not open here, whatever else of it does not."""
    try:
        _, kind, sealed = stored.parts[0]
        start: dict[str, Any] = sealer_of(stored.run).open(sealed, kind=kind, number=0)
        _check_start(stored.run, start)
    except (KeyMissing, SealBroken, CheckpointBroken, LookupError):
        return {}
    return start


def started_as(run: Run) -> dict[str, Any]:
    """Return what a head says of its run from the start on: keys, rights and recording hang on it."""
    return {
        "correlation": str(run.correlation_id),
        "loop": run.loop,
        "agent": run.agent_key,
        "version": run.agent_version,
        "entry": run.entry,
        "mission": run.mission,
        "started_by": run.started_by,
        "recording": run.recording,
    }


def counters_of(run: Run) -> Counters:
    """Return the counters that stand on a head."""
    return Counters(
        steps=run.model_steps,
        calls=run.calls_made,
        input_tokens=run.input_tokens,
        output_tokens=run.output_tokens,
        cost_micros=run.cost_micros,
    )


def _open_parts(stored: list[tuple[int, str, bytes]], sealer: Sealer) -> tuple[list[Any], bytes]:
    opened: list[Any] = []
    last_tag = b""
    for number, kind, sealed in stored:
        if number != len(opened):
            raise CheckpointBroken(f"part {len(opened)} of the checkpoint is missing")
        opened.append(sealer.open(sealed, kind=kind, number=number, previous=last_tag))
        last_tag = tag_of(sealed)
    return opened, last_tag


def _check_claims(run: Run, claims: Any, *, parts: int, last_tag: bytes) -> None:
    """The plain columns and the parts must be those that were sealed."""
    if claims["parts"] != parts or claims["tag"] != last_tag.hex():
        raise CheckpointBroken(
            f"the head was sealed over {claims['parts']} parts; the {parts} stored are not those"
        )
    if tuple(claims["counters"]) != counters_of(run).values():
        raise CheckpointBroken("the head's counters are not those that were sealed")


def _check_start(run: Run, start: Any) -> None:
    """Another agent or starter on the head would lend the run another's rights."""
    if start["run"] != started_as(run):
        raise CheckpointBroken("the head is not that of the run that was started")


def _check_marks(run: Run, calls: dict[tuple[int, int], Call], open_marks: Places) -> None:
    """The unsettled calls must be the marks that were sealed; a mark of a later step shows a head put back."""
    unsettled = {place for place, call in calls.items() if not call.fate}
    if unsettled != open_marks:
        raise CheckpointBroken("the marks of calls in doubt are not those that were sealed")
    if any(step > run.model_steps for step, _ in calls):
        raise CheckpointBroken("a call of a later step is stored: the head was put back")


def _check_settled(run: Run, calls: dict[tuple[int, int], Call], settled: Places) -> None:
    """A settled call whose row is gone would be taken for one that was never made, and be made again."""
    kept = {place for place, call in calls.items() if call.fate and place[0] == run.model_steps}
    if kept != settled:
        raise CheckpointBroken("the settled calls of the last step are not those that were sealed")


def _check_held(claims: Any, held: Places) -> None:
    """A mark that was reserved may have been sent; put back to held, it would be sent as if it never was."""
    # A head of the release before does not say.
    if "held" in claims and _places(claims["held"]) != held:
        raise CheckpointBroken("the marks of calls that were held are not those that were sealed")


def _check_calls(sealer: Sealer, calls: list[Call]) -> dict[tuple[int, int], SealedMark]:
    """Each mark and each outcome opens as what it is, before anything of the step is done (CR-16).

    Returns the marks that are open.
    """
    marks: dict[tuple[int, int], SealedMark] = {}
    for call in calls:
        if call.fate:
            open_outcome(sealer, call)
        else:
            marks[call.step, call.index] = open_mark(sealer, call)
    return marks


def _places(claimed: list[list[int]]) -> Places:
    return {(int(step), int(index)) for step, index in claimed}


def _check_log(run: Run, *, last_told_step: int) -> None:
    """The event log is append-only, so a step it tells of that the head has not shows both were put back."""
    if last_told_step > run.model_steps:
        raise CheckpointBroken(
            f"the event log tells of step {last_told_step}: the checkpoint was put back"
        )
