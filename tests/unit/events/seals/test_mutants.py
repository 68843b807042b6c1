"""No mutant of a pack is accepted, and none makes the verification do anything but refuse (done-when 2)."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable
from io import BytesIO
from random import Random

import pytest

from events.models import Root
from events.pack import Subject, run_subject, write_pack
from events.roots import root_line
from events.seal_heads import seal_now
from events.signing import signing_key
from events.verify_pack import Pins, Refused, check, lines_of
from tests.unit.events.seals.chains import new_chain
from tests.unit.events.seals.mutants import Lines, mutant

pytestmark = pytest.mark.usefixtures("fresh_db")
# `make mutants` tries 100,000.
MUTANTS = int(os.environ.get("LIYAGENT_MUTANTS", "2000"))
SEED = os.environ.get("LIYAGENT_MUTANTS_SEED", "")


def the_packs(with_keys: Callable[..., None]) -> tuple[list[Lines], Pins]:
    """Packs of runs and of a mission, with older roots, and exported roots: one of them signed by two keys."""

    def packed(subject: Subject, since: int = 0) -> Lines:
        out = BytesIO()
        write_pack(subject, out, since=since)
        return out.getvalue().splitlines(keepends=True)

    with_keys(("old", b"o" * 32))
    old = signing_key().public
    chains = [new_chain(mission="INC-1") for _ in range(3)]
    seal_now()
    with_keys(("new", b"n" * 32), ("old", b"o" * 32))
    chains += [new_chain(2, mission="INC-1")]
    seal_now()
    one, other = new_chain(6), new_chain(1)
    packs = [
        packed(run_subject(one, one)),
        packed(run_subject(other, other), since=1),
        packed(Subject(named={"mission": "INC-1"}, chains=chains), since=2),
        *([root_line(it.statement, it.signatures)] for it in Root.objects.all()),
    ]
    return packs, Pins(frozenset({old, signing_key().public}))


@pytest.mark.promise("EV-02")
@pytest.mark.timeout(60 + MUTANTS // 20)
def test_no_mutant_is_accepted_and_none_is_a_crash(with_keys: Callable[..., None]) -> None:
    packs, pins = the_packs(with_keys)
    whole = {b"".join(lines) for lines in packs}
    for data in whole:
        check(lines_of(BytesIO(data)), pins)
    seed = SEED or os.urandom(8).hex()
    random, tried, told = Random(seed), 0, Counter[str]()
    while tried < MUTANTS:
        data = mutant(random, packs)
        if data in whole:
            continue
        tried += 1
        try:
            check(lines_of(BytesIO(data)), pins)
        except Refused as refused:
            told[" ".join(it for it in str(refused).split() if it.isalpha())] += 1
        else:
            pytest.fail(f"accepted, seed {seed}, number {tried}: {data!r}")
    # A mutation test that everything ends at the first check of shows nothing of the others.
    assert len(told) >= 20, told
    assert told.total() == tried
