"""Compare the database with the newest root that was exported: one that was put back behind it resumes nothing.

What is found is written down, everything is contained, and stays so until a person has accepted it and released it. With the
acceptance a new epoch of roots begins, so that both that it happened and who accepted it stand in the next root.
"""

from __future__ import annotations

import logging
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import orjson
from django.db import connection, transaction
from django.db.models import Max

from events.identity import database_id
from events.models import Rollback, Root
from events.root_targets import NEWEST
from events.root_trust import Stored, parsed, wrong_with
from events.roots import FIRST_EPOCH, LONGEST_REASON, MOST_EPOCHS_ON, Batch, make_root, newest_root
from events.signing import signing_keys
from events.verify_pack import Pins, Refused, check
from liyagent.agents.containment import contain_all
from liyagent.audit.record import record
from liyagent.core.canonical import canonical
from liyagent.core.errors import BadInput, Conflict, LiyagentError, NotFound
from liyagent.core.metrics import ROLLBACKS
from liyagent.core.plain import clean_text

logger = logging.getLogger(__name__)

ACTOR = "system:roots"
TRIES, ROOTS_LOOKED_AT = 20, 100
FOUND = """
INSERT INTO events_rollback (found_at, reason, sentence, exported) VALUES (liyagent_now(), %s, %s, %s)
    ON CONFLICT DO NOTHING RETURNING id
"""
ACCEPT = """
UPDATE events_rollback SET accepted_at = liyagent_now(), accepted_by = %s, accepted_reason = %s, epoch = %s
    WHERE id = %s AND accepted_at IS NULL
"""


class NotOurs(LiyagentError):
    """What stands at the target as a root of ours is none that a key of ours signed: move it away, or set another target."""

    code = "roots.not_ours"


@dataclass(frozen=True, slots=True, kw_only=True)
class Exported:
    """A root as it stands at the target."""

    statement: dict[str, Any]

    @property
    def text(self) -> str:
        """Its canonical statement, as a row keeps it."""
        return canonical(self.statement).decode()

    @property
    def number(self) -> int:
        """Its number."""
        return int(self.statement["number"])

    @property
    def epoch(self) -> int:
        """Its epoch."""
        return int(self.statement["epoch"])


@dataclass(frozen=True, slots=True, kw_only=True)
class Rolled:
    """How the database stands to what was exported: `reason` is `behind`, `differs` or `other_database`."""

    reason: str
    sentence: str


def read_exported(data: bytes, *, name: str = NEWEST) -> Exported:
    """Take an exported root, which has that name at the target. Raises `NotOurs` for what is none, or one that no key signed which signs here or has signed."""
    keys = {it.public for it in signing_keys()}
    try:
        told = check(iter(data.splitlines(keepends=True)), Pins(frozenset(keys | _keys_of_roots())))
    except Refused as refused:
        raise NotOurs(f"{name} at the target is not ours: {refused}") from None
    return Exported(statement=told.root)


def rolled_back(exported: Exported) -> Rolled | None:
    """Say how the database stands behind or beside what was exported; None where it holds it, or a person has accepted it."""
    same = Root.objects.filter(number=exported.number).values_list("statement", flat=True).first()
    newest = _newest_of_ours()
    if same == exported.text or _is_accepted(exported, newest.epoch):
        return None
    where = f"root {exported.number} of epoch {exported.epoch}"
    if exported.statement["database"] != str(database_id()):
        return Rolled(
            reason="other_database",
            sentence=f"{where} was exported by another database, {exported.statement['database']}",
        )
    if exported.number > newest.number or exported.epoch > newest.epoch:
        return Rolled(
            reason="behind",
            sentence=f"{where} was exported; the database has no more than root {newest.number} of epoch {newest.epoch}: it was put back",
        )
    return Rolled(
        reason="differs",
        sentence=f"{where} was exported, and the database has another root of that number: it was put back, or is a copy",
    )


