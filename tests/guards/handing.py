"""The guards of what runs hand over: each version once, its words where they may be kept, and told by whom it was read."""

from __future__ import annotations

from tests.guards.guard import Guard

HANDING, SCOPE, DELEGATE = "runs/handing.py", "runs/scope.py", "runs/delegate.py"
SAGA = "runs/saga_handoff.py"
HANDED = "tests/unit/runs/delegating/test_handed.py::"
REMOTE = "tests/unit/runs/carrying/test_remote_hand_offs.py::"
STEPS, SAGAS = "tests/unit/workflows/test_handed.py::", "tests/unit/sagas/test_handed.py::"
HANDS = "        IF p_handoff IS NOT NULL THEN PERFORM liyagent_hand(p_handoff); END IF;\n"

HANDING_GUARDS: tuple[Guard, ...] = (
    Guard(
        name="handed over: a task in the commit that begins the child",
        file="runs/sql/delegate.sql",
        search=HANDS.removeprefix("    "),
        replace="",
        tests=(f"{HANDED}test_a_delegation_is_a_thread_of_the_task_and_of_what_came_back",),
    ),
    Guard(
        name="handed over: what comes back in the commit that settles the call",
        file="runs/sql/step.sql",
        search=f"{HANDS}        IF p_fate = 'done' AND v.own_loop",
        replace="        IF p_fate = 'done' AND v.own_loop",
        tests=(
            f"{HANDED}test_a_delegation_is_a_thread_of_the_task_and_of_what_came_back",
            f"{REMOTE}test_what_a_remote_agent_is_asked_and_answers_is_a_thread[1.0]",
        ),
    ),
    Guard(
        name="handed over: a message in the commit of its mark",
        file="runs/sql/step.sql",
        search=f"{HANDS}    END IF;\n    RETURN QUERY SELECT v.stop_requested, liyagent_config_version(),\n            extract",
        replace="    END IF;\n    RETURN QUERY SELECT v.stop_requested, liyagent_config_version(),\n            extract",
        tests=(f"{REMOTE}test_what_a_remote_agent_is_asked_and_answers_is_a_thread[1.0]",),
    ),
    Guard(
        name="handed over: a held message in the commit that lets it out",
        file="runs/sql/approve.sql",
        search=HANDS,
        replace="",
        tests=(
            f"{REMOTE}test_a_message_that_is_held_is_handed_over_once_it_is_approved[1.0-waits]",
        ),
    ),
    Guard(
        name="handed over: the mark keeps what it began",
        file="runs/marks.py",
        search="        if self.handoff is not None:\n",
        replace="        if False:\n",
        tests=(
            f"{HANDED}test_a_delegation_is_a_thread_of_the_task_and_of_what_came_back",
            f"{REMOTE}test_whoever_dies_on_the_way_it_is_handed_over_once[1.0-place0-looked-for]",
        ),
    ),
    Guard(
        name="handed over: words where both sides are recorded in full alone",
        file=HANDING,
        search="keeps and checkpoint.run.recording == child.recording == FULL",
        replace="keeps and checkpoint.run.recording == FULL",
        tests=(f"{HANDED}test_words_are_kept_only_where_both_are_recorded_in_full[reader]",),
    ),
    Guard(
        name="handed over: a task that is refused is kept nowhere",
        file=DELEGATE,
        search="keeps=not _refuses(agent, task)",
        replace="keeps=True",
        tests=(f"{HANDED}test_a_task_that_a_guardrail_refuses_is_kept_nowhere_by_its_hand_off",),
    ),
    Guard(
        name="handed over: what was not handed down is not told",
        file=DELEGATE,
        search="    checkpoint.events.take_back()\n",
        replace="",
        tests=(f"{HANDED}test_work_that_is_not_handed_down_after_all_leaves_no_word_of_it",),
    ),
    Guard(
        name="handed over: what is taken back leaves no hole",
        file="events/buffer.py",
        search="            self.tagger.ordinal -= 1\n",
        replace="",
        tests=(f"{HANDED}test_work_that_is_not_handed_down_after_all_leaves_no_word_of_it",),
    ),
    Guard(
        name="handed over: a child keeps that it read",
        file=HANDING,
        search="    hot.ask(HAND, (Jsonb(reading),), give_up=checkpoint.give_up)\n",
        replace="",
        tests=(f"{HANDED}test_a_delegation_is_a_thread_of_the_task_and_of_what_came_back",),
    ),
    Guard(
        name="handed over: one key that is sent twice is two threads",
        file=HANDING,
        search="(payload.key, checkpoint.run_id, *place)",
        replace="(payload.key,)",
        tests=(
            f"{STEPS}test_a_remote_agent_that_is_asked_again_with_the_same_key_is_told_of_twice",
        ),
    ),
    Guard(
        name="handed over: an end tells of what nobody answered",
        file="runs/finish.py",
        search="    tell_unheard(checkpoint)\n",
        replace="",
        tests=(
            f"{REMOTE}test_a_run_that_ends_before_it_heard_back_tells_what_it_handed_over[1.0]",
        ),
    ),
    Guard(
        name="handed over: what only reads has no mark and is kept",
        file=SCOPE,
        search="            if payload is not None and not call.writes and asks_remote_agent(call):\n",
        replace="            if False:\n",
        tests=(f"{REMOTE}test_a_tool_that_only_reads_is_handed_over_all_the_same[1.0]",),
    ),
    Guard(
        name="handed over: what a family's member keeps no words of, its root does not",
        file=SAGA,
        search="root.recording == FULL and fits(body) and not family.exclude(recording=FULL).exists()",
        replace="root.recording == FULL",
        tests=(f"{SAGAS}test_words_of_a_sub_agent_that_keeps_none_are_not_kept_by_its_root",),
    ),
    Guard(
        name="handed over: who decided has read it",
        file="runs/again.py",
        search="        note_decider(approval)\n",
        replace="        pass\n",
        tests=(f"{SAGAS}test_who_decides_has_read_it[approved]",),
    ),
)
