"""The guards of what waits for a person: one decision, of what was shown, by who may; made once and only as it was approved."""

from __future__ import annotations

from tests.guards.guard import Guard

DISPATCH, APPROVE, DECIDE = (
    "runs/dispatch.py",
    "runs/sql/approve.sql",
    "liyagent/approvals/decide.py",
)
HERE = "tests/unit/approvals/"
CHECKED = f"{HERE}test_dispatch.py::"
RESENDS = f"{HERE}test_resends.py::"
RESERVED = f"{HERE}test_reserve.py::"
WAKES = f"{HERE}test_wakes.py::"
DECIDED = f"{HERE}test_decide.py::"
OF_ITS_OWN = f"{HERE}test_approved_runs.py::"
EDITED = f"{HERE}test_edited_requests.py::"
OVER = f"{HERE}test_failed_over.py::"
LEFT_OUT = "tests/unit/runs/delegating/test_waits_left_out.py::"
SLEEPERS = "tests/unit/runs/test_sleepers.py::"
TOLD = "tests/flows/test_approvals_console_told.py::"
STALE = f"{CHECKED}test_what_is_no_longer_as_it_was_approved_is_not_sent_and_is_asked_anew_once"
UNRESERVED = f"{RESERVED}test_what_changed_just_before_leaves_it_unreserved"
LOST = f"{RESERVED}test_an_attempt_that_lost_the_run_reserves_and_spoils_nothing"

