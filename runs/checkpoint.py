"""The checkpoint of one attempt: what is stored of a run, opened, verified and written ahead (CR-09, CR-16).

The cost of a step does not grow with the run: the head is rewritten, and what the step added is one
sealed part, chained to the part before (ruling 15).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, TypeVar
from uuid import UUID

from django.conf import settings
from django.db.models import Model

from events.buffer import EventBuffer
from liyagent.core.seal import Keyring, Sealer, tag_of
from runs.errors import CheckpointBroken, LostLease
from runs.hot import Counters, Fence, GiveUp, ask
from runs.models import Call, Run

M = TypeVar("M", bound=Model)
START, STEP, HEAD, OUTCOME, BYTES = "start", "step", "head", "outcome", "bytes"


@dataclass(slots=True, kw_only=True)
class Checkpoint:
    """What this attempt knows to be stored. `sequence` is the number of its last write."""

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
    config: int = 0
    open_marks: set[tuple[int, int]] = field(default_factory=set)

    @property
    def run_id(self) -> UUID:
        """The run's id."""
        return self.run.id

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
        )

    def add_part(self, part: Any, sealed: bytes) -> None:
        """Chain the next part, which the next write stores."""
        self.parts.append(part)
        self.last_tag = tag_of(sealed)

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
    open_marks: set[tuple[int, int]],
) -> bytes:
    """Seal what the head claims: its write's number, counters, parts with the last tag, and open marks."""
    claims = {
        "counters": counters.values(),
        "parts": parts,
        "tag": last_tag.hex(),
        "marks": sorted(open_marks),
    }
    return sealer.seal(claims, kind=HEAD, number=sequence)


def keyring() -> Keyring:
    """Return the configured ring."""
    return Keyring(settings.LIYAGENT.seal_keys)


def sealer_of(run: Run) -> Sealer:
    """Return what seals and opens a run's words. Raises `KeyMissing`."""
    return keyring().sealer(key_id=run.key_id, run_id=run.id, format_number=run.format)


def load(run_id: UUID, *, attempt: int, give_up: GiveUp) -> Run:
    """Read the head of an attempt just taken. Raises `LostLease` where it is no longer this attempt's."""
    where = "id = %s AND attempt = %s AND status = 'running'"
    heads = _read(Run, where, (run_id, attempt), give_up=give_up)
    if not heads:
        raise LostLease(run_id=run_id, attempt=attempt)
    return heads[0]


def _read(model: type[M], where: str, values: tuple[Any, ...], *, give_up: GiveUp) -> list[M]:
    """Read rows over the hot pool: a run's thread holds no connection of its own."""
    names = [it.column for it in model._meta.concrete_fields]
    columns = ", ".join(f'"{name}"' for name in names)
    sql = f"SELECT {columns} FROM {model._meta.db_table} WHERE {where}"  # noqa: S608 - names of our own models
    rows = ask(sql, values, give_up=give_up)
    return [model.from_db("default", names, row) for row in rows]


def open_checkpoint(run: Run, *, give_up: GiveUp) -> Checkpoint:
    """Open and verify all that is stored of a run.

    Raises `KeyMissing`, `SealBroken` or `CheckpointBroken`: a part tampered with, swapped, cut off or
    older, or a head put back, is found here, before anything is sent (CR-16).
    """
    sealer = sealer_of(run)
    claims = sealer.open(run.seal, kind=HEAD, number=run.sequence)
    parts, last_tag = _open_parts(run.id, sealer, give_up=give_up)
    marked = _read(Call, "run_id = %s", (run.id,), give_up=give_up)
    calls = {(call.step, call.index): call for call in marked}
    open_marks = {(int(step), int(index)) for step, index in claims["marks"]}
    _check_claims(run, claims, parts=len(parts), last_tag=last_tag)
    _check_marks(run, calls, open_marks)
    _check_log(run, give_up=give_up)
    conf = settings.LIYAGENT
    return Checkpoint(
        run=run,
        sealer=sealer,
        parts=parts,
        last_tag=last_tag,
        counters=counters_of(run),
        marks=calls,
        events=EventBuffer(
            is_full=run.recording == "full",
            is_enabled=conf.run_events_enabled,
            digest_key=conf.digest_key,
        ),
        give_up=give_up,
        sequence=run.sequence,
        stop=run.stop_requested,
        open_marks=open_marks,
    )


def counters_of(run: Run) -> Counters:
    """Return the counters that stand on a head."""
    return Counters(
        steps=run.model_steps,
        calls=run.calls_made,
        input_tokens=run.input_tokens,
        output_tokens=run.output_tokens,
    )


def _open_parts(run_id: UUID, sealer: Sealer, *, give_up: GiveUp) -> tuple[list[Any], bytes]:
    opened: list[Any] = []
    last_tag = b""
    sql = "SELECT number, kind, sealed FROM runs_part WHERE run_id = %s ORDER BY number"
    for number, kind, sealed in ask(sql, (run_id,), give_up=give_up):
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


def _check_marks(
    run: Run, calls: dict[tuple[int, int], Call], open_marks: set[tuple[int, int]]
) -> None:
    """The unsettled calls must be the marks that were sealed; a mark of a later step shows a head put back."""
    unsettled = {place for place, call in calls.items() if not call.fate}
    if unsettled != open_marks:
        raise CheckpointBroken("the marks of calls in doubt are not those that were sealed")
    if any(step > run.model_steps for step, _ in calls):
        raise CheckpointBroken("a call of a later step is stored: the head was put back")


def _check_log(run: Run, *, give_up: GiveUp) -> None:
    """The event log is append-only, so a step it tells of that the head has not shows both were put back."""
    sql = (
        "SELECT (content::jsonb->>'step')::int FROM events_runevent"
        " WHERE run_id = %s AND kind = 'step' ORDER BY number DESC LIMIT 1"
    )
    for (step,) in ask(sql, (run.id,), give_up=give_up):
        if step > run.model_steps:
            raise CheckpointBroken(
                f"the event log tells of step {step}: the checkpoint was put back"
            )
