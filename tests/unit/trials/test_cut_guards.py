"""Each guard that the cuts take out stands where they look for it, and shows in a kind of run that there is."""

from __future__ import annotations

import pytest

from liyagent.demo.vendors.process import ROOT
from tests.trials.cuts.course import Fault
from tests.trials.cuts.guards import GUARDS
from tests.trials.cuts.kinds import KINDS
from tests.trials.cuts.ways.table import VISITS


@pytest.mark.parametrize("name", GUARDS)
def test_a_guard_of_the_cuts_is_found_once(name: str) -> None:
    taken = GUARDS[name]
    for file, search, replace in taken.diffs:
        assert (ROOT / file).read_text().count(search) == 1
        assert search != replace
    assert taken.kind in {it.name for it in KINDS}
    assert taken.fault in {it.value for it in Fault}


def test_each_way_is_cut_and_has_another_end() -> None:
    assert {it.way for it in KINDS if it.way} == set(VISITS)
