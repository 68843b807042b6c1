"""Guards of a run as it is carried: its fences, takes, marks, settlements and what it is judged by."""

from __future__ import annotations

from tests.guards.guard import Guard

STEP, TAKE, CLAIM = "runs/sql/step.sql", "runs/sql/take.sql", "runs/sql/claim.sql"
ATTEMPT, SCOPE = "runs/attempt.py", "runs/scope.py"
FENCES = "tests/unit/runs/test_fences.py::"
TAKES = "tests/unit/runs/test_take_and_claim.py::"
MARKS = "tests/unit/runs/test_marks.py::"
CARRYING = "tests/unit/runs/carrying/"
IN_DOUBT = f"{CARRYING}test_in_doubt_calls.py::"
BROKEN = f"{CARRYING}test_broken_checkpoints.py::"
RESENDS = f"{CARRYING}test_resends.py::"
EDITED = f"{CARRYING}test_edited_marks.py::"
LASTING = f"{CARRYING}test_lasting_threads.py::"
GUARDED = f"{CARRYING}test_guarded_"
STRAGGLER = f"{FENCES}test_an_attempt_writes_nothing_after_its_own_holder_took_the_run_again"
CLAIMED = f"{FENCES}test_a_claimed_attempt_writes_nothing"


def _fence(writer: str, before: str) -> tuple[Guard, Guard]:
    """The two halves of one writer's fence: the attempt's number, and that the run still runs."""
    where = "WHERE id = p_run AND attempt = p_attempt AND status = 'running' AND sequence = p_sequence - 1"
    without_attempt = where.replace("attempt = p_attempt AND ", "")
    without_status = where.replace("status = 'running' AND ", "")
    return (
        Guard(
            name=f"fence of {writer}: attempt",
            file=STEP,
            search=f"{before}\n        {where}",
            replace=f"{before}\n        {without_attempt}",
            tests=(STRAGGLER,),
        ),
        Guard(
            name=f"fence of {writer}: running",
            file=STEP,
            search=f"{before}\n        {where}",
            replace=f"{before}\n        {without_status}",
            tests=(CLAIMED,),
        ),
    )


