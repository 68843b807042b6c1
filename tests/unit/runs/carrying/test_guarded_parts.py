"""Sealed pieces of a checkpoint: each opens as itself alone, after the very piece before it (CR-16)."""

from __future__ import annotations

from uuid import uuid4

import pytest

from liyagent.core.seal import Keyring, SealBroken, Sealer, tag_of


@pytest.fixture
def sealer() -> Sealer:
    """What seals one run."""
    ring = Keyring((("k1", bytes(range(32))),))
    return ring.sealer(key_id="k1", run_id=uuid4(), format_number=1)


@pytest.mark.promise("CR-16")
@pytest.mark.parametrize(("kind", "number"), [("outcome", 3), ("step", 4)])
def test_a_piece_opens_as_itself_alone(sealer: Sealer, kind: str, number: int) -> None:
    piece = sealer.seal({"text": "as it was"}, kind="step", number=3)
    assert sealer.open(piece, kind="step", number=3) == {"text": "as it was"}
    with pytest.raises(SealBroken):
        sealer.open(piece, kind=kind, number=number)


@pytest.mark.promise("CR-16")
def test_a_part_of_another_past_does_not_fit(sealer: Sealer) -> None:
    """After a restore a step is taken anew: what was written after the first one must not follow the second."""
    first = sealer.seal("first", kind="step", number=1, previous=b"start")
    anew = sealer.seal("anew", kind="step", number=1, previous=b"start")
    later = sealer.seal("later", kind="step", number=2, previous=tag_of(first))
    assert sealer.open(later, kind="step", number=2, previous=tag_of(first)) == "later"
    with pytest.raises(SealBroken):
        sealer.open(later, kind="step", number=2, previous=tag_of(anew))