def raise_alarm(rolled: Rolled, exported: str) -> None:
    """Write it down once, contain everything, and say so each time. `exported` is the statement that was found."""
    logger.error("ROLLED BACK: %s", rolled.sentence)
    reason = f"{rolled.sentence}. Nothing resumes until `manage.py events accept-rollback`, and a release."
    with transaction.atomic(durable=True):
        with connection.cursor() as cursor:
            cursor.execute(FOUND, [rolled.reason, rolled.sentence, exported])
            is_new = cursor.fetchone() is not None
        if is_new:
            ROLLBACKS.inc()
            detail = {"reason": rolled.reason, "sentence": rolled.sentence}
            record("events.rollback_found", actor=ACTOR, detail=detail)
        # Whoever releases without having accepted finds it contained again.
        with suppress(Conflict):
            contain_all(actor=ACTOR, reason=reason[:LONGEST_REASON])


def open_rollback() -> Rollback | None:
    """Return what was found and is not accepted."""
    return Rollback.objects.filter(accepted_at=None).first()


def why_not_to_release() -> str | None:
    """Say why everything may not be released, None where nothing stands against it."""
    found = open_rollback()
    if found is None:
        return None
    return f"{found.sentence}; accept it first: `manage.py events accept-rollback --reason R`"


def accept_rollback(*, actor: str, reason: str) -> int:
    """Accept what was found and begin a new epoch of roots, with a root that tells so; return its number.

    Everything stays contained until a person releases it. Raises `BadInput`, `NotFound` where nothing was found, and `Conflict`
    where others make roots all the time: then the next one tells so.
    """
    reason = clean_text(reason).strip()
    if not 1 <= len(reason) <= LONGEST_REASON:
        raise BadInput(f"the reason wants 1 to {LONGEST_REASON} characters")
    with transaction.atomic(durable=True):
        found = Rollback.objects.select_for_update().filter(accepted_at=None).first()
        if found is None:
            raise NotFound(
                "the database stands behind nothing that was exported, as far as was found"
            )
        known = max(_epoch_of(found), newest_root().epoch)
        epoch = 1 + max(known, _accepted_epoch(known))
        with connection.cursor() as cursor:
            cursor.execute(ACCEPT, [actor, reason, epoch, found.id])
        detail = {"epoch": epoch, "reason": reason, "sentence": found.sentence}
        record("events.rollback_accepted", actor=actor, detail=detail)
    for _ in range(TRIES):
        newest = newest_root()
        if newest.epoch == epoch:
            return newest.number
        number = make_root(Batch(), after=newest)
        if number is not None:
            return number
    raise Conflict("accepted; the root that tells so is made by the next round")


def _newest_of_ours() -> Stored:
    """A root that was forged here, of whatever number and epoch, is not to keep this from being found."""
    names = ("number", "epoch", "statement", "signatures")
    for row in Root.objects.order_by("-number").values(*names)[:ROOTS_LOOKED_AT]:
        stored = Stored(**row)
        if wrong_with(stored) is None:
            return stored
    return Stored(number=0, epoch=FIRST_EPOCH, statement="", signatures="")


def _is_accepted(exported: Exported, epoch: int) -> bool:
    """Whether a person accepted that very root, or a later epoch has begun since."""
    if exported.epoch < epoch and exported.statement["database"] == str(database_id()):
        return True
    return Rollback.objects.filter(exported=exported.text).exclude(accepted_at=None).exists()


def _keys_of_roots() -> set[str]:
    """Keys of other processes while keys are rotated, and such as have left the ring; whoever could write them could contain, no more."""
    names = ("statement", "signatures")
    rows = Root.objects.order_by("-number").values_list(*names)[:ROOTS_LOOKED_AT]
    told = [found for row in rows if (found := parsed(*row)) is not None]
    return {public for _, signatures in told for public, _ in signatures}


def _epoch_of(found: Rollback) -> int:
    return int(orjson.loads(found.exported).get("epoch", FIRST_EPOCH))


def _accepted_epoch(known: int) -> int:
    near = Rollback.objects.filter(epoch__lte=known + MOST_EPOCHS_ON)
    return near.aggregate(most=Max("epoch"))["most"] or FIRST_EPOCH
