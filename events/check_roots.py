"""`events verify` over roots: they are signed and each has grown out of all before it, and what they closed over still stands.

A chain that is gone with its head, that was written anew with fresh hashes, or whose head was put back, is found by the leaf that
a root keeps of it, whatever was done to the rows of the chain.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import islice
from typing import Any, NamedTuple
from uuid import UUID

from django.db import connection

from events.certificates import digest_of as certificate_digest
from events.chain import EPOCH, MICROSECOND
from events.check_purges import AT, DAYS
from events.checking import Asked, Finding, Looked
from events.identity import database_id
from events.merkle import EMPTY_TREE, Node, batch_root, completed_by, range_root
from events.models import PurgeCertificate, Root
from events.root_keys import Keys
from events.root_log import (
    CERTIFICATE_BYTES,
    HEAD_BYTES,
    HeadLeaf,
    RootLog,
    leaves_of,
    unpacked_certificates,
    unpacked_heads,
)
from events.root_trust import Signatures, known_keys, parsed, signers
from events.roots import BEFORE_ALL, digest_of
from events.verify_pack import batch_leaf

CHECK = "roots"
ROOTS_AT_ONCE, HEADS_AT_ONCE = 20, 1000
MILLISECOND = 80
# How far the clock that made a chain's id may have been ahead of the database's.
SKEW = timedelta(hours=1)
# How far any two clocks were ever apart: roots that are older cannot close over a chain. More of them are only read for nothing.
CLOCKS_APART = timedelta(days=1)
STANDS = f"""
SELECT v.chain, v.count, v.hash, e.hash, h.count, p.count, p.hash, {AT} - make_interval(hours => {DAYS})
    FROM unnest(%s::uuid[], %s::bigint[], %s::bytea[]) AS v(chain, count, hash)
    LEFT JOIN events_runevent e ON e.correlation_id = v.chain AND e.number = v.count
    LEFT JOIN events_eventhead h ON h.correlation_id = v.chain
    LEFT JOIN events_purgecertificate p ON p.correlation_id = v.chain
