"""Write an evidence pack: whole chains, and the proof that they stand so under a signed root (`events.verify_pack`).

JSON Lines, each canonical: what it is about; the root; an older root that it has grown out of, where one is asked for; then
each chain with its proofs and its events; and a signature over all of it. Written and read in bounded memory.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, BinaryIO
from uuid import UUID

import orjson

from events.chain import EPOCH, MICROSECOND
from events.completeness import Completeness
from events.first_roots import FirstRoots
from events.keys import checking_keys
from events.merkle import Node, inclusion_path, nodes_of
from events.models import EventHead, Root
from events.reading import EventRow, one_moment, stream_events
from events.root_log import RootLog, leaves_of, unpacked_certificates, unpacked_heads
from events.roots import newest_root, root_line
from events.seal_heads import seal_now
from events.signing import signing_key
from events.verdict import Judge
from events.verify_pack import PACK_DOMAIN, signed_pack
from liyagent.core.canonical import canonical
from liyagent.core.errors import BadInput, Conflict, NotFound

MOST_CHAINS, MOST_BATCHES = 10_000, 16
# The chains of a mission's runs, at most so many: filled by the room that has the runs.
MISSION_CHAINS: list[Callable[[str, int], Sequence[UUID]]] = []


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """What a pack is about: `named` is the run or the mission as the pack's first line has it."""

    named: dict[str, str]
    chains: Sequence[UUID]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Batch:
    """What was sealed together. By chain: which leaf, how many events, the hash of the last."""

    size: int
    node: Node
    places: dict[UUID, tuple[int, int, bytes]]

    @classmethod
    def of(cls, number: int) -> _Batch:
        row = Root.objects.filter(number=number).values_list("heads", "certificates").first()
        heads = unpacked_heads(row[0]) if row else []
        leaves = leaves_of(heads, unpacked_certificates(row[1])) if row else []
        places = {
            chain: (index, count, digest) for index, (chain, count, digest) in enumerate(heads)
        }
        return cls(size=len(leaves), node=nodes_of(leaves), places=places)


@dataclass(slots=True)
class _Writer:
    """Hashes what it writes; remembers some batches, since many chains of a mission can stand in one."""

    out: BinaryIO
    log: RootLog = field(default_factory=RootLog)
    all: Any = field(default_factory=hashlib.sha256)
    chains: int = 0
    events: int = 0
    _batches: dict[int, _Batch] = field(default_factory=dict)

    def batch(self, number: int) -> _Batch:
        if number not in self._batches:
            if len(self._batches) == MOST_BATCHES:
                self._batches.clear()
            self._batches[number] = _Batch.of(number)
        return self._batches[number]

    def line(self, value: dict[str, Any]) -> None:
        self.raw(canonical(value) + b"\n")

    def raw(self, data: bytes) -> None:
        self.all.update(data)
        self.out.write(data)


def run_subject(run_id: UUID, chain: UUID) -> Subject:
    """Return a run as what a pack is about; a sub-agent's run stands in its root's chain."""
    return Subject(named={"run": str(run_id)}, chains=[chain])


def mission_subject(mission: str) -> Subject:
    """Return a mission as what a pack is about. Raises `NotFound`, and `BadInput` for one with more chains than a pack holds."""
    chains = sorted({it for found in MISSION_CHAINS for it in found(mission, MOST_CHAINS + 1)})
    if not chains:
        raise NotFound(f"no run of the mission {mission} is here")
    if len(chains) > MOST_CHAINS:
        raise BadInput(
            f"the mission {mission} has more than {MOST_CHAINS} chains; export its runs one by one"
        )
    return Subject(named={"mission": mission}, chains=chains)