CARRIED: tuple[Guard, ...] = (
    *_fence(
        "the step",
        "parts = p_part + 1,\n            timeline = liyagent_timeline()",
    ),
    *_fence("the flush", "SET sequence = p_sequence, seal = p_seal, resumes_recorded = p_resumes"),
    *_fence(
        "the end",
        "output_tokens = p_output_tokens, cost_micros = p_cost, holder = NULL, ended_at = liyagent_now(),\n            parts = CASE WHEN recording = 'full' AND p_error <> 'guardrail.input' THEN parts ELSE 0 END",
    ),
    Guard(
        name="fence of the mark: attempt",
        file=STEP,
        search="WHERE id = p_run AND attempt = p_attempt AND status = 'running'\n            AND sequence IN",
        replace="WHERE id = p_run AND status = 'running'\n            AND sequence IN",
        tests=(STRAGGLER,),
    ),
    Guard(
        name="take raises the attempt",
        file=TAKE,
        search="attempt = r.attempt + 1,\n            taken_at = liyagent_now(), not_before = NULL\n        FROM due",
        replace="attempt = greatest(r.attempt, 1),\n            taken_at = liyagent_now(), not_before = NULL\n        FROM due",
        tests=(
            f"{TAKES}test_a_take_sets_holder_and_time_and_raises_the_attempt",
            f"{FENCES}test_a_drained_straggler_matches_nothing_once_the_run_is_taken",
        ),
    ),
    Guard(
        name="a claim compares and sets",
        file=CLAIM,
        search="WHERE r.id = lost.id AND r.attempt = lost.attempt AND r.status = 'running'",
        replace="WHERE r.id = lost.id",
        tests=(
            f"{TAKES}test_of_two_claims_of_one_loss_one_wins",
            f"{TAKES}test_a_claim_that_waited_for_another_claim_and_a_take_takes_nothing_from_the_new_attempt",
        ),
    ),
    Guard(
        name="mark before send",
        file="liyagent/gateway/call.py",
        search="""        may_send = scope.mark_sending(verdict, payload)
        if isinstance(may_send, Outcome):
            return may_send
        try:
            outcome = send(payload, may_send)
        except NotSent:
            continue
""",
        replace="""        try:
            outcome = send(payload, _always)
        except NotSent:
            continue
        may_send = scope.mark_sending(verdict, payload)
        if isinstance(may_send, Outcome):
            return may_send
""",
        tests=(f"{IN_DOUBT}test_a_blind_write_in_doubt_is_told_as_unknown_and_not_sent_again",),
    ),
    Guard(
        name="the mark's deadline is asked before the bytes leave",
        file=SCOPE,
        search="return lambda: boottime() < deadline and not checkpoint.give_up()",
        replace="return lambda: not checkpoint.give_up()",
        tests=(f"{GUARDED}sends.py::test_nothing_is_sent_once_the_mark_s_deadline_has_passed",),
    ),
    Guard(
        name="a lost attempt sends nothing",
        file=SCOPE,
        search="return lambda: boottime() < deadline and not checkpoint.give_up()",
        replace="return lambda: boottime() < deadline",
        tests=(f"{GUARDED}sends.py::test_nothing_is_sent_once_the_attempt_is_known_to_be_lost",),
    ),
    Guard(
        name="the mark's deadline is its own",
        file=STEP,
        search="""            extract(epoch FROM c.deadline - liyagent_now())::double precision, NULL::bigint
        FROM runs_call c WHERE""",
        replace="""            extract(epoch FROM (SELECT h.renew_by FROM leases_holder h WHERE h.id = c.holder) - liyagent_now())::double precision, NULL::bigint
        FROM runs_call c WHERE""",
        tests=(f"{MARKS}test_a_mark_asked_again_after_a_renewal_answers_with_its_stored_deadline",),
    ),
    Guard(
        name="a claim sets settle_after",
        file=CLAIM,
        search="""            settle_after = GREATEST(r.settle_after, (
                SELECT max(c.deadline) FROM runs_call c
                WHERE c.run_id = r.id AND c.fate = '' AND c.holder IS DISTINCT FROM p_proven))
""",
        replace="            settle_after = r.settle_after\n",
        tests=(
            f"{TAKES}test_a_claim_waits_for_the_open_mark_s_own_deadline",
            f"{TAKES}test_a_claim_that_waits_for_a_mark_under_way_sees_its_deadline",
        ),
    ),
    Guard(
        name="a read-back waits for settle_after",
        file=ATTEMPT,
        search="            self._wait_until_settled()\n",
        replace="            pass\n",
        tests=(f"{IN_DOUBT}test_a_read_back_waits_without_a_thread_until_no_straggler_can_send",),
    ),
    Guard(
        name="absent proves nothing: it is not sent again",
        file=SCOPE,
        search="        return replace(read_back(payload, verdict.call.contract), key=payload.key)\n",
        replace="""        outcome = read_back(payload, verdict.call.contract)
        if outcome.fate is Fate.UNKNOWN and settlement is Settlement.READ_BACK:
            outcome = self._send_again(verdict, payload)
        return replace(outcome, key=payload.key)
""",
        tests=(
            f"{IN_DOUBT}test_a_readable_write_that_is_not_found_is_unknown_and_never_asked_again",
        ),
    ),
    Guard(
        name="a key counts inside half its window alone",
        file=SCOPE,
        search="= asked_at + mark.key_window_seconds / 2 - age\n",
        replace="= asked_at + mark.key_window_seconds - age\n",
        tests=(f"{IN_DOUBT}test_a_short_vendor_window_is_settled_and_not_sent_again",),
    ),
    Guard(
        name="a key counts inside half its window in a living run too",
        file=SCOPE,
        search="        return boottime() < self.resend_until.get(call.index, 0.0)\n",
        replace="        return True\n",
        tests=(
            f"{RESENDS}test_a_living_run_sends_a_keyed_write_again_only_inside_half_the_vendors_window",
        ),
    ),
    Guard(
        name="a re-send that could not leave proves nothing",
        file=SCOPE,
        search="if outcome.fate is Fate.DONE or (outcome.by_tool and not _is_conflict(outcome)):",
        replace="if outcome.fate is not Fate.UNKNOWN and not _is_conflict(outcome):",
        tests=(f"{RESENDS}test_a_resend_that_cannot_leave_says_nothing_of_the_first_sending",),
    ),
    Guard(
        name="the settled calls are under the seal",
        file="runs/checkpoint.py",
        search="    _check_settled(run, calls, settled)\n",
        replace="",
        tests=(
            f"{EDITED}test_a_settled_write_whose_row_is_not_the_one_written_is_never_made_again",
        ),
    ),
    Guard(
        name="a head is that of the run that was started",
        file="runs/checkpoint.py",
        search="    _check_start(run, parts[0])\n",
        replace="",
        tests=(f"{EDITED}test_a_head_of_another_agent_starter_or_chain_fails_the_run",),
    ),
    Guard(
        name="what a mark's statement tells is heeded before the bytes",
        file=SCOPE,
        search="if marked.config != self.judged_at and",
        replace="if False and",
        tests=(
            f"{GUARDED}sends.py::test_what_forbids_a_write_between_its_verdict_and_its_mark_keeps_it_from_leaving",
        ),
    ),
    Guard(
        name="a resume is judged again by what came after its verdicts",
        file=SCOPE,
        search="        checkpoint.written(marked)\n        if handed is not None:",
        replace="        self.judged_at = checkpoint.config\n        checkpoint.written(marked)\n        if handed is not None:",
        tests=(
            f"{CARRYING}test_gates_again.py::test_a_change_after_a_resume_has_judged_forbids_its_sending_again",
        ),
    ),
    Guard(
        name="nobody is claimed from while nobody has renewed",
        file="runs/sweep.py",
        search="if connection.execute(SOMEBODY_RENEWED).fetchone() is None:",
        replace="if False:",
        tests=("tests/unit/runs/test_jobs.py::test_a_database_that_stood_still_is_nobody_s_loss",),
    ),
    Guard(
        name="a take whose answer was lost is carried",
        file="runs/runner.py",
        search="        if asked_again:\n",
        replace="        if False:\n",
        tests=(f"{LASTING}test_a_take_whose_answer_is_lost_is_carried_and_no_loss",),
    ),
    Guard(
        name="a mark's columns are those that were sealed",
        file="runs/marks.py",
        search="    if (*sealed, mark.key_window_seconds, mark.intent, mark.approval) != _columns(row):",
        replace="    if False:",
        tests=(f"{EDITED}test_a_mark_with_another_column_fails_the_run_and_nothing_is_sent",),
    ),
    Guard(
        name="no identity, no re-send",
        file="runs/in_doubt.py",
        search="    if gates_allow and has_identity and is_within_vendor_window:",
        replace="    if gates_allow and is_within_vendor_window:",
        tests=(
            f"{IN_DOUBT}test_a_positional_id_is_no_identity_so_a_keyed_write_is_not_sent_again",
        ),
    ),
    Guard(
        name="a position is no identity",
        file="runs/keys.py",
        search="    return POSITIONAL.fullmatch(bare) is None\n",
        replace="    return True\n",
        tests=(
            f"{IN_DOUBT}test_a_positional_id_is_no_identity_so_a_keyed_write_is_not_sent_again",
        ),
    ),
    Guard(
        name="a step key follows from the step",
        file="runs/keys.py",
        search='    return digest(["run-call", str(correlation_id), loop, steps_taken, provider_call_id])\n',
        replace="    return secrets.token_hex(32)\n",
        tests=(f"{GUARDED}keys.py::test_a_step_key_is_the_same_after_a_resume",),
    ),
    Guard(
        name="today's gates forbid a re-send",
        file="runs/in_doubt.py",
        search="    if gates_allow and has_identity and is_within_vendor_window:",
        replace="    if has_identity and is_within_vendor_window:",
        tests=(
            f"{IN_DOUBT}test_a_marked_call_that_the_gates_now_refuse_is_neither_sent_nor_routed",
        ),
    ),
    Guard(
        name="what was marked stays a write",
        file=ATTEMPT,
        search="                was_write=(pending.step, index) in marks,\n",
        replace="                was_write=False,\n",
        tests=(f"{GUARDED}writes.py::test_a_marked_call_is_judged_as_a_write_by_the_gates",),
    ),
    Guard(
        name="the head's claims are checked",
        file="runs/checkpoint.py",
        search="    _check_claims(run, claims, parts=len(parts), last_tag=last_tag)\n",
        replace="",
        tests=(f"{BROKEN}test_a_checkpoint_that_does_not_verify_fails_the_run",),
    ),
    Guard(
        name="the marks are under the seal",
        file="runs/checkpoint.py",
        search="    _check_marks(run, calls, open_marks)\n",
        replace="",
        tests=(f"{BROKEN}test_a_checkpoint_that_does_not_verify_fails_the_run",),
    ),
    Guard(
        name="a part is sealed as the part it is",
        file="liyagent/core/seal.py",
        search='        return b"\\x1f".join((self.context, kind.encode(), str(number).encode(), previous))\n',
        replace='        return b"\\x1f".join((self.context, previous))\n',
        tests=(f"{GUARDED}parts.py::test_a_piece_opens_as_itself_alone",),
    ),
    Guard(
        name="parts are chained",
        file="liyagent/core/seal.py",
        search='        return b"\\x1f".join((self.context, kind.encode(), str(number).encode(), previous))\n',
        replace='        return b"\\x1f".join((self.context, kind.encode(), str(number).encode()))\n',
        tests=(f"{GUARDED}parts.py::test_a_part_of_another_past_does_not_fit",),
    ),
    Guard(
        name="the same intent after an unknown outcome",
        file=STEP,
        search="        END IF;\n        IF FOUND THEN\n            RETURN QUERY SELECT v.stop_requested, liyagent_config_version(), 0::double",
        replace="        END IF;\n        IF false THEN\n            RETURN QUERY SELECT v.stop_requested, liyagent_config_version(), 0::double",
        tests=(f"{MARKS}test_the_same_intent_after_an_unknown_outcome_is_named_and_not_marked",),
    ),
    Guard(
        name="rows without a thread are given back",
        file="runs/renewal.py",
        search="        if gone:\n",
        replace="        if False:\n",
        tests=(
            f"{CARRYING}test_runner.py::test_a_running_row_without_a_thread_is_given_back_at_the_second_renewal",
        ),
    ),
    Guard(
        name="a row that was just taken keeps its thread",
        file="runs/renewal.py",
        search="if times >= 2]",
        replace="if times >= 1]",
        tests=(
            f"{CARRYING}test_runner.py::test_a_row_that_has_its_thread_by_the_second_renewal_is_kept",
        ),
    ),
    Guard(
        name="a repeated step answers as the first time",
        file=STEP,
        search="""            p_run, v.correlation_id, v.mission, v.recording, v.events_missing, p_kinds, p_contents);
        RETURN QUERY SELECT v.stop_requested, liyagent_config_version();
    ELSE
        RETURN QUERY SELECT stop_requested, liyagent_config_version() FROM runs_run
            WHERE id = p_run AND attempt = p_attempt AND status = 'running' AND sequence = p_sequence;
    END IF;
END $$;

-- A call in doubt""",
        replace="""            p_run, v.correlation_id, v.mission, v.recording, v.events_missing, p_kinds, p_contents);
        RETURN QUERY SELECT v.stop_requested, liyagent_config_version();
    END IF;
END $$;

-- A call in doubt""",
        tests=(
            f"{FENCES}test_a_write_whose_answer_was_lost_answers_again_and_writes_nothing_twice",
        ),
    ),
    Guard(
        name="a repeated end answers as the first time",
        file=STEP,
        search="WHERE id = p_run AND attempt = p_attempt AND status = p_status AND sequence = p_sequence;",
        replace="WHERE false;",
        tests=(
            f"{FENCES}test_a_write_whose_answer_was_lost_answers_again_and_writes_nothing_twice",
        ),
    ),
    Guard(
        name="the leader sweeps at each tick",
        file="runs/watch.py",
        search="        self.sweep()\n",
        replace="",
        tests=(
            f"{CARRYING}test_watch.py::test_the_leader_claims_what_lapsed_at_each_tick_and_another_leads_once_it_is_silent",
        ),
    ),
    Guard(
        name="a starter needs the permission still",
        file="runs/authority.py",
        search='user is not None and user.has_perm("agents.operate")',
        replace="user is not None",
        tests=(
            f"{CARRYING}test_gates_again.py::test_a_run_is_resumed_only_for_who_may_still_run_agents",
        ),
    ),
    Guard(
        name="a resume is judged by today's configuration",
        file="runs/checkpoint.py",
        search="        config=stored.config,\n        now=stored.now,\n",
        # As the attempt before was told: versions follow the clock, so a plain number would be read anew.
        replace="""        config=__import__("runs.authority", fromlist=[""]).newest_config() or stored.config,
        now=stored.now,
""",
        tests=(
            f"{CARRYING}test_gates_again.py::test_a_read_of_a_run_that_was_handed_over_is_judged_as_it_stands_now",
        ),
    ),
    Guard(
        name="an id that a step repeats is no identity",
        file="runs/keys.py",
        search="    if step_ids.count(provider_call_id) > 1:\n        return False\n",
        replace="",
        tests=(f"{IN_DOUBT}test_an_id_that_two_calls_of_a_step_share_names_neither",),
    ),
    Guard(
        name="the step is written before its calls are made",
        file=ATTEMPT,
        search="""        pending = self._write_step(answer)
        self._make_calls(pending)
""",
        replace="""        early = Pending(step=self.checkpoint.counters.steps, calls=answer.calls, was_cut=False)
        self._make_calls(early)
        self._write_step(answer)
""",
        tests=(
            f"{CARRYING}test_write_ahead.py::test_when_a_call_reaches_its_vendor_all_that_a_resume_needs_is_stored",
        ),
    ),
)
