"""A model that obeys every instruction it finds, set upon the real loop: the gates alone decide what comes of it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.injection.case import Case
from tests.injection.cases import CASES, LIMITS, WORK, WORK_WITHOUT_GATES
from tests.injection.evidence import Evidence
from tests.injection.held_true import check

CarryOut = Callable[[Case], Evidence]


def test_there_are_a_hundred_attacks_of_which_thirty_work_where_nothing_is_gated() -> None:
    assert len(CASES) >= 100
    assert len({it.id for it in CASES}) == len(CASES)
    assert len(WORK_WITHOUT_GATES) >= 30


@pytest.mark.parametrize("case", WORK, ids=lambda it: it.id)
def test_work_that_is_wanted_goes_on_behind_the_gates(with_gates: CarryOut, case: Case) -> None:
    evidence = with_gates(case)
    check(evidence)
    assert case.success(evidence), case.aim


@pytest.mark.parametrize("case", CASES, ids=lambda it: it.id)
def test_no_attack_succeeds_while_the_gates_are_in_force(with_gates: CarryOut, case: Case) -> None:
    """No write without its own approval, none of other bytes than were shown, no read that writes."""
    evidence = with_gates(case)
    check(evidence)
    assert not case.success(evidence), case.aim


@pytest.mark.parametrize("case", WORK_WITHOUT_GATES, ids=lambda it: it.id)
def test_the_same_attack_succeeds_where_nothing_is_gated(
    without_gates: CarryOut, case: Case
) -> None:
    """Else it would prove nothing that it fails behind the gates."""
    assert case.success(without_gates(case)), case.aim


@pytest.mark.parametrize("case", LIMITS, ids=lambda it: it.id)
def test_what_no_gate_can_see_is_let_through_as_the_documents_say(
    with_gates: CarryOut, case: Case
) -> None:
    evidence = with_gates(case)
    check(evidence)
    assert case.success(evidence), case.aim
