"""The guards of workflows as they are carried, and of the run that undoes."""

from __future__ import annotations

from tests.guards.guard import Guard

WORKFLOWS = "tests/unit/workflows/"
MIND, WAITS, FAILURES = (f"{WORKFLOWS}test_{it}.py::" for it in ("mind", "waits", "failures"))
ANYTHING = f"{WORKFLOWS}test_course_of_anything.py::"
SAGA_RACES = "tests/unit/runs/carrying/test_saga_races.py::"
HOOKS = "tests/unit/runs/carrying/test_hooks.py::"
UNDONE = "tests/unit/runs/carrying/test_compensation.py::"
FAMILY = "tests/unit/runs/delegating/test_undone.py::"
LATE = "tests/unit/runs/carrying/test_late_sagas.py::"
SAGA, APPROVE, DELEGATE = "sagas/sql/saga.sql", "runs/sql/approve.sql", "runs/sql/delegate.sql"

ENGINE_GUARDS: tuple[Guard, ...] = (
    Guard(
        name="a loop back to a step has a key of its own",
        file="liyagent/workflows/scope.py",
        search="            steps_executed=asked.number,\n",
        replace="            steps_executed=0,\n",
        tests=(f"{MIND}test_a_steps_key_is_of_its_run_its_step_and_how_many_were_executed",),
    ),
    Guard(
        name="what nobody can tell of is no failure to take",
        file="liyagent/workflows/course.py",
        search="        if result.came not in {Came.UNKNOWN, Came.HELD}:\n",
        replace="        if result.came is not Came.HELD:\n",
        tests=(f"{FAILURES}test_what_nobody_can_tell_of_is_neither_tried_again_nor_taken",),
    ),
    Guard(
        name="a loop meets its cap",
        file="liyagent/workflows/course.py",
        search="            elif self.executed >= self.definition.most_steps:\n",
        replace="            elif self.executed >= self.definition.most_steps + 3:\n",
        tests=(f"{FAILURES}test_a_loop_without_an_end_meets_its_cap",),
    ),
    Guard(
        name="what a template makes has an end",
        file="liyagent/workflows/course.py",
        search="        return to_plain(value, limit_bytes=MOST_BYTES)\n",
        replace="        return value\n",
        tests=(
            f"{ANYTHING}test_a_loop_that_makes_more_of_what_it_holds_fails_and_takes_no_process_along[deeper_and_deeper]",
        ),
    ),
    Guard(
        name="a number beyond all bounds is waited for by nobody",
        file="liyagent/workflows/waits.py",
        search='    except (TypeError, ValueError, OverflowError):\n        raise WaitInvalid(f"seconds',
        replace='    except (TypeError, ValueError):\n        raise WaitInvalid(f"seconds',
        tests=(f"{ANYTHING}test_a_number_beyond_all_bounds_fails_its_step",),
    ),
    Guard(
        name="a condition on a number beyond all bounds cannot be judged",
        file="liyagent/core/conditions.py",
        search="TypeError, ValueError, OverflowError) as error",
        replace="TypeError, ValueError) as error",
        tests=(f"{ANYTHING}test_a_number_beyond_all_bounds_fails_its_step",),
    ),
    Guard(
        name="a signal is taken by one step",
        file="liyagent/workflows/take_signal.py",
        search=" AND s.taken_by IS NULL\n",
        replace="\n",
        tests=(f"{WAITS}test_a_signal_that_came_before_is_there_when_it_is_waited_for",),
    ),
    Guard(
        name="an undo is marked by what stands then for whoever made its write",
        file="runs/scope.py",
        search="self.checkpoint.config, self.checkpoint.acting\n        agent = agent_now(acting",
        replace="self.checkpoint.config, self.checkpoint.run.agent_key\n        agent = agent_now(acting",
        tests=(
            f"{FAMILY}test_what_the_writers_agent_may_not_do_any_more_is_not_sent_although_its_root_may",
        ),
    ),
    Guard(
        name="no cap of calls ends a round",
        file="runs/attempt.py",
        search="        if not is_undo_run(self.run):\n",
        replace="        if True:\n",
        tests=(f"{UNDONE}test_a_cap_of_its_agent_keeps_no_older_undo_from_being_made[calls]",),
    ),
    Guard(
        name="no cap of time ends a round",
        file="runs/attempt.py",
        search="        if is_undo_run(self.run):\n            return\n",
        replace="",
        tests=(f"{UNDONE}test_a_cap_of_its_agent_keeps_no_older_undo_from_being_made[seconds]",),
    ),
    Guard(
        name="a hook that breaks at an undo ends no round",
        file="runs/attempt.py",
        search="        ends_run = not is_undo_run(self.run)\n",
        replace="        ends_run = True\n",
        tests=(
            f"{HOOKS}test_a_hook_at_an_undo_keeps_no_older_one_from_being_made[breaks_before]",
            f"{HOOKS}test_a_hook_at_an_undo_keeps_no_older_one_from_being_made[refuses_after]",
        ),
    ),
    Guard(
        name="an undo that is asked for anew is said to be under the lock of its saga",
        file=APPROVE,
        search="        IF p_request ? 'undo' THEN\n",
        replace="        PERFORM 1 FROM sagas_undo u WHERE u.approval = p_replaces FOR NO KEY UPDATE;\n        IF p_request ? 'undo' THEN\n",
        tests=(
            f"{SAGA_RACES}test_a_held_undo_that_is_asked_for_anew_waits_for_the_saga_before_its_undo",
        ),
    ),
    Guard(
        name="branches are given a bounded lot to read",
        file="liyagent/workflows/branches.py",
        search="        if size > MOST_BYTES:\n",
        replace="        if False:\n",
        tests=(f"{FAILURES}test_branches_that_would_be_given_too_much_to_read_fail_their_step",),
    ),
    Guard(
        name="the first word of a saga and the end of its run come one after the other",
        file=SAGA,
        search="        PERFORM pg_advisory_xact_lock(7246, hashtext(p_saga::text));\n",
        replace="        NULL;\n",
        tests=(
            f"{SAGA_RACES}test_the_first_word_of_a_saga_and_the_end_of_its_run_do_not_miss_each_other",
        ),
    ),
    Guard(
        name="the end of a run locks its saga before its event head",
        file="runs/sql/step.sql",
        search="        PERFORM liyagent_end_saga(",
        replace="        PERFORM 1 FROM events_eventhead e WHERE e.correlation_id = v.correlation_id FOR UPDATE;\n        PERFORM liyagent_end_saga(",
        tests=(f"{SAGA_RACES}test_event_heads_are_locked_behind_the_saga[finish]",),
    ),
    Guard(
        name="who starts a run below another waits for no event head",
        file="runs/sql/start.sql",
        search="        WHERE NOT EXISTS (SELECT 1 FROM events_eventhead e WHERE e.correlation_id = p_correlation)\n",
        replace="",
        tests=(
            f"{SAGA_RACES}test_whoever_lets_an_undo_out_waits_for_nobody_who_tells_in_its_chain",
        ),
    ),
    Guard(
        name="no undo is one too many to be put before a person",
        file="runs/file_call.py",
        search=" and not checkpoint.undo_key\n",
        replace="\n",
        tests=(f"{UNDONE}test_every_undo_that_is_held_is_put_before_a_person",),
    ),
    Guard(
        name="a decision locks a saga before the event head",
        file=APPROVE,
        search="        PERFORM liyagent_undo_not_made(",
        replace="        PERFORM 1 FROM events_eventhead e WHERE e.correlation_id = v.correlation_id FOR UPDATE;\n        PERFORM liyagent_undo_not_made(",
        tests=(f"{SAGA_RACES}test_event_heads_are_locked_behind_the_saga[decide]",),
    ),
    Guard(
        name="a person's word locks a saga before the event head",
        file="runs/sql/person.sql",
        search="    -- One of its undos is settled by that, or what it did is owed to be undone from now on.\n",
        replace="    PERFORM 1 FROM events_eventhead e WHERE e.correlation_id = v_call.correlation_id FOR UPDATE;\n",
        tests=(f"{SAGA_RACES}test_event_heads_are_locked_behind_the_saga[settle_by_person]",),
    ),
    Guard(
        name="a signal is taken under the name that it was sent by",
        file="liyagent/workflows/take_signal.py",
        search='    if words["name"] != name or ',
        replace="    if ",
        tests=(f"{WAITS}test_a_signal_that_nobody_sent_so_fails_its_step[renamed]",),
    ),
    Guard(
        name="a signal's words open in its own row alone",
        file="liyagent/workflows/signal.py",
        search="kind=WORDS, number=signal.id)",
        replace="kind=WORDS, number=min(signal.id, 1))",
        tests=(f"{WAITS}test_a_signal_that_came_before_is_there_when_it_is_waited_for",),
    ),
    Guard(
        name="a signal that was taken is not taken again",
        file="liyagent/workflows/take_signal.py",
        search=" or signal.id in _taken_before(checkpoint):",
        replace=":",
        tests=(f"{WAITS}test_a_signal_that_is_put_back_is_not_taken_again",),
    ),
    Guard(
        name="a word that nobody said is asked for anew",
        file="liyagent/workflows/ask_person.py",
        search="        if why:\n",
        replace="        if False:\n",
        tests=(f"{WAITS}test_a_word_that_was_no_persons_is_asked_for_anew",),
    ),
    Guard(
        name="a branch that nobody can tell of leaves its step unknown",
        file="liyagent/workflows/branches.py",
        search="        return Outcome(fate=Fate.UNKNOWN if is_unknown else Fate.FAILED, error=told)\n",
        replace="        return Outcome(fate=Fate.FAILED, error=told)\n",
        tests=(f"{FAILURES}test_a_branch_that_nobody_can_tell_of_is_not_taken_either",),
    ),
    Guard(
        name="a Stop of a family waits for its branches",
        file="liyagent/workflows/manner.py",
        search="    below = frozenset({PARALLEL})\n",
        replace="",
        tests=(f"{WAITS}test_branches_all_end_before_their_family_does",),
    ),
    Guard(
        name="no branch is started by an attempt that is out",
        file=DELEGATE,
        search="        WHERE r.id = p_run AND r.attempt = p_attempt AND r.status = 'running' AND r.sequence = p_sequence - 1\n        FOR NO KEY UPDATE;",
        replace="        WHERE r.id = p_run AND r.status = 'running' AND r.sequence = p_sequence - 1\n        FOR NO KEY UPDATE;",
        tests=(
            f"{WAITS}test_an_attempt_that_is_out_starts_no_branch_and_puts_nobody_to_rest[fork]",
        ),
    ),
    Guard(
        name="no run is put to rest by an attempt that is out",
        file=APPROVE,
        search="        WHERE r.id = p_run AND r.status = 'running' AND r.attempt = p_attempt AND r.sequence",
        replace="        WHERE r.id = p_run AND r.status = 'running' AND r.sequence",
        tests=(
            f"{WAITS}test_an_attempt_that_is_out_starts_no_branch_and_puts_nobody_to_rest[rest]",
        ),
    ),
    Guard(
        name="a stop is not slept through",
        file=APPROVE,
        search="            not_before = CASE WHEN r.stop_requested OR r.wakes",
        replace="            not_before = CASE WHEN r.wakes",
        tests=(f"{WAITS}test_one_that_is_stopped_as_it_goes_to_rest_is_up_at_once",),
    ),
    Guard(
        name="who rests until a time is woken before it",
        file=APPROVE,
        search="            not_before = CASE r.status WHEN 'queued' THEN NULL ELSE r.not_before END\n",
        replace="            not_before = r.not_before\n",
        tests=(f"{WAITS}test_a_signal_ends_a_wait_that_has_a_time_too",),
    ),
    Guard(
        name="undone is the newest first",
        file="runs/undo_mind.py",
        search='AND \\"order\\" < %s ORDER BY \\"order\\" DESC LIMIT 1"',
        replace='AND \\"order\\" < %s ORDER BY \\"order\\" LIMIT 1"',
        tests=(f"{UNDONE}test_a_failed_run_is_undone_newest_first",),
    ),
    Guard(
        name="an undo that fails is tried three times",
        file="runs/undo_mind.py",
        search="MOST_TRIES = 3\n",
        replace="MOST_TRIES = 2\n",
        tests=(f"{UNDONE}test_one_that_fails_is_tried_three_times_and_the_older_ones_are_made",),
    ),
    Guard(
        name="an undo is sent under the key of its write",
        file="runs/undo_mind.py",
        search="        self.keys[call.index] = self.checkpoint.undo_key\n        return",
        replace="        self.keys[call.index] = __import__('secrets').token_hex(32)\n        return",
        tests=(f"{UNDONE}test_an_undo_is_sent_under_its_own_key_however_often",),
    ),
    Guard(
        name="nothing undoes an undo",
        file="runs/scope.py",
        search="        if self.checkpoint.undo_key:\n            return None\n",
        replace="",
        tests=(f"{UNDONE}test_a_failed_run_is_undone_newest_first",),
    ),
    Guard(
        name="a write of unknown outcome keeps a saga from being compensated",
        file=SAGA,
        search="WHEN v_done = v_all AND NOT liyagent_has_unknown(p_saga) THEN",
        replace="WHEN v_done = v_all THEN",
        tests=(f"{FAILURES}test_what_nobody_can_tell_of_is_neither_tried_again_nor_taken",),
    ),
    Guard(
        name="an undo that cannot be resolved is shown as missing",
        file=SAGA,
        search="CASE WHEN p_undo->>'missing' = '' THEN 'owed' ELSE 'missing' END",
        replace="'owed'",
        tests=(f"{FAILURES}test_an_undo_that_reads_what_is_not_there_is_shown_as_missing_at_once",),
    ),
    Guard(
        name="a run that answered keeps what it did",
        file=SAGA,
        search="    IF p_run = p_saga AND p_status = 'answered' THEN\n",
        replace="    IF p_status = 'never' THEN\n",
        tests=(f"{UNDONE}test_a_run_that_answers_keeps_what_it_did",),
    ),
    Guard(
        name="an undo passes the gates of the agent that wrote",
        file="runs/undo_mind.py",
        search='        acting = kept["agent"] if kept["agent"] != own or kept["chain"] else ""\n',
        replace='        acting = "" if own or kept["chain"] else kept["agent"]\n',
        tests=(f"{FAMILY}test_each_undo_passes_the_gates_of_the_agent_that_wrote",),
    ),
    Guard(
        name="what was asked of a person is kept by keep",
        file="runs/failed_saga.py",
        search='    return undoes(on_failure) and on_failure.get("on_stop") != "keep"\n',
        replace="    return undoes(on_failure)\n",
        tests=(f"{WAITS}test_a_person_who_says_no_ends_it_and_what_it_did_is_undone_unless_kept",),
    ),
    Guard(
        name="what a round before sent is not sent again, whatever its row says",
        file="runs/undo_mind.py",
        search="        return not self._was_sent(undo)\n",
        replace="        return True\n",
        tests=(f"{UNDONE}test_a_row_that_was_put_back_to_owed_makes_no_undo_twice",),
    ),
    Guard(
        name="an undo is that of its saga",
        file="runs/undo_ride.py",
        search="    if sealed != (str(undo.saga_id), undo.server,",
        replace="    if sealed[1:] != (undo.server,",
        tests=(f"{UNDONE}test_an_undo_that_was_moved_under_another_saga_is_not_made",),
    ),
    Guard(
        name="a saga whose run the release before ended goes to a person",
        file=SAGA,
        search="        UPDATE sagas_saga o SET cause = 'failed', handoff = 'approval', changed_at = liyagent_now()\n            WHERE o.id = p_saga AND o.status = 'open';\n",
        replace="",
        tests=(f"{LATE}test_a_run_that_the_release_before_ended_goes_to_a_person",),
    ),
    Guard(
        name="each round tells what it tried",
        file=SAGA,
        search="                OR o.settled_at < (SELECT r.created_at FROM runs_run r WHERE r.id = s.compensating_run));\n",
        replace="                );\n",
        tests=(f"{LATE}test_each_round_tells_what_it_tried_whatever_the_one_before_came_to",),
    ),
    Guard(
        name="what an end leaves in doubt is listed in a saga",
        file=SAGA,
        search="    IF (p_facts->>'unknown')::boolean THEN PERFORM liyagent_saga(p_saga); END IF;\n",
        replace="",
        tests=(f"{LATE}test_a_write_that_its_runs_end_leaves_in_doubt_is_listed_in_a_saga",),
    ),
    Guard(
        name="a lost run begins again with what it was given",
        file="runs/finish.py",
        search="        context={**context, AGAIN: given_to(start)} if start else None,\n",
        replace="        context=None,\n",
        tests=(f"{LATE}test_a_run_that_was_lost_for_good_is_undone_and_begins_again_as_it_says",),
    ),
    Guard(
        name="who goes on from a run is told what of it was undone",
        file="runs/so_far.py",
        search="            f\"{UNDONE if (it.step, it.index) in undone else ''}\"\n",
        replace="            f\"{UNDONE if not undone else ''}\"\n",
        tests=(f"{UNDONE}test_who_goes_on_from_an_undone_run_is_told_what_is_not_there_any_more",),
    ),
)
