"""Export roots, in order and each once, and compare the database with what stands at the target (`events.rollback`).

A target that is down holds up nothing: what it misses is sent later. What is newest there is read each time, so nothing has to
be remembered, and a database that was put back is found by whoever looks first.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID, uuid4

from django.conf import settings
from django.db import Error, connection

from events.identity import database_id
from events.models import Root
from events.rollback import (
    Exported,
    NotOurs,
    Rolled,
    open_rollback,
    raise_alarm,
    read_exported,
    rolled_back,
)
from events.root_targets import NEWEST, OtherRoot, Target, TargetDown, own_target
from events.root_trust import SENTENCES, Stored, wrong_with
from events.roots import FIRST_EPOCH, root_line
from liyagent.core.metrics import ROOT_EXPORTS_FAILED, ROOTS_BEHIND
from liyagent.core.readiness import STATE
from liyagent.leases.lease import take_lease
from liyagent.leases.own import OWN

logger = logging.getLogger(__name__)

# Renewed while it takes longer. One that died with it delays the next by so much.
LEASE, LEASE_SECONDS, RENEW_SECONDS = "roots", 20.0, 5.0
HOUR_SECONDS, START_SECONDS = 3_600.0, 5.0
ROOTS_AT_ONCE = 100
DUE = "%s::boolean"
NOTE = "the target of roots could not be read or written; what it misses is sent later"


@dataclass(slots=True)
class _Looked:
    """When this process looked last and renewed its lease, whether the target answered then, and by which name it asks, being no holder.

    And up to which root the target has all, as far as this process saw it.
    """

    at: float = float("-inf")
    renewed: float = 0.0
    is_down: bool = False
    sent_to: int | None = None
    name: UUID = field(default_factory=uuid4)


LOOKED = _Looked()


def due_values() -> Sequence[Any]:
    """Return what `DUE` wants: whether a target is set, and was not looked at for as long as roots are apart, or an hour."""
    conf = settings.LIYAGENT.roots
    return [bool(conf.export) and time.monotonic() - LOOKED.at >= min(conf.seconds, HOUR_SECONDS)]


def export_due(give_up: Callable[[], bool]) -> int:
    """Compare, then export what the target does not have yet; return how many roots. One process at a time does."""
    LOOKED.at = time.monotonic()
    target = own_target()
    if target is None or not _is_ours():
        ROOTS_BEHIND.set(0)
        STATE.notes.discard(NOTE)
        return 0
    try:
        with target:
            sent = _export(target, give_up)
    except (TargetDown, NotOurs) as error:
        ROOT_EXPORTS_FAILED.inc()
        _tell_of(error)
        _count_behind()
        return 0
    _is_well()
    return sent


def compare_now() -> Rolled | None:
    """Compare once and alarm where it was put back. Raises `TargetDown`, `NotOurs`."""
    target = own_target()
    if target is None:
        return None
    with target:
        rolled = _compared(target)[1]
    _is_well()
    return rolled


def compare_at_start() -> None:
    """Compare before anything resumes, but wait no longer than five seconds for a target that does not answer."""
    if not settings.LIYAGENT.roots.export:
        return
    thread = threading.Thread(target=_compare_beside, name="compare roots", daemon=True)
    thread.start()
    thread.join(START_SECONDS)
    if thread.is_alive():
        logger.warning("the target of roots does not answer; the database is compared later")


def _compare_beside() -> None:
    try:
        compare_now()
    except (TargetDown, NotOurs) as error:
        _tell_of(error)
    except Error:
        logger.warning("the database is away: it is compared with its exported roots later")
    finally:
        connection.close()


def _compared(target: Target) -> tuple[Exported | None, Rolled | None]:
    """Read the target first: whatever stands there was committed here before."""
    data = target.read(NEWEST)
    if data is None:
        return None, None
    exported = read_exported(data)
    rolled = rolled_back(exported)
    if rolled is not None:
        raise_alarm(rolled, exported.text)
    return exported, rolled


def _export(target: Target, give_up: Callable[[], bool]) -> int:
    exported, rolled = _compared(target)
    if rolled is not None or open_rollback() is not None:
        return 0
    sent, after = 0, _position(exported)
    LOOKED.sent_to = after
    while not give_up():
        later = Root.objects.filter(number__gt=after).order_by("number")
        rows = _ours(later.only("epoch", "statement", "signatures")[:ROOTS_AT_ONCE])
        if not rows:
            break
        for root in rows:
            _send(target, root)
            if time.monotonic() - LOOKED.renewed >= RENEW_SECONDS and not _is_ours():
                return sent
        target.replace(NEWEST, root_line(rows[-1].statement, rows[-1].signatures))
        sent, after = sent + len(rows), rows[-1].number
        LOOKED.sent_to = after
    _count_behind()
    return sent


def _count_behind() -> None:
    if LOOKED.sent_to is not None:
        ROOTS_BEHIND.set(Root.objects.filter(number__gt=LOOKED.sent_to).count())


def _ours(rows: Iterable[Root]) -> list[Root]:
    """Those up to the first that is none of ours: what somebody put into the table never leaves, nor what follows it."""
    found: list[Root] = []
    for root in rows:
        wrong = wrong_with(
            Stored(
                number=root.number,
                epoch=root.epoch,
                statement=root.statement,
                signatures=root.signatures,
            )
        )
        if wrong is not None:
            logger.error("root %d is not exported: %s", root.number, SENTENCES[wrong])
            break
        found.append(root)
    return found


def _is_ours() -> bool:
    """Take the lease, or renew it."""
    LOOKED.renewed = time.monotonic()
    holder = OWN.holder or LOOKED.name
    lease = take_lease(LEASE, holder=holder, seconds=LEASE_SECONDS, longest=LEASE_SECONDS)
    return lease is not None


def _position(exported: Exported | None) -> int:
    """Behind which number the target has nothing of ours yet."""
    if exported is None:
        return 0
    epoch = Root.objects.order_by("-number").values_list("epoch", flat=True).first() or FIRST_EPOCH
    if exported.epoch == epoch and exported.statement["database"] == str(database_id()):
        return exported.number
    first = Root.objects.filter(epoch=epoch).order_by("number").values_list("number", flat=True)
    return (first.first() or 1) - 1


def _send(target: Target, root: Root) -> None:
    name = f"root-{root.epoch:04d}-{root.number:010d}.json"
    try:
        target.write_once(name, root_line(root.statement, root.signatures))
    except OtherRoot as error:
        # Half a file, or what somebody put there: who may write to the target contains nothing by it.
        found = read_exported(target.read(name) or b"", name=name)
        if (found.epoch, found.number) != (root.epoch, root.number):
            raise NotOurs(f"{name} at the target holds root {found.number}; move it away") from None
        rolled = Rolled(
            reason="differs",
            sentence=f"root {root.number} of epoch {root.epoch} was exported otherwise: the database was put back, or is a copy",
        )
        raise_alarm(rolled, found.text)
        raise TargetDown(f"{error}") from None


def _is_well() -> None:
    LOOKED.is_down = False
    STATE.notes.discard(NOTE)


def _tell_of(error: TargetDown | NotOurs) -> None:
    """Once when it begins, not each minute; what is not ours each time: somebody has to look."""
    if isinstance(error, NotOurs) or not LOOKED.is_down:
        logger.error("%s", error)
    LOOKED.is_down = isinstance(error, TargetDown)
    STATE.notes.add(NOTE)
