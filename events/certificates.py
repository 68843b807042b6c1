"""Certificates of purges as leaves of roots: what was purged is under a signature as what was written is."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import datetime

from events.chain import EPOCH, MICROSECOND
from events.models import PurgeCertificate, Root
from events.root_log import unpacked_certificates
from liyagent.core.canonical import canonical


@dataclass(frozen=True, slots=True, kw_only=True)
class Purged:
    """A certificate: its number, its digest, and by how much it lessens what is there."""

    number: int
    digest: bytes
    chains: int
    events: int


def certificates_after(number: int, *, limit: int) -> list[Purged]:
    """Return the certificates behind this number, in order. They are numbered in the order of their commits."""
    rows = PurgeCertificate.objects.filter(number__gt=number).order_by("number")[:limit]
    return [
        # A chain without an event was never sealed.
        Purged(number=it.number, digest=digest_of(it), chains=int(it.count > 0), events=it.count)
        for it in rows
    ]


def last_certificate(root: int) -> int:
    """Return the number of the last certificate that this root or one before it closes over, 0 for none."""
    rows = Root.objects.filter(number__lte=root).exclude(certificates=b"").order_by("-number")
    packed = rows.values_list("certificates", flat=True).first()
    return unpacked_certificates(packed)[-1][0] if packed else 0


def digest_of(it: PurgeCertificate) -> bytes:
    """Return what a root closes over: every column."""
    facts = [
        it.number,
        str(it.correlation_id),
        it.count,
        bytes(it.hash).hex(),
        None if it.last_at is None else _microseconds(it.last_at),
        it.kept_days,
        _microseconds(it.at),
        it.asked_by,
    ]
    return hashlib.sha256(canonical(facts)).digest()


def _microseconds(at: datetime) -> int:
    return (at - EPOCH) // MICROSECOND
