"""Each guard that `make guards` takes out stands where it looks for it: a change of the code finds it out at once."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.guards.guard import Guard
from tests.guards.guards import GUARDS

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("guard", GUARDS, ids=lambda it: it.name)
def test_a_guard_is_found_once_and_its_tests_are_there(guard: Guard) -> None:
    assert (ROOT / guard.file).read_text().count(guard.search) == 1
    for test in guard.tests:
        path, _, name = test.partition("::")
        assert f"def {name.partition('[')[0]}(" in (ROOT / path).read_text()


def test_no_two_guards_have_one_name() -> None:
    assert len({it.name for it in GUARDS}) == len(GUARDS)
