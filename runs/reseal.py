"""Seal with the newest key what an older one sealed, so that the older one may go (ruling 16, FL-41)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from uuid import UUID

from django.db import transaction

from events.reseal_heads import reseal_heads
from liyagent.approvals.models import Approval
from liyagent.approvals.words import FORMAT, WORDS
from liyagent.audit.record import record
from liyagent.core.errors import Conflict
from liyagent.core.seal import KeyMissing, Keyring, SealBroken, Sealer, tag_of
from liyagent.transcripts.models import Transcript
from runs.checkpoint import HEAD, keyring
from runs.finish import TRANSCRIPT
from runs.marks import BYTES, OUTCOME, place_of
from runs.models import Call, Part, Run, RunStatus
from runs.reseal_sagas import reseal_sagas
from runs.sealed_rows import RowsResealed, reseal_rows
from runs.seals import processes_without

BATCH = 200
FIRST = UUID(int=0)

Progress = Callable[["Resealed"], None]


@dataclass(slots=True, kw_only=True)
class Resealed:
    """What came of runs, of `requests` for approval, and of `rows` that the rooms above keep, heads of event chains among them. `left`: running, or looked for once more, so their turn is later;

    `broken`: no key or seal fits.
    """

    done: int = 0
    requests: int = 0
    rows: int = 0
    left: int = 0
    broken: int = 0


def reseal(*, actor: str, on_progress: Progress | None = None) -> Resealed:
    """Seal every run that rests, every request and what the rooms above keep, with the newest key, each in a commit of its own; may be repeated.

    A running run is left as it is: it is sealed anew once it rests. Raises `Conflict` while a living process does not
    know the newest key: it could read nothing of what is sealed anew.
    """
    ring = keyring()
    ignorant = processes_without(ring.newest)
    if ignorant:
        raise Conflict(
            f"{', '.join(ignorant)} does not know key {ring.newest} yet; restart it with the new LIYAGENT_SEAL_KEYS first"
        )
    told = Resealed()
    last = FIRST
    while ids := _next(last, newest=ring.newest):
        for run_id in ids:
            _reseal_one(run_id, told)
        last = ids[-1]
        if on_progress is not None:
            on_progress(told)
    _reseal_requests(told, on_progress=on_progress)
    _reseal_others(told, on_progress=on_progress)
    if told.done or told.requests or told.rows:
        detail = {
            "key": ring.newest,
            "runs": told.done,
            "requests": told.requests,
            "rows": told.rows,
        }
        record("seals.resealed", actor=actor, detail=detail)
    return told


def _reseal_others(told: Resealed, *, on_progress: Progress | None) -> None:
    def tell() -> None:
        if on_progress is not None:
            on_progress(told)

    rows = RowsResealed()
    reseal_rows(rows, on_progress=tell)
    reseal_sagas(rows, on_progress=tell)
    heads = reseal_heads(on_progress=tell)
    told.rows += rows.done + heads.done
    told.left += rows.left + heads.left
    told.broken += rows.broken + heads.broken


def _reseal_requests(told: Resealed, *, on_progress: Progress | None) -> None:
    """Requests hang on no run: those of one that rests and those of one that ended alike, decided or not."""
    ring, last = keyring(), FIRST
    while True:
        older = Approval.objects.filter(id__gt=last).exclude(key_id=ring.newest).order_by("id")
        found = list(older.only("id", "key_id", "sealed")[:BATCH])
        if not found:
            return
        for request in found:
            _reseal_request(request, ring, told)
        last = found[-1].id
        if on_progress is not None:
            on_progress(told)


def _reseal_request(request: Approval, ring: Keyring, told: Resealed) -> None:
    def sealer(key_id: str) -> Sealer:
        return ring.sealer(key_id=key_id, run_id=request.id, format_number=FORMAT)

    try:
        words = sealer(request.key_id).open(request.sealed, kind=WORDS, number=0)
    except (KeyMissing, SealBroken):
        told.broken += 1
        return
    # One that is approved meanwhile has its decision under its seal: its turn is later.
    same = Approval.objects.filter(id=request.id, key_id=request.key_id, sealed=request.sealed)
    sealed = sealer(ring.newest).seal(words, kind=WORDS, number=0)
    is_done = same.update(sealed=sealed, key_id=ring.newest)
    told.requests += is_done
    told.left += not is_done


def _next(last: UUID, *, newest: str) -> list[UUID]:
    older = Run.objects.filter(id__gt=last).exclude(key_id=newest)
    return list(older.order_by("id").values_list("id", flat=True)[:BATCH])


def _reseal_one(run_id: UUID, told: Resealed) -> None:
    """Lock the head, so that nobody takes or ends the run meanwhile; one in hand elsewhere is left."""
    try:
        with transaction.atomic(durable=True):
            locked = Run.objects.select_for_update(skip_locked=True).filter(id=run_id)
            run = locked.exclude(status=RunStatus.RUNNING).first()
            is_looked_for = Call.objects.filter(run_id=run_id, late_look_at__isnull=False).exists()
            if run is None or is_looked_for:
                told.left += 1
                return
            _reseal_all(run)
    except (KeyMissing, SealBroken):
        told.broken += 1
    else:
        told.done += 1


def _reseal_all(run: Run) -> None:
    ring = keyring()
    old = ring.sealer(key_id=run.key_id, run_id=run.id, format_number=run.format)
    new = ring.sealer(key_id=ring.newest, run_id=run.id, format_number=run.format)
    last_tag = _parts(run, old, new)
    if not run.is_ended:
        # An ended run's parts are gone, and its head claims nothing that anybody opens.
        claims = old.open(run.seal, kind=HEAD, number=run.sequence)
        run.seal = new.seal({**claims, "tag": last_tag.hex()}, kind=HEAD, number=run.sequence)
    _calls(run, old, new)
    _transcript(run, old, new)
    run.key_id = ring.newest
    run.save(update_fields=["seal", "key_id"])


def _parts(run: Run, old: Sealer, new: Sealer) -> bytes:
    """Seal the parts, each chained to the new tag of the one before; return the last tag."""
    old_tag, new_tag = b"", b""
    for part in Part.objects.filter(run_id=run.id).order_by("number"):
        sealed = bytes(part.sealed)
        opened = old.open(sealed, kind=part.kind, number=part.number, previous=old_tag)
        anew = new.seal(opened, kind=part.kind, number=part.number, previous=new_tag)
        Part.objects.filter(run_id=run.id, number=part.number).update(sealed=anew)
        old_tag, new_tag = tag_of(sealed), tag_of(anew)
    return new_tag


def _calls(run: Run, old: Sealer, new: Sealer) -> None:
    for call in Call.objects.filter(run_id=run.id):
        place = place_of(call.step, call.index)
        mark = old.open(call.sealed, kind=BYTES, number=place)
        call.sealed = new.seal(mark, kind=BYTES, number=place)
        if call.outcome is not None:
            outcome = old.open(call.outcome, kind=OUTCOME, number=place)
            call.outcome = new.seal(outcome, kind=OUTCOME, number=place)
        call.save(update_fields=["sealed", "outcome"])


def _transcript(run: Run, old: Sealer, new: Sealer) -> None:
    kept = Transcript.objects.filter(run_id=run.id).first()
    if kept is not None:
        words = old.open(kept.sealed, kind=TRANSCRIPT, number=0)
        kept.sealed = new.seal(words, kind=TRANSCRIPT, number=0)
        kept.key_id = keyring().newest
        kept.save(update_fields=["sealed", "key_id"])
