"""The log of batches as it is stored: subtree hashes by row, so that a proof reads few rows."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import UUID

from events.merkle import consistency_path, inclusion_path
from events.models import Root
from events.verify_pack import head_leaf, leaf_hash

HASH_BYTES = 32
HEAD_BYTES = 16 + 8 + HASH_BYTES
CERTIFICATE_BYTES = 8 + HASH_BYTES
CERTIFICATE_LEAF = b"liyagent/leaf/purge/v1\x00"

HELD_BYTES = 16 + 8
# What a row can hold: a root that was forged can say more.
MOST_STORED = (1 << 63) - 1

# Where a chain stood: its correlation id, count and hash. And a purge: the number of its certificate, and its digest.
HeadLeaf = tuple[UUID, int, bytes]
Certificate = tuple[int, bytes]
# Chains whose head somebody held, and the root whose seal it waits for.
Held = dict[UUID, int]


class RootLog:
    """Reads subtree hashes; each row once."""

    def __init__(self) -> None:
        """Nothing is read before it is asked for."""
        self._nodes: dict[int, bytes] = {}

    def node(self, level: int, index: int) -> bytes:
        """Return the hash over the batches from `index << level` on; it was completed by the last of them."""
        number = (index + 1) << level
        if number not in self._nodes:
            row = Root.objects.filter(number=number).values_list("nodes", flat=True).first()
            self._nodes[number] = bytes(row or b"")
        at = level * HASH_BYTES
        return self._nodes[number][at : at + HASH_BYTES]

    def inclusion(self, number: int, *, size: int) -> list[bytes]:
        """Return the path of batch `number` in the log of root `size`."""
        return inclusion_path(number - 1, size, self.node)

    def consistency(self, old: int, new: int) -> list[bytes]:
        """Return the path that shows that root `new` has grown out of root `old`."""
        return consistency_path(old, new, self.node)


def packed_heads(heads: list[HeadLeaf]) -> bytes:
    """Return heads as a root keeps them."""
    return b"".join(
        chain.bytes + count.to_bytes(8, "big") + digest for chain, count, digest in heads
    )


def unpacked_heads(data: bytes | memoryview[int]) -> list[HeadLeaf]:
    """Return the heads that a root keeps; a rest that is no whole one is none."""
    return [(UUID(bytes=it[:16]), _number(it[16:24]), it[24:]) for it in _pieces(data, HEAD_BYTES)]


def packed_certificates(certificates: list[Certificate]) -> bytes:
    """Return certificates as a root keeps them."""
    return b"".join(number.to_bytes(8, "big") + digest for number, digest in certificates)


def unpacked_certificates(data: bytes | memoryview[int]) -> list[Certificate]:
    """Return the certificates that a root keeps."""
    return [(_number(it[:8]), it[8:]) for it in _pieces(data, CERTIFICATE_BYTES)]


def packed_held(held: Held) -> bytes:
    """Return held heads as a root keeps them."""
    return b"".join(chain.bytes + number.to_bytes(8, "big") for chain, number in held.items())


def unpacked_held(data: bytes | memoryview[int]) -> Held:
    """Return the held heads that a root keeps."""
    return {UUID(bytes=it[:16]): _number(it[16:]) for it in _pieces(data, HELD_BYTES)}


def leaves_of(heads: list[HeadLeaf], certificates: list[Certificate]) -> list[bytes]:
    """Return the leaf hashes of a batch: its heads, then its certificates."""
    purges = (
        leaf_hash(CERTIFICATE_LEAF + number.to_bytes(8, "big") + digest)
        for number, digest in certificates
    )
    return [*(head_leaf(chain.bytes, count, digest) for chain, count, digest in heads), *purges]


def _pieces(data: bytes | memoryview[int], size: int) -> Iterator[bytes]:
    text = bytes(data)
    return (text[at : at + size] for at in range(0, len(text) - size + 1, size))


def _number(data: bytes) -> int:
    return min(int.from_bytes(data, "big"), MOST_STORED)
