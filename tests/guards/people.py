"""The guards of co-pilot, playground and resume: a row before the answer, one's own conversation, one run a turn."""

from __future__ import annotations

from tests.guards.guard import Guard

RECEIVE = "liyagent/entry/copilot/receive.py"
CONVERSATIONS = "liyagent/entry/copilot/conversations.py"
PLAYGROUND = "liyagent/entry/playground/page.py"
GO_ON = "runs/go_on.py"
TURNS = "tests/unit/entry/copilot/test_turns.py::"
PAGES = "tests/flows/test_playground.py::"
GOING_ON = "tests/unit/runs/carrying/test_go_on.py::"
OWN = f"{TURNS}test_nobody_asks_in_or_sees_another_s_conversation_but_who_may_see_all"

PEOPLE: tuple[Guard, ...] = (
    Guard(
        name="a turn is kept before its run is begun",
        file=RECEIVE,
        search="        now.turns += 1\n        sealed, key_id",
        replace=(
            "    begin_arrival(arrived.run_id)\n"
            "    with transaction.atomic(durable=True):\n"
            "        now.turns += 1\n        sealed, key_id"
        ),
        tests=(f"{TURNS}test_a_turn_whose_process_dies_before_its_run_began_is_begun_by_another",),
    ),
    Guard(
        name="a turn is asked in one's own conversation",
        file=RECEIVE,
        search=" or conversation.owner != person.username:",
        replace=":",
        tests=(OWN,),
    ),
    Guard(
        name="a conversation is seen by its owner and who may see all",
        file=CONVERSATIONS,
        search="found is None or not (person.sees_all or found.owner == person.username)",
        replace="found is None",
        tests=(OWN,),
    ),
    Guard(
        name="a conversation goes on one turn at a time",
        file=RECEIVE,
        search="_known(asking) or _check_open(conversation, asking)",
        replace="_known(asking)",
        tests=(f"{TURNS}test_a_conversation_goes_on_one_turn_at_a_time",),
    ),
    Guard(
        name="of many turns at once one is kept",
        file=RECEIVE,
        search="        if now.turns != seen.turns:\n            return None\n",
        replace="",
        tests=(f"{TURNS}test_of_many_that_ask_at_once_one_is_taken_on",),
    ),
    Guard(
        name="a turn's key finds its turn",
        file=RECEIVE,
        search="known = _known(asking) or",
        replace="known =",
        tests=(f"{TURNS}test_the_same_turn_again_is_the_first_while_it_runs_and_after_it_ended",),
    ),
    Guard(
        name="a turn's key with another body is refused",
        file=RECEIVE,
        search="if arrival.body_digest != asking.body_digest:",
        replace="if False:",
        tests=(f"{TURNS}test_the_same_turn_again_is_the_first_while_it_runs_and_after_it_ended",),
    ),
    Guard(
        name="a turn that may not start is told as refused",
        file=RECEIVE,
        search="check_begun(begin_arrival(taken.turn.run_id))",
        replace="begin_arrival(taken.turn.run_id)",
        tests=(
            f"{TURNS}test_a_turn_that_may_not_start_is_kept_as_refused_and_the_next_may_be_asked",
        ),
    ),
    Guard(
        name="what is asked in a turn is kept as the guardrails mask it",
        file=RECEIVE,
        search="seal_asked(arrived.run_id, masked)",
        replace="seal_asked(arrived.run_id, task)",
        tests=(f"{TURNS}test_what_a_guardrail_masks_is_kept_masked",),
    ),
    Guard(
        name="a burst of turns is met before one is kept",
        file=RECEIVE,
        search="    _check_burst(seen.owner)\n",
        replace="",
        tests=(f"{TURNS}test_who_has_many_open_turns_is_asked_to_come_later_and_nothing_is_kept",),
    ),
    Guard(
        name="a run is gone on from once it has ended, where it has no answer",
        file=GO_ON,
        search="    _check_ended(first)\n    _check_last(first)\n",
        replace="    _check_last(first)\n",
        tests=(
            f"{GOING_ON}test_what_still_runs_has_answered_or_was_asked_for_by_a_run_is_refused",
        ),
    ),
    Guard(
        name="one run at a time goes on from another",
        file=GO_ON,
        search="    _check_ended(first)\n    _check_last(first)\n",
        replace="    _check_ended(first)\n",
        tests=(f"{GOING_ON}test_one_at_a_time_goes_on_from_a_run",),
    ),
    Guard(
        name="of many that go on from a run at once one does",
        file="runs/migrations/0013_a_run_goes_on_from_another.py",
        search='                fields=("continues",),\n',
        replace='                fields=("continues", "id"),\n',
        tests=(f"{GOING_ON}test_of_many_that_go_on_at_once_one_does",),
    ),
    Guard(
        name="a key of going on finds the run that it started",
        file=GO_ON,
        search="    if earlier is not None:\n        return earlier\n",
        replace="",
        tests=(f"{GOING_ON}test_a_key_finds_the_run_that_it_started_whatever_became_of_it",),
    ),
    Guard(
        name="nobody goes on over writes of unknown outcome without saying so",
        file=GO_ON,
        search="if unknown and not asked.despite_unknown:",
        replace="if False:",
        tests=(
            f"{GOING_ON}test_writes_of_unknown_outcome_are_listed_and_to_go_on_despite_them_is_audited",
        ),
    ),
    Guard(
        name="a run that goes on is of who asked for it",
        file=GO_ON,
        search="started_by=asked.started_by,",
        replace="started_by=first.started_by,",
        tests=(
            f"{GOING_ON}test_it_is_run_for_who_asked_for_it_and_ends_where_that_one_may_no_more",
        ),
    ),
    Guard(
        name="a run goes on by the channel of the first",
        file=GO_ON,
        search="entry=first.entry,",
        replace='entry="api",',
        tests=(f"{GOING_ON}test_it_starts_by_the_channel_of_the_first_which_must_still_be_open",),
    ),
    Guard(
        name="who may not operate starts nothing in the playground",
        file=PLAYGROUND,
        search="if not request.user.has_perm(OPERATE):",
        replace="if False:",
        tests=(
            f"{PAGES}test_who_may_not_operate_is_shown_no_form_and_who_may_not_see_runs_watches_none",
        ),
    ),
    Guard(
        name="who may not see runs watches none in the playground",
        file=PLAYGROUND,
        search="if not request.user.has_perm(VIEW_RUN):",
        replace="if False:",
        tests=(
            f"{PAGES}test_who_may_not_operate_is_shown_no_form_and_who_may_not_see_runs_watches_none",
        ),
    ),
    Guard(
        name="what a bot or a trigger was told is no word of whom it acts as",
        file=PLAYGROUND,
        search=" or entry not in SAID_BY_ITS_STARTER:",
        replace=":",
        tests=(f"{PAGES}test_words_of_others_are_not_ones_own_for_being_started_in_ones_name",),
    ),
    Guard(
        name="who goes on from another's run reads nothing of it so",
        file=PLAYGROUND,
        search="        if behind is None:\n",
        replace="        if True:\n",
        tests=(f"{PAGES}test_who_goes_on_from_anothers_run_does_not_read_it_so",),
    ),
    Guard(
        name="a form of the playground sent twice is one run",
        file=PLAYGROUND,
        search="start_key=f\"playground {data['nonce']} {said}\",",
        replace='start_key="",',
        tests=(f"{PAGES}test_a_form_sent_twice_is_one_run_and_changed_another",),
    ),
    Guard(
        name="the playground offers agents that permit it",
        file=PLAYGROUND,
        search="        if is_open(channels, ENTRY)\n",
        replace="",
        tests=(f"{PAGES}test_only_agents_that_permit_it_are_offered_and_what_is_refused_is_told",),
    ),
)
