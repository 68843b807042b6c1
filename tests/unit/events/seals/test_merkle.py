"""The trees of RFC 6962: roots by its own definition, proofs that hold, and none that do where anything is another."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest

from events.merkle import (
    batch_path,
    batch_root,
    completed_by,
    consistency_path,
    inclusion_path,
    range_root,
)
from events.verify_pack import is_consistent, leaf_hash, root_by_inclusion

LEAVES = [leaf_hash(str(number).encode()) for number in range(70)]


def defined(leaves: list[bytes]) -> bytes:
    """MTH of RFC 6962, 2.1, word for word."""
    if len(leaves) == 1:
        return leaves[0]
    k = 1
    while k * 2 < len(leaves):
        k *= 2
    return hashlib.sha256(b"\x01" + defined(leaves[:k]) + defined(leaves[k:])).digest()


class Log:
    """A log as its rows keep it."""

    def __init__(self, leaves: list[bytes]) -> None:
        self.rows: list[list[bytes]] = []
        for index, leaf in enumerate(leaves):
            self.rows.append(completed_by(index, leaf, self.node))

    def node(self, level: int, index: int) -> bytes:
        return self.rows[((index + 1) << level) - 1][level]


LOG = Log(LEAVES)


def test_the_published_vectors_of_certificate_transparency_hold() -> None:
    given = [
        "",
        "00",
        "10",
        "2021",
        "3031",
        "40414243",
        "5051525354555657",
        "606162636465666768696a6b6c6d6e6f",
    ]
    leaves = [leaf_hash(bytes.fromhex(it)) for it in given]
    assert (
        batch_root(leaves).hex()
        == "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328"
    )
    assert (
        batch_root(leaves[:1]).hex()
        == "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d"
    )


@pytest.mark.promise("EV-02")
def test_the_root_of_every_size_is_the_defined_one() -> None:
    for size in range(1, len(LEAVES) + 1):
        assert batch_root(LEAVES[:size]) == range_root(0, size, LOG.node) == defined(LEAVES[:size])


@pytest.mark.promise("EV-02")
def test_each_leaf_of_each_size_is_shown_by_its_path_and_by_no_other() -> None:
    for size in range(1, 40):
        root = defined(LEAVES[:size])
        for index in range(size):
            path = inclusion_path(index, size, LOG.node)
            assert path == batch_path(LEAVES[:size], index)
            held: dict[str, Any] = {"index": index, "size": size, "path": path}
            assert root_by_inclusion(LEAVES[index], **held) == root
            assert root_by_inclusion(LEAVES[-1], **held) != root
            edits: tuple[dict[str, Any], ...] = (
                {"index": index + 1}, {"path": path[:-1]}, {"path": [*path, root]},
            )  # fmt: skip
            for edited in edits:
                if size > 1 or "path" not in edited:
                    assert root_by_inclusion(LEAVES[index], **{**held, **edited}) != root


@pytest.mark.promise("EV-02")
def test_each_size_is_shown_to_have_grown_out_of_each_before_it() -> None:
    for new in range(1, 40):
        for old in range(1, new + 1):
            path = consistency_path(old, new, LOG.node)
            older, newer = (old, defined(LEAVES[:old])), (new, defined(LEAVES[:new]))
            assert is_consistent(older, newer, path)
            other = (old, defined([*LEAVES[: old - 1], LEAVES[-1]]))
            assert not is_consistent(other, newer, path)
            assert not is_consistent(older, newer, [*path, path[-1] if path else newer[1]])
            assert not (path and is_consistent(older, newer, path[:-1]))
            assert not (new > old and is_consistent(newer, older, path))