"""  # noqa: S608 - a constant
SENTENCES = {
    "missing": "this root is not there: it was deleted",
    "malformed": "this root's statement is none",
    "other_database": "this root is of another database",
    "unlinked": "this root does not name the one before it: one of them was changed or put in",
    "other_columns": "the columns of this root are not what its statement says",
    "other_leaves": "the heads and certificates of this root are not those that it closed over",
    "other_log": "this root has not grown out of those before it",
    "bad_signature": "a signature of this root does not hold",
    "unknown_key": "this root is signed by no key of ours, nor by one that ever signed together with one of ours: it is forged, or the key was taken out of the ring before the next root (put it back, or name it in LIYAGENT_RETIRED_SIGNING_KEYS)",
    "rewritten": "the event that was sealed is another now: the chain was written anew from there or before",
    "deleted": "the chain was sealed, and is gone with its head; no certificate tells that it was purged",
    "cut": "the event that was sealed is gone, and no certificate tells that it was purged",
    "put_back": "the head tells of fewer events than were sealed: it was put back",
    "purged_otherwise": "the certificate tells of another chain than the one that was sealed",
    "purged_early": "the chain was purged before its time: it began later than the certificate says that it had rested",
    "certificate_gone": "a certificate of a purge that was sealed is gone, or another now",
    "certificate_unsealed": "a certificate stands among those that were sealed, and was not",
}


def check_roots(asked: Asked) -> Iterator[Finding | Looked]:
    """Verify the roots that can close over these chains, and what they closed over; all roots where all is asked for."""
    walk = _Walk(asked=asked)
    number, chains = (0 if asked.is_all else _last_before(asked.first)), 0
    walk.begin(number)
    while rows := list(Root.objects.filter(number__gt=number).order_by("number")[:ROOTS_AT_ONCE]):
        for root in rows:
            yield from walk.see(root)
            for heads in _some(walk.asked_of(root)):
                chains += len(heads)
                yield from _standing(root, heads)
            number = root.number
        yield Looked(check=CHECK, chains=number)
    yield from walk.end()


@dataclass(slots=True)
class _Walk:
    """Goes over roots in order, and remembers what the next one has to name."""

    asked: Asked
    number: int = 0
    digest: bytes = BEFORE_ALL
    last_certificate: int = 0
    keys: Keys = field(default_factory=lambda: Keys(known_keys()))
    # Where all is asked for, hashes of the log are made anew; else those that are stored are taken.
    _frontier: dict[tuple[int, int], bytes] = field(default_factory=dict)
    _log: RootLog = field(default_factory=RootLog)
    _is_log_broken: bool = False

    def begin(self, number: int) -> None:
        """Begin behind this root."""
        self.number = number
        before = Root.objects.filter(number=number).values_list("statement", flat=True).first()
        if before is not None:
            self.digest = digest_of(before)

    def see(self, root: Root) -> Iterator[Finding]:
        """Say what is wrong with the next root."""
        for missing in range(self.number + 1, min(root.number, self.number + 10)):
            yield _of_root(missing, "missing")
        reason = self._wrong_with(root)
        if reason is not None:
            yield _of_root(root.number, reason)
        yield from self._certificates(root)
        self.number, self.digest = root.number, digest_of(root.statement)

    def end(self) -> Iterator[Finding]:
        """Say what shows at the end alone: that a key signed a root together with one of ours can come after."""
        for number in self.keys.unknown_since():
            yield _of_root(number, "unknown_key")

    def asked_of(self, root: Root) -> Iterator[HeadLeaf]:
        """Yield those heads of a root that are asked for."""
        first, last = self.asked.first, self.asked.last
        return (it for it in unpacked_heads(root.heads) if first <= it[0] <= last)

    def _wrong_with(self, root: Root) -> str | None:
        found = parsed(root.statement, root.signatures)
        if found is None:
            return "malformed"
        statement, signatures = found
        if statement["database"] != str(database_id()):
            return "other_database"
        if statement["previous"] != self.digest.hex():
            return "unlinked"
        at = (root.at - EPOCH) // MICROSECOND
        told = (statement["number"], statement["epoch"], statement["at"])
        if told != (root.number, root.epoch, at):
            return "other_columns"
        return self._wrong_tree(root, statement) or self._wrong_signature(statement, signatures)

    def _wrong_tree(self, root: Root, statement: dict[str, Any]) -> str | None:
        heads, certificates = unpacked_heads(root.heads), unpacked_certificates(root.certificates)
        leaves = leaves_of(heads, certificates)
        found = batch_root(leaves) if leaves else EMPTY_TREE
        told = {"certificates": len(certificates), "heads": len(heads), "root": found.hex()}
        is_whole = not (len(root.heads) % HEAD_BYTES or len(root.certificates) % CERTIFICATE_BYTES)
        if statement["batch"] != told or not is_whole:
            return "other_leaves"
        index, node = root.number - 1, self._node
        nodes = completed_by(index, batch_leaf(root.number, len(leaves), found), node)
        if bytes(root.nodes) != b"".join(nodes):
            return "other_log"
        self._remember(index, nodes)
        is_grown = range_root(0, root.number, node).hex() == statement["log"]
        is_told, self._is_log_broken = self._is_log_broken, self._is_log_broken or not is_grown
        return None if is_grown or is_told else "other_log"

    def _wrong_signature(self, statement: dict[str, Any], signatures: Signatures) -> str | None:
        publics = signers(statement, signatures)
        if publics is None:
            return "bad_signature"
        self.keys.see(publics, number=int(statement["number"]))
        return None

    @property
    def _node(self) -> Node:
        if not self.asked.is_all:
            return self._log.node
        # Behind a root that is wrong, what is stored is taken: one change is told once.
        return lambda level, index: (
            self._frontier.get((level, index)) or self._log.node(level, index)
        )

    def _remember(self, index: int, nodes: list[bytes]) -> None:
        if not self.asked.is_all:
            return
        for level, it in enumerate(nodes):
            for below in (0, 1):
                self._frontier.pop((level - 1, 2 * (index >> level) + below), None)
            self._frontier[level, index >> level] = it

    def _certificates(self, root: Root) -> Iterator[Finding]:
        """Each that was sealed is as it was; and where all is asked for, none stands between that was not."""
        if not self.asked.is_all:
            return
        sealed = dict(unpacked_certificates(root.certificates))
        if not sealed:
            return
        rows = PurgeCertificate.objects.filter(
            number__gt=self.last_certificate, number__lte=max(sealed)
        )
        here = {it.number: certificate_digest(it) for it in rows}
        for number, digest in sealed.items():
            if here.pop(number, None) != digest:
                yield _finding(f"purge {number}, root {root.number}", "certificate_gone")
        for number in here:
            yield _finding(f"purge {number}, root {root.number}", "certificate_unsealed")
        self.last_certificate = max(sealed)


def _standing(root: Root, heads: list[HeadLeaf]) -> Iterator[Finding]:
    """Say which of the heads that a root closed over do not stand any more."""
    with connection.cursor() as cursor:
        cursor.execute(STANDS, [list(it) for it in zip(*heads, strict=True)])
        rows = [_Row._make(row) for row in cursor.fetchall()]
    for it in rows:
        reason = _fallen(it)
        if reason is not None:
            yield _finding(f"chain {it.chain}, root {root.number}", reason)


class _Row(NamedTuple):
    """A head as it was sealed, and what stands of it."""

    chain: UUID
    sealed: int
    hash: bytes
    event: bytes | None
    head: int | None
    purged: int | None
    purged_hash: bytes | None
    rested_since: datetime | None


def _fallen(it: _Row) -> str | None:
    if it.event is not None:
        if bytes(it.event) != bytes(it.hash):
            return "rewritten"
        return "put_back" if it.head is not None and it.head < it.sealed else None
    if it.purged is None or it.purged_hash is None or it.rested_since is None:
        return "deleted" if it.head is None else "cut"
    if it.purged < it.sealed or (
        it.purged == it.sealed and bytes(it.purged_hash) != bytes(it.hash)
    ):
        return "purged_otherwise"
    return "purged_early" if _begun(it.chain) - SKEW > it.rested_since else None


def _begun(chain: UUID) -> datetime:
    """When a chain was begun, as its id (UUIDv7) says."""
    return EPOCH + timedelta(milliseconds=chain.int >> MILLISECOND)


def _last_before(first: UUID) -> int:
    """Return the number of the last root that cannot close over a chain from `first` on: all up to it were made before it.

    Clocks are moved: of two roots the later can tell of an earlier time, so the first that is not before it is taken.
    """
    begun = _begun(first) - CLOCKS_APART
    later = Root.objects.filter(at__gte=begun).order_by("number").values_list("number", flat=True)
    if (number := later.first()) is None:
        number = 1 + (
            Root.objects.order_by("-number").values_list("number", flat=True).first() or 0
        )
    return number - 1


def _some(heads: Iterator[HeadLeaf]) -> Iterator[list[HeadLeaf]]:
    while some := list(islice(heads, HEADS_AT_ONCE)):
        yield some


def _of_root(number: int, reason: str) -> Finding:
    return _finding(f"root {number}", reason)


def _finding(where: str, reason: str) -> Finding:
    return Finding(where=where, reason=reason, sentence=SENTENCES[reason])
