"""Send a signal to a run that waits for it, or will: kept until a step takes it."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.db import connection, transaction
from django.db.models.functions import Now

from liyagent.audit.record import record
from liyagent.core.errors import BadInput
from liyagent.core.plain import NotStorable, clean_text, to_plain
from liyagent.workflows.errors import NoSignals, TooManySignals
from liyagent.workflows.models import Signal
from liyagent.workflows.waits import LONGEST_NAME
from runs.checkpoint import keyring
from runs.errors import RunEnded, no_run
from runs.models import Run
from runs.wake import tell_queued

FORMAT, WORDS = 1, "signal"
# Taken first, so that its words are sealed for this row alone: copied into another they do not open.
NEXT = "SELECT nextval(pg_get_serial_sequence('workflows_signal', 'id'))"
MOST_BYTES = 1 << 16
MOST_OPEN = 100


def send_signal(*, run_id: UUID, name: str, payload: Any, actor: str) -> Signal:
    """Keep a signal for a run of a workflow and wake it, in one commit; several of one name are taken in their order.

    Raises `RunNotFound`, `RunEnded`, `NoSignals` for a run of no workflow, `TooManySignals` where 100 wait to be taken,
    `BadInput` for a name or a payload (JSON of at most 64 KiB) that cannot be kept.
    """
    plain = _plain(name, payload)
    ring = keyring()
    with transaction.atomic(durable=True):
        run = Run.objects.select_for_update(no_key=True).filter(id=run_id).first()
        if run is None:
            raise no_run(run_id)
        if not run.workflow:
            raise NoSignals(run=run_id)
        if run.is_ended:
            raise RunEnded(f"run {run_id} has ended as {run.status}: it waits for nothing")
        if Signal.objects.filter(run_id=run_id, taken_by=None).count() >= MOST_OPEN:
            raise TooManySignals(run=run_id)
        sealer = ring.sealer(key_id=ring.newest, run_id=run_id, format_number=FORMAT)
        words = {"name": name, "payload": plain, "by": actor}
        with connection.cursor() as cursor:
            cursor.execute(NEXT)
            number = int(cursor.fetchone()[0])
        signal = Signal.objects.create(
            id=number,
            run_id=run_id,
            name=name,
            sealed=sealer.seal(words, kind=WORDS, number=number),
            key_id=ring.newest,
            sent_by=actor,
            created_at=Now(),
        )
        with connection.cursor() as cursor:
            cursor.execute("SELECT liyagent_wake(%s)", [run_id])
        record(
            "workflow.signal",
            actor=actor,
            mission=run.mission,
            correlation_id=run.correlation_id,
            run_id=run_id,
            request_id=run.request_id,
            detail={"name": name, "signal": signal.id},
        )
    tell_queued()
    return signal


def words_of(signal: Signal) -> dict[str, Any]:
    """Return a signal's `name`, its `payload` and who sent it (`by`), as it was sealed, whatever its row says.

    Raises `KeyMissing`, `SealBroken`, also where its row is another's.
    """
    sealer = keyring().sealer(key_id=signal.key_id, run_id=signal.run_id, format_number=FORMAT)
    words: dict[str, Any] = sealer.open(bytes(signal.sealed), kind=WORDS, number=signal.id)
    return words


def _plain(name: str, payload: Any) -> Any:
    if not 0 < len(name) <= LONGEST_NAME or not name.isprintable() or clean_text(name) != name:
        raise BadInput(
            f"name wants 1 to {LONGEST_NAME} characters, as the step that waits for it says"
        )
    try:
        return to_plain(payload, limit_bytes=MOST_BYTES)
    except NotStorable as error:
        raise BadInput(f"payload cannot be kept: {error}") from error