APPROVALS: tuple[Guard, ...] = (
    Guard(
        name="approval: the digest of what was shown",
        file=DISPATCH,
        search="    if not changed and approval.digest != approval_digest(verdict, payload):",
        replace="    if False:",
        tests=(f"{CHECKED}test_a_request_whose_digest_was_edited_is_not_what_was_decided",),
    ),
    Guard(
        name="approval: the arguments that were filed",
        file=DISPATCH,
        search='            ("the arguments", mark.payload.args, payload.args),\n',
        replace="",
        tests=(STALE,),
    ),
    Guard(
        name="approval: the place of its request",
        file=DISPATCH,
        search="(rows[0].run_id, rows[0].step, rows[0].index) == (row.run_id, row.step, row.index)",
        replace="True",
        tests=(f"{CHECKED}test_a_request_that_names_another_call_s_place_breaks_the_checkpoint",),
    ),
    Guard(
        name="approval: the call that its own run makes",
        file="runs/approved_run.py",
        search="    if mark.approval != str(approval.id):",
        replace="    if False:",
        tests=(f"{OF_ITS_OWN}test_a_request_that_was_made_to_name_another_call_is_not_approved",),
    ),
    Guard(
        name="approval: its time",
        file=DISPATCH,
        search="    if approval.expires_at <= now:",
        replace="    if False:",
        tests=(STALE,),
    ),
    Guard(
        name="approval: who decided still may",
        file=DISPATCH,
        search="    return _standing(approval) or _proof(",
        replace="    return _proof(",
        tests=(STALE,),
    ),
    Guard(
        name="approval: a decision that was made here",
        file=DISPATCH,
        search="    if approved_on is None:\n",
        replace="    approved_on = approved_on or 0\n    if False:\n",
        tests=(
            f"{EDITED}test_a_decision_that_nobody_made_so_lets_nothing_leave",
            f"{EDITED}test_the_proof_of_one_decision_is_not_that_of_another_request",
        ),
    ),
    Guard(
        name="approval: what may have left before a failover",
        file=DISPATCH,
        search="    if age < contract.key_window_seconds / 2:\n",
        replace="    if True:\n",
        tests=(
            f"{OVER}test_what_may_have_left_before_the_failover_is_asked_anew_with_that_in_sight",
        ),
    ),
    Guard(
        name="approval: a failover that its vendor's key outlives",
        file=DISPATCH,
        search="    if age < contract.key_window_seconds / 2:\n",
        replace="    if False:\n",
        tests=(f"{OVER}test_a_vendor_that_dedupes_is_sent_the_same_bytes_with_the_same_key",),
    ),
    Guard(
        name="approval: a mark that was held under the head's seal",
        file="runs/checkpoint.py",
        search="    _check_held(claims, held)\n",
        replace="",
        tests=(f"{EDITED}test_a_mark_that_was_put_back_to_held_is_not_sent_again",),
    ),
    Guard(
        name="approval: its own run is that of who asked",
        file="runs/approved_run.py",
        search="    if _whose(approval, approval.requested_by) != _whose(asked_by, asked_in.started_by):",
        replace="    if False:",
        tests=(f"{EDITED}test_what_is_approved_later_is_made_for_who_asked_and_in_their_chain",),
    ),
    Guard(
        name="cap of seconds: a wait that its run's end ended",
        file="runs/waited.py",
        search="coalesce(a.decided_at, r.ended_at, liyagent_now())",
        replace="coalesce(a.decided_at, liyagent_now())",
        tests=(f"{LEFT_OUT}test_a_wait_that_the_end_of_its_child_ended_counts_no_longer",),
    ),
    Guard(
        name="cap of seconds: the waits of approved calls",
        file="runs/waited.py",
        search="OR NOT %s AND r.loop NOT LIKE 'approved:%%'",
        replace="OR NOT %s",
        tests=(f"{LEFT_OUT}test_what_an_approved_run_waits_for_is_no_wait_of_who_went_on",),
    ),
    Guard(
        name="stop: rows that are their own ancestors",
        file="runs/stop.py",
        search="    UNION\n",
        replace="    UNION ALL\n",
        tests=(
            "tests/unit/runs/delegating/test_edited_families.py::"
            "test_a_stop_of_a_family_that_was_made_its_own_ancestor_ends",
        ),
    ),
    Guard(
        name="wake: who sleeps on what has come",
        file="runs/sleepers.py",
        search="for _, run, has_come in rows if has_come and",
        replace="for _, run, has_come in rows if not has_come and",
        tests=(
            f"{SLEEPERS}test_a_run_whose_request_waits_no_more_is_woken",
            f"{SLEEPERS}test_a_parent_whose_child_ended_as_another_s_is_woken_and_hears_it",
        ),
    ),
    Guard(
        name="approval: policies, principal and ceiling",
        file=DISPATCH,
        search="    changed += authority_changed(approval, verdict, policy)\n",
        replace="",
        tests=(STALE,),
    ),
    Guard(
        name="approval: a re-send on what it was approved on",
        file=DISPATCH,
        search="        return not authority_changed(self.approval, verdict, policy) and not _standing(\n",
        replace="        return True or not _standing(\n",
        tests=(
            f"{RESENDS}test_what_it_was_approved_on_has_changed_so_it_is_not_sent_again",
            f"{RESENDS}test_a_change_after_the_resume_has_judged_is_heeded_at_the_mark",
        ),
    ),
    Guard(
        name="approval: hooks are asked again",
        file=DISPATCH,
        search="        call = replace(call, problem=ask_first(call))\n",
        replace="        pass\n",
        tests=(
            f"{OF_ITS_OWN}test_hooks_are_asked_again_before_an_approved_call_and_hear_what_came_of_it",
        ),
    ),
    Guard(
        name="approval: its own run asks whether it may go on",
        file="runs/loop.py",
        search="    is_resume = (run.attempt > 1 or is_approved_run(run)) and",
        replace="    is_resume = run.attempt > 1 and",
        tests=(
            f"{OF_ITS_OWN}test_whose_authority_is_gone_makes_no_call_and_leaves_no_open_approval",
        ),
    ),
    Guard(
        name="wake: before the decision",
        file=APPROVE,
        search="    PERFORM liyagent_wake(v_run);\n    SELECT r.* INTO v_head",
        replace="    PERFORM 1 FROM approvals_approval a WHERE a.id = p_approval FOR UPDATE;\n"
        "    PERFORM liyagent_wake(v_run);\n    SELECT r.* INTO v_head",
        tests=(f"{WAKES}test_a_decision_that_waits_for_the_head_holds_nothing_of_the_request",),
    ),
    Guard(
        name="wake: at every decision",
        file=APPROVE,
        search="    PERFORM liyagent_wake(v_run);\n    SELECT r.* INTO v_head",
        replace="    SELECT r.* INTO v_head",
        tests=(
            f"{WAKES}test_a_decision_that_waited_for_a_run_going_to_sleep_wakes_it",
            f"{WAKES}test_a_decision_on_the_run_s_way_to_sleep_ends_the_run",
        ),
    ),
    Guard(
        name="wake: a CASE on the head",
        file=APPROVE,
        search="CASE WHEN r.wakes <> p_wakes OR r.stop_requested THEN",
        replace="CASE WHEN r.stop_requested THEN",
        tests=(
            f"{WAKES}test_a_wait_that_waited_for_a_decision_under_way_does_not_sleep",
            f"{WAKES}test_a_decision_on_the_run_s_way_to_sleep_ends_the_run",
        ),
    ),
    Guard(
        name="wake: a stop keeps it awake",
        file=APPROVE,
        search="CASE WHEN r.wakes <> p_wakes OR r.stop_requested THEN",
        replace="CASE WHEN r.wakes <> p_wakes THEN",
        tests=(f"{WAKES}test_a_stop_of_a_run_that_waits_ends_it_and_withdraws_its_request",),
    ),
    Guard(
        name="reserve: what is approved",
        file=APPROVE,
        search="WHERE a.id = p_approval AND a.status = 'approved' AND a.expires_at > v_now;\n        END IF;",
        replace="WHERE a.id = p_approval AND a.expires_at > v_now;\n        END IF;",
        tests=(f"{RESERVED}test_what_is_not_approved_is_not_reserved",),
    ),
    Guard(
        name="reserve: in its time",
        file=APPROVE,
        search="AND a.status = 'approved' AND a.expires_at > v_now;\n        END IF;",
        replace="AND a.status = 'approved';\n        END IF;",
        tests=(UNRESERVED,),
    ),
    Guard(
        name="reserve: by the configuration it was judged by",
        file=APPROVE,
        search="        IF NOT v.stop_requested AND v_config = p_config THEN\n",
        replace="        v_config := p_config;\n        IF NOT v.stop_requested THEN\n",
        tests=(UNRESERVED,),
    ),
    Guard(
        name="reserve: its fence",
        file=APPROVE,
        search="        WHERE r.id = p_run AND r.attempt = p_attempt AND r.status = 'running'\n"
        "            AND r.sequence IN",
        replace="        WHERE r.id = p_run AND r.status = 'running'\n            AND r.sequence IN",
        tests=(LOST,),
    ),
    Guard(
        name="spoil: its fence",
        file=APPROVE,
        search="        WHERE r.id = p_run AND r.attempt = p_attempt AND r.status = 'running' FOR NO KEY UPDATE;\n"
        "    IF NOT FOUND THEN RETURN; END IF;\n    UPDATE approvals_approval",
        replace="        WHERE r.id = p_run FOR NO KEY UPDATE;\n"
        "    IF NOT FOUND THEN RETURN; END IF;\n    UPDATE approvals_approval",
        tests=(LOST,),
    ),
    Guard(
        name="decide: what is open",
        file=APPROVE,
        search=" AND (a.status = 'pending' OR p_also_approved AND a.status = 'approved')\n",
        replace="\n",
        tests=(
            f"{HERE}test_races.py::test_of_two_who_approve_at_the_same_moment_one_decides",
            f"{HERE}test_races.py::test_of_an_approval_and_the_end_of_its_run_one_settles_the_request",
        ),
    ),
    Guard(
        name="decide: not one's own request",
        file=DECIDE,
        search="        _refuse_own(approval, status, actor)\n",
        replace="",
        tests=(
            f"{DECIDED}test_nobody_approves_what_they_asked_for_but_may_reject_it",
            f"{DECIDED}test_nobody_approves_what_runs_as_them",
        ),
    ),
    Guard(
        name="expiry: one held head holds up no other",
        file=DECIDE,
        search="                cursor.execute(\"SET LOCAL lock_timeout = '100ms'\")\n",
        replace="                cursor.execute(\"SET LOCAL statement_timeout = '5s'\")\n",
        tests=(
            f"{HERE}test_expiry.py::test_a_run_that_somebody_holds_up_does_not_hold_up_the_others",
        ),
    ),
    Guard(
        name="end: what it waits for is withdrawn",
        file="runs/sql/step.sql",
        search="        v_withdrawn := liyagent_withdraw(p_run, v.own_loop, v.correlation_id, v.mission, v.request_id);\n",
        replace="",
        tests=(
            f"{WAKES}test_a_stop_of_a_run_that_waits_ends_it_and_withdraws_its_request",
            f"{OF_ITS_OWN}test_an_approved_run_that_is_stopped_makes_no_call",
        ),
    ),
    Guard(
        name="inbox: that an approval would only ask anew",
        file="liyagent/approvals/authority.py",
        search="    return is_call and approval.status in NOT_MADE and approval.policy_fingerprint != now\n",
        replace="    return False\n",
        tests=(
            "tests/flows/test_approvals_api.py::test_that_an_approval_would_ask_anew_is_told_before_it_is_given",
            f"{TOLD}test_that_an_approval_would_only_ask_anew_is_told_where_it_does_and_nowhere_else",
        ),
    ),
    Guard(
        name="inbox: a request's own call is no other",
        file="liyagent/console/request_page.py",
        search="    rows = rows.exclude(approval_id=approval.id)\n",
        replace="",
        tests=(f"{TOLD}test_the_call_itself_is_no_other_write_of_unknown_outcome",),
    ),
    Guard(
        name="inbox: who may withdraw",
        file="liyagent/approvals/deciding.py",
        search="        may = may_decide(request)\n",
        replace="        may = True\n",
        tests=(
            f"{TOLD}test_who_asked_withdraws_without_the_right_to_decide_and_another_viewer_does_not",
        ),
    ),
    Guard(
        name="inbox: the menu counts afresh",
        file="liyagent/console/sidebar.py",
        search="    counts = badges(afresh=any(",
        replace="    counts = badges(afresh=False and any(",
        tests=(f"{TOLD}test_the_number_beside_the_menu_is_that_of_the_page",),
    ),
)
