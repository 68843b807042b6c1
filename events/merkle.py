"""The trees of the record, as RFC 6962 has them: a batch of leaves, and the log of batches that grows. Pure.

The log is kept as the hashes of the subtrees that each new leaf completes, so that a proof reads a number of rows that
grows with the logarithm. Proofs are checked in `events.verify_pack`, which an auditor has too: here they are made.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence

from events.verify_pack import node_hash

EMPTY_TREE = hashlib.sha256(b"").digest()
# The hash over the leaves from index << level on, (1 << level) of them.
Node = Callable[[int, int], bytes]


def batch_root(leaves: Sequence[bytes]) -> bytes:
    """Return the root over these leaf hashes, one at least."""
    return range_root(0, len(leaves), nodes_of(leaves))


def batch_path(leaves: Sequence[bytes], index: int) -> list[bytes]:
    """Return the path that shows the leaf with this index under `batch_root`."""
    return inclusion_path(index, len(leaves), nodes_of(leaves))


def completed_by(index: int, leaf: bytes, node: Node) -> list[bytes]:
    """Return the hashes of the subtrees that this leaf of the log completes, the smallest, itself, first."""
    found, level = [leaf], 0
    while index & 1:
        found.append(node_hash(node(level, index - 1), found[-1]))
        index, level = index >> 1, level + 1
    return found


def inclusion_path(index: int, size: int, node: Node) -> list[bytes]:
    """Return the path that shows a leaf in a log of `size` leaves (RFC 6962, 2.1.1)."""
    return _path(index, 0, size, node)


def consistency_path(old: int, new: int, node: Node) -> list[bytes]:
    """Return the path that shows that a log of `old` leaves, one at least, has grown into one of `new` (RFC 6962, 2.1.2)."""
    return [] if old == new else _grown(old, 0, new, node, is_whole=True)


def range_root(start: int, end: int, node: Node) -> bytes:
    """Return the root over the leaves from `start`, where a subtree begins, to before `end`."""
    size = end - start
    if size & (size - 1) == 0:
        level = size.bit_length() - 1
        return node(level, start >> level)
    middle = start + _left(size)
    return node_hash(range_root(start, middle, node), range_root(middle, end, node))


def _path(index: int, start: int, end: int, node: Node) -> list[bytes]:
    size = end - start
    if size == 1:
        return []
    middle = start + _left(size)
    if index < middle:
        return [*_path(index, start, middle, node), range_root(middle, end, node)]
    return [*_path(index, middle, end, node), range_root(start, middle, node)]


def _grown(old: int, start: int, end: int, node: Node, *, is_whole: bool) -> list[bytes]:
    if old == end:
        return [] if is_whole else [range_root(start, end, node)]
    middle = start + _left(end - start)
    if old <= middle:
        return [*_grown(old, start, middle, node, is_whole=is_whole), range_root(middle, end, node)]
    return [*_grown(old, middle, end, node, is_whole=False), range_root(start, middle, node)]


def _left(size: int) -> int:
    """The largest power of two below `size`."""
    return 1 << (size - 1).bit_length() - 1


def nodes_of(leaves: Sequence[bytes]) -> Node:
    """Return the hashes over these leaves, for the paths of many of them."""
    levels = [list(leaves)]
    while len(levels[-1]) > 1:
        below = levels[-1]
        levels.append([node_hash(*below[at : at + 2]) for at in range(0, len(below) - 1, 2)])
    return lambda level, index: levels[level][index]
