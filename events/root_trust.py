"""Whether a stored root is one of ours: its form, its columns, its database, its signatures, and who signed.

Whoever serves can add rows to the table of roots. So nothing is built on one, exported or sealed by one, before it was asked
for here. A key that has left the ring is still known where one of ours signed a root together with it (`events.roots`).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import orjson
from django.conf import settings

from events.merkle import EMPTY_TREE, batch_root
from events.models import Identity, Root
from events.root_log import leaves_of, unpacked_certificates, unpacked_heads
from events.signing import is_signed, signing_keys
from events.verify_pack import Refused, check_root, signed_root
from liyagent.core.canonical import NotCanonical, canonical

SENTENCES = {
    "malformed": "its statement is none",
    "other_database": "it is of another database",
    "other_columns": "its columns are not what its statement says",
    "other_leaves": "its heads are not those that it closed over",
    "bad_signature": "a signature does not hold",
    "unknown_key": "no key of ours signed it",
}
# Two keys sign one root when the one follows on the other: looked for among so many, over so many changes of keys.
ROOTS_LOOKED_AT, MOST_KEYS = 20, 20
# Keys that were found to be ours, by database and by what was known then: as few as there were changes of keys.
FOUND: set[tuple[str, frozenset[str], str]] = set()

Signatures = list[list[str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """A root's row without what it closes over."""

    number: int
    epoch: int
    statement: str
    signatures: str


def parsed(statement: str, signatures: str) -> tuple[dict[str, Any], Signatures] | None:
    """Return a root's statement and its signatures; None where they have not their one form."""
    try:
        told, signed = orjson.loads(statement), orjson.loads(signatures)
        check_root({"signatures": signed, "statement": told})
        is_same = canonical(told).decode() == statement
    except (ValueError, Refused, NotCanonical):
        return None
    return (told, signed) if is_same else None


def signers(statement: dict[str, Any], signatures: Signatures) -> list[str] | None:
    """Return the keys that signed it; None where a signature does not hold, or is not of the keys that it names."""
    publics = [public for public, _ in signatures]
    if publics != [statement["public"], *statement["also"]]:
        return None
    message = signed_root(statement)
    try:
        are_held = all(is_signed(message, public, signature) for public, signature in signatures)
    except ValueError:
        return None
    return publics if are_held else None


def known_keys() -> frozenset[str]:
    """Return the public halves of our ring, and of those that were named as retired."""
    return frozenset({*(it.public for it in signing_keys()), *settings.LIYAGENT.roots.retired_keys})


def wrong_with(it: Stored) -> str | None:
    """Say why a root is none of ours (`SENTENCES`), None where it is one."""
    found = parsed(it.statement, it.signatures)
    if found is None:
        return "malformed"
    statement, signatures = found
    here = Identity.objects.values_list("database", flat=True).first()
    if statement["database"] != str(here):
        return "other_database"
    if (statement["number"], statement["epoch"]) != (it.number, it.epoch):
        return "other_columns"
    publics = signers(statement, signatures)
    if publics is None:
        return "bad_signature"
    return None if is_of_ours(publics, database=statement["database"]) else "unknown_key"


def wrong_leaves(number: int) -> str | None:
    """Say why what stands in the row of this root as what it closed over is not that (`SENTENCES`), None where it is."""
    root = Root.objects.get(number=number)
    stored = Stored(
        number=number, epoch=root.epoch, statement=root.statement, signatures=root.signatures
    )
    wrong, found = wrong_with(stored), parsed(root.statement, root.signatures)
    if wrong is not None or found is None:
        return wrong or "malformed"
    leaves = leaves_of(unpacked_heads(root.heads), unpacked_certificates(root.certificates))
    closed_over = batch_root(leaves) if leaves else EMPTY_TREE
    return None if found[0]["batch"]["root"] == closed_over.hex() else "other_leaves"


def is_of_ours(publics: Iterable[str], *, database: str) -> bool:
    """Whether one of these keys is known, or signed a root together with one that is. What was found once is remembered."""
    known, asked = known_keys(), list(dict.fromkeys(publics))
    if not known.isdisjoint(asked) or (database, known, asked[0]) in FOUND:
        return True
    for public in asked:
        if public in known:
            FOUND.add((database, known, asked[0]))
            return True
        if len(asked) <= MOST_KEYS:
            asked += [it for it in _signed_with(public) if it not in asked]
    return False


def _signed_with(public: str) -> list[str]:
    """Reads all roots, which only a key asks for that has left the ring."""
    rows = Root.objects.filter(statement__contains=public).exclude(statement__contains='"also":[]')
    found: list[str] = []
    for row in rows.order_by("number").values_list("statement", "signatures")[:ROOTS_LOOKED_AT]:
        told = parsed(*row)
        publics = signers(*told) if told is not None else None
        if publics is not None and public in publics:
            found += publics
    return found