def write_pack(subject: Subject, out: BinaryIO, *, since: int = 0) -> None:
    """Seal what is not sealed yet, and write the pack; `since` is an older root that it is to show to have grown out of.

    Raises `NotFound` where there is no such root or not one event, `Conflict` where a chain is not intact: it was tampered with.
    """
    seal_now()
    with one_moment():
        newest = newest_root()
        heads = _heads(subject.chains)
        if not heads:
            raise NotFound("there is not one event of it: the log is off, or they were purged")
        if not newest.number:
            raise Conflict("there is no root; see `manage.py events verify`")
        writer = _Writer(out)
        writer.line(
            {
                "about": subject.named,
                "database": newest.statement["database"],
                "pack": PACK_DOMAIN,
                "without_events": len(subject.chains) - len(heads),
            }
        )
        writer.raw(_root(newest.number))
        if since:
            _write_older(writer, since, newest.number)
        for head in heads:
            _write_chain(writer, head, newest.number)
        _write_end(writer)


def _heads(chains: Sequence[UUID]) -> list[EventHead]:
    heads = list(
        EventHead.objects.filter(correlation_id__in=chains, count__gt=0).order_by("correlation_id")
    )
    roots = FirstRoots()
    for head in heads:
        chain, sealed_in = head.correlation_id, head.sealed_in
        if sealed_in is None or head.sealed_count == 0:
            raise Conflict(
                f"chain {chain} is not sealed: it is not intact (`manage.py events verify --run {chain}`), or somebody holds its head just now"
            )
        if not head.is_unsealed and head.count > head.sealed_count:
            raise Conflict(
                f"chain {chain} is kept from being sealed; see `manage.py events verify`"
            )
        head.untagged = roots.untagged(chain, told=head.untagged, sealed_in=sealed_in)
    return heads


def _root(number: int) -> bytes:
    row = Root.objects.filter(number=number).values_list("statement", "signatures").first()
    if row is None:
        raise NotFound(f"there is no root {number}")
    return root_line(*row)


def _write_older(writer: _Writer, since: int, newest: int) -> None:
    if not 0 < since <= newest:
        raise NotFound(f"there is no root {since}; the newest is {newest}")
    path = [it.hex() for it in writer.log.consistency(since, newest)]
    writer.line({"older": orjson.loads(_root(since))["root"], "path": path})


def _write_chain(writer: _Writer, head: EventHead, newest: int) -> None:
    """As it was sealed last: what was appended since is in a later pack."""
    number = head.sealed_in or 0
    batch = writer.batch(number)
    place = batch.places.get(head.correlation_id)
    if place is None:
        raise Conflict(
            f"chain {head.correlation_id} is not in root {number}; see `manage.py events verify`"
        )
    index, count, digest = place
    writer.line(
        {
            "chain": {
                "batch": number,
                "batch_size": batch.size,
                "correlation_id": str(head.correlation_id),
                "count": count,
                "hash": digest.hex(),
                "index": index,
                "log_path": [it.hex() for it in writer.log.inclusion(number, size=newest)],
                "path": [it.hex() for it in inclusion_path(index, batch.size, batch.node)],
            }
        }
    )
    writer.chains += 1
    # A tag can be checked here alone: whoever reads the pack has not its key, and trusts our signature.
    judge = Judge(
        correlation_id=head.correlation_id,
        head=head,
        keys=checking_keys(),
        completeness=Completeness.of(()),
    )
    for event in stream_events(head.correlation_id, head.correlation_id):
        judge.see(event)
        if event.number <= count:
            writer.line({"event": _event(event)})
            writer.events += 1
    if (broken := judge.verdict().broken) is not None:
        raise Conflict(
            f"chain {head.correlation_id} is not intact: event {broken.number}: {broken.sentence}"
        )


def _event(event: EventRow) -> list[Any]:
    microseconds = (event.at - EPOCH) // MICROSECOND
    facts = (event.kind, event.mission, event.recording, event.content)
    return [event.number, str(event.run_id), microseconds, *facts, bytes(event.hash).hex()]


def _write_end(writer: _Writer) -> None:
    key = signing_key()
    end = {
        "chains": writer.chains,
        "events": writer.events,
        "public": key.public,
        "sha256": writer.all.hexdigest(),
    }
    writer.line({"end": {**end, "signature": key.sign(signed_pack(end))}})
