"""The guards of hand-offs: filed once and when it is time, decided once, closed for good, sealed anew."""

from __future__ import annotations

from tests.guards.guard import Guard

CARRYING = "tests/unit/runs/carrying/"
HAND_OFF = f"{CARRYING}test_hand_off.py::"
RACES = f"{CARRYING}test_saga_races.py::"
RESEAL = f"{CARRYING}test_reseal_sagas.py::"
OUTSIDE = f"{CARRYING}test_outside_ticket.py::"
API = "tests/flows/test_sagas_api.py::"

SAGA_GUARDS: tuple[Guard, ...] = (
    Guard(
        name="a saga is handed off once",
        file="runs/hand_off.py",
        search="filter(id=saga_id, handed_off_at=None, handoff__in=FILED)",
        replace="filter(id=saga_id, handoff__in=FILED)",
        tests=(
            f"{HAND_OFF}test_it_is_filed_once_with_the_whole_context",
            f"{HAND_OFF}test_of_two_that_hand_off_at_once_one_does",
        ),
    ),
    Guard(
        name="nothing is handed off while it is being undone",
        file="runs/hand_off.py",
        search="due.filter(status__in=TRIED)",
        replace="due.all()",
        tests=(f"{HAND_OFF}test_what_a_dead_process_left_is_found",),
    ),
    Guard(
        name="one that cannot be handed off goes to the end of the line",
        file="runs/hand_off.py",
        search="handed_off_at=None).update(changed_at=NOW)",
        replace="handed_off_at=None).exists()",
        tests=(f"{HAND_OFF}test_one_that_cannot_be_handed_off_keeps_no_other_from_it",),
    ),
    Guard(
        name="the sweep judges a saga whose round ended unsaid",
        file="runs/hand_off.py",
        search="            _judge(saga_id)\n",
        replace="            pass\n",
        tests=(f"{HAND_OFF}test_one_whose_round_ended_unsaid_is_found",),
    ),
    Guard(
        name="what begins again begins in the commit of the decision",
        file="runs/again.py",
        search="    with started_within():\n",
        replace="    if True:\n",
        tests=(f"{HAND_OFF}test_a_decision_that_is_not_kept_begins_nothing",),
    ),
    Guard(
        name="nothing begins again while it is being undone",
        file="runs/again.py",
        search="    if saga.status == SagaStatus.COMPENSATING:\n",
        replace="    if False:\n",
        tests=(f"{HAND_OFF}test_while_it_is_being_undone_it_does_not_begin_again",),
    ),
    Guard(
        name="closing takes back what is asked of people",
        file="runs/close_saga.py",
        search='    _withdraw(saga_id, actor=actor, reason=f"the saga was closed: {reason}"[:LONGEST_REASON])\n',
        replace="",
        tests=(
            f"{HAND_OFF}test_what_was_closed_by_hand_is_not_decided_any_more",
            f"{HAND_OFF}test_closed_first_a_held_undo_is_not_there_to_be_approved",
        ),
    ),
    Guard(
        name="a live round is not begun twice",
        file="runs/compensate.py",
        search="        if saga.status == SagaStatus.COMPENSATING:\n            return saga\n",
        replace="",
        tests=(
            f"{RACES}test_of_two_that_press_at_once_one_begins_a_round",
            f"{RACES}test_a_person_presses_while_the_dead_ones_undos_are_in_doubt",
        ),
    ),
    Guard(
        name="a held undo that is made later is not undone itself",
        file="runs/approved_mind.py",
        search='attempt.checkpoint.parts[0].get(UNDO_KEY, "")',
        replace='""',
        tests=(f"{HAND_OFF}test_a_held_undo_is_made_once_when_it_is_approved",),
    ),
    Guard(
        name="what is being undone is sealed anew later",
        file="runs/reseal_sagas.py",
        search=" or saga.status == SagaStatus.COMPENSATING:",
        replace=":",
        tests=(f"{RESEAL}test_one_that_is_being_undone_is_left_and_comes_through_it",),
    ),
    Guard(
        name="the words of a saga are for those who may read words",
        file="runs/saga_told.py",
        search=" if opens else told\n",
        replace="\n",
        tests=(f"{API}test_a_saga_is_told_whole",),
    ),
    Guard(
        name="what cannot be filed elsewhere is filed here",
        file="runs/hand_off.py",
        search="    if run is not None and (came := came_of(run)):\n        return Filed(id=came)\n",
        replace="    if run is not None:\n        return Filed(id=came_of(run))\n",
        tests=(
            f"{OUTSIDE}test_what_cannot_be_filed_elsewhere_is_filed_here_and_says_why",
            f"{OUTSIDE}test_an_agent_that_may_not_is_told_and_it_is_filed_here",
        ),
    ),
    Guard(
        name="a ticket elsewhere bears the key of its saga",
        file="runs/ticket_mind.py",
        search="self.checkpoint.parts[0][KEY]",
        replace="super().step_key(call)",
        tests=(f"{OUTSIDE}test_the_ticket_is_filed_elsewhere_by_a_governed_write",),
    ),
)
