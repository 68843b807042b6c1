"""Make a root: one signed row that closes over a batch of heads, and over every root before it (ruling 26).

The statement is canonical JSON of domain `liyagent/root/v1`. Numbers have no hole; of two that make one number, one does.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import orjson
from django.db import connection, transaction

from events.chain import EPOCH, MICROSECOND
from events.identity import database_id
from events.merkle import EMPTY_TREE, batch_root, completed_by, range_root
from events.models import Rollback, Root
from events.root_log import (
    Certificate,
    HeadLeaf,
    Held,
    RootLog,
    leaves_of,
    packed_certificates,
    packed_heads,
    packed_held,
    unpacked_held,
)
from events.root_trust import SENTENCES, Stored, wrong_with
from events.signing import SigningKey, own_keys_among, signing_key
from events.verify_pack import MOST_NUMBER, ROOT_DOMAIN, batch_leaf, signed_root
from liyagent.core.canonical import canonical
from liyagent.core.errors import Conflict

FIRST_EPOCH, LONGEST_REASON, MOST_EPOCHS_ON = 1, 500, 1_000
BEFORE_ALL = bytes(32)
NOW = "SELECT liyagent_now(), (SELECT system_identifier::text FROM pg_control_system())"
ADD = """
INSERT INTO events_root (number, epoch, at, statement, signatures, heads, certificates, nodes, owed)
    VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s) ON CONFLICT DO NOTHING
"""


class NotOurRoot(Conflict):
    """The newest root is none of ours: nothing is sealed behind it. What to do is in docs/evidence.md."""

    code = "roots.not_our_root"

    def __init__(self, number: int, reason: str) -> None:
        """`reason` is one of `events.root_trust.SENTENCES`."""
        kind = (
            "is signed by a key unknown here"
            if reason == "unknown_key"
            else "was changed or forged"
        )
        super().__init__(
            f"root {number} {kind} ({SENTENCES[reason]}): nothing is sealed behind it; docs/evidence.md says what to do"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """What a root closes over, and by how much it adds to the totals."""

    heads: list[HeadLeaf] = field(default_factory=list)
    certificates: list[Certificate] = field(default_factory=list)
    new_heads: int = 0
    new_events: int = 0
    purged_heads: int = 0
    purged_events: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Newest:
    """The newest root, as the next one needs it. `number` is 0 before the first."""

    number: int = 0
    statement: dict[str, Any] = field(default_factory=dict)
    digest: bytes = BEFORE_ALL
    owed: Held = field(default_factory=dict)

    @property
    def epoch(self) -> int:
        """Its epoch."""
        return int(self.statement.get("epoch", FIRST_EPOCH))

    @property
    def public(self) -> str:
        """The key that signed it."""
        return str(self.statement.get("public", ""))


def newest_root() -> Newest:
    """Return the newest root. Raises `NotOurRoot` where it is none of ours: behind it nothing can be sealed."""
    rows = Root.objects.order_by("-number")
    row = rows.values_list("number", "epoch", "statement", "signatures", "owed").first()
    if row is None:
        return Newest()
    number, epoch, text, signatures, owed = row
    stored = Stored(number=number, epoch=epoch, statement=text, signatures=signatures)
    wrong = wrong_with(stored)
    if wrong is not None:
        raise NotOurRoot(number, wrong)
    return Newest(
        number=number,
        statement=orjson.loads(text),
        digest=digest_of(text),
        owed=unpacked_held(owed),
    )


def digest_of(statement: str) -> bytes:
    """Return the hash by which the next root names this one."""
    return hashlib.sha256(statement.encode()).digest()


def make_root(batch: Batch, *, after: Newest, held: Held | None = None) -> int | None:
    """Add the root behind `after` and return its number; None where another process was first, or had made it already.

    `held` are heads that wait for the seal of an older root: whoever makes the next one reads of them here.
    """
    number = after.number + 1
    database, log = database_id(), RootLog()
    leaves = leaves_of(batch.heads, batch.certificates)
    root = batch_root(leaves) if leaves else EMPTY_TREE
    nodes = completed_by(number - 1, batch_leaf(number, len(leaves), root), log.node)
    accepted = _accepted(after.epoch)
    # No row can bring it back, or below the first.
    epoch = max(after.epoch, accepted.epoch or 0 if accepted is not None else 0)
    at, system = _now()
    keys = signing_now(before=after.public)
    statement = {
        "also": [it.public for it in keys[1:]],
        "accepted": _told(accepted) if epoch != after.epoch and accepted is not None else None,
        "at": (at - EPOCH) // MICROSECOND,
        "batch": {
            "certificates": len(batch.certificates),
            "heads": len(batch.heads),
            "root": root.hex(),
        },
        "database": str(database),
        "domain": ROOT_DOMAIN,
        "epoch": epoch,
        "log": _log_root(number, nodes, log).hex(),
        "number": number,
        "previous": after.digest.hex(),
        "public": keys[0].public,
        "system": system,
        "totals": _totals(batch, after),
    }
    message = signed_root(statement)
    row: list[Any] = [
        number,
        epoch,
        at,
        canonical(statement).decode(),
        canonical([[it.public, it.sign(message)] for it in keys]).decode(),
        packed_heads(batch.heads),
        packed_certificates(batch.certificates),
        b"".join(nodes),
        packed_held(held or {}),
    ]
    with transaction.atomic(durable=True), connection.cursor() as cursor:
        cursor.execute(ADD, row)
        return number if cursor.rowcount else None


def signing_now(*, before: str) -> list[SigningKey]:
    """Return the key that signs now, and the one that signed the root before where that is another of ours: it signs in the new."""
    key = signing_key()
    return [key, *(it for it in own_keys_among([before]) if it.public != key.public)]


def root_line(statement: str, signatures: str) -> bytes:
    """Return a root as it is exported, and as it stands in a pack: one line of canonical JSON."""
    root = {"signatures": orjson.loads(signatures), "statement": orjson.loads(statement)}
    return canonical({"root": root}) + b"\n"


def _log_root(number: int, nodes: list[bytes], log: RootLog) -> bytes:
    """The root over all batches: those that the new leaf completes are not stored yet."""

    def node(level: int, index: int) -> bytes:
        return nodes[level] if (index + 1) << level == number else log.node(level, index)

    return range_root(0, number, node)


def _totals(batch: Batch, after: Newest) -> dict[str, int]:
    added = {
        "events": batch.new_events,
        "heads": batch.new_heads,
        "purged_events": batch.purged_events,
        "purged_heads": batch.purged_heads,
    }
    before = after.statement.get("totals", {})
    # No row of a database can bring them to what no root may say.
    return {
        name: min(max(int(before.get(name, 0)) + more, 0), MOST_NUMBER - 1)
        for name, more in added.items()
    }


def _accepted(epoch: int) -> Rollback | None:
    """The newest acceptance. An epoch that is far off was accepted by nobody: signed, it would leave none to come."""
    near = Rollback.objects.filter(epoch__lte=epoch + MOST_EPOCHS_ON)
    return near.order_by("-epoch").first()


def _told(accepted: Rollback) -> dict[str, str]:
    """What a new epoch's first root tells of why there is one."""
    return {
        "by": accepted.accepted_by,
        "exported": digest_of(accepted.exported).hex(),
        "reason": accepted.accepted_reason[:LONGEST_REASON],
        "rollback": accepted.reason,
    }


def _now() -> tuple[datetime, str]:
    with connection.cursor() as cursor:
        cursor.execute(NOW)
        at, system = cursor.fetchone()
    return at, system
