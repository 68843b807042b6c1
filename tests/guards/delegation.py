"""The guards of work that is handed down."""

from __future__ import annotations

from tests.guards.guard import Guard

DELEGATE, STEP = "runs/sql/delegate.sql", "runs/sql/step.sql"
ATTEMPT, FAMILY = "runs/attempt.py", "runs/family.py"
PLACE = "tests/unit/runs/delegating/"
RACES, DEATHS = f"{PLACE}test_races.py::", f"{PLACE}test_deaths.py::"
RIGHTS, CAPS, ENDS = f"{PLACE}test_rights.py::", f"{PLACE}test_caps.py::", f"{PLACE}test_ends.py::"
HELD, STEPS = f"{PLACE}test_held.py::", f"{PLACE}test_steps.py::"
SUB_AGENTS = "tests/unit/gateway/test_sub_agents.py::"
CIRCLE = f"{SUB_AGENTS}test_no_circle_and_three_deep_at_most"

DELEGATION: tuple[Guard, ...] = (
    Guard(
        name="handed down: a parent's head is locked before its child's",
        file=STEP,
        search="    IF FOUND THEN PERFORM 1 FROM runs_run r WHERE r.id = v_parent FOR NO KEY UPDATE; END IF;\n",
        replace="",
        tests=(f"{RACES}test_whoever_ends_a_child_has_its_parent_s_head_before_its_own",),
    ),
    Guard(
        name="handed down: whoever ends a child wakes its parent",
        file=STEP,
        search="        IF v_parent IS NOT NULL THEN PERFORM liyagent_wake(v_parent); END IF;\n",
        replace="",
        tests=(f"{DEATHS}test_a_parent_killed_after_it_handed_the_work_down_loses_nothing",),
    ),
    Guard(
        name="handed down: a parent about to sleep looks whether it was woken",
        file=DELEGATE,
        search="CASE WHEN r.wakes <> p_wakes THEN 'queued' ELSE 'waiting' END",
        replace="'waiting'",
        tests=(f"{RACES}test_a_parent_about_to_sleep_as_its_child_ends_is_awake_after_both",),
    ),
    Guard(
        name="handed down: one child a key",
        file=DELEGATE,
        search="    IF NOT EXISTS (SELECT 1 FROM runs_run c WHERE c.correlation_id = v.correlation_id AND c.loop = p_step_key) THEN\n",
        replace="    IF true THEN\n",
        tests=(f"{RACES}test_the_same_key_finds_the_child_that_is_there",),
    ),
    Guard(
        name="handed down: fenced by the attempt",
        file=DELEGATE,
        search="WHERE r.id = p_run AND r.attempt = p_attempt\n        AND r.status = 'running'",
        replace="WHERE r.id = p_run\n        AND r.status = 'running'",
        tests=(
            f"{RACES}test_an_attempt_that_is_out_hands_nothing_down_and_puts_nobody_to_sleep[hand_down]",
        ),
    ),
    Guard(
        name="handed down: sleeping is fenced by the attempt",
        file=DELEGATE,
        search="WHERE r.id = p_run AND r.attempt = p_attempt AND r.status = 'running' AND r.sequence = p_sequence - 1\n        RETURNING",
        replace="WHERE r.id = p_run AND r.status = 'running' AND r.sequence = p_sequence - 1\n        RETURNING",
        tests=(
            f"{RACES}test_an_attempt_that_is_out_hands_nothing_down_and_puts_nobody_to_sleep[sleep_on]",
        ),
    ),
    Guard(
        name="handed down: not by one that was stopped",
        file=DELEGATE,
        search="    IF v.stop_requested OR v_config <> p_config THEN\n",
        replace="    IF v_config <> p_config THEN\n",
        tests=(f"{ENDS}test_a_parent_that_is_stopped_hands_nothing_down_any_more",),
    ),
    Guard(
        name="handed down: judged by what stands as it is stored",
        file=DELEGATE,
        search="    IF v.stop_requested OR v_config <> p_config THEN\n",
        replace="    IF v.stop_requested THEN\n",
        tests=(
            f"{STEPS}test_a_policy_that_forbids_the_work_while_it_is_on_its_way_leaves_it_undone",
        ),
    ),
    Guard(
        name="handed down: a parent that ends stops what is below",
        file=STEP,
        search="        IF p_status <> 'answered' THEN PERFORM liyagent_stop_children(p_run, v.correlation_id); END IF;\n",
        replace="",
        tests=(
            f"{ENDS}test_a_parent_that_fails_while_its_child_is_at_it_stops_the_child_and_leaves_nothing_unknown",
        ),
    ),
    Guard(
        name="handed down: nothing of a child is unknown",
        file=STEP,
        search="WHEN server IN ('agents', 'workflow') THEN 'failed'\n                    ELSE",
        replace="ELSE",
        tests=(
            f"{ENDS}test_a_parent_that_fails_while_its_child_is_at_it_stops_the_child_and_leaves_nothing_unknown",
        ),
    ),
    Guard(
        name="handed down: a Stop reaches those below",
        file="runs/stop.py",
        search="            for below in _stop_below(run, actor=actor):\n",
        replace="            for below in ():\n",
        tests=(f"{ENDS}test_a_stop_reaches_grandchildren",),
    ),
    Guard(
        name="handed down: a child's id is behind its parent's",
        file="liyagent/core/ids.py",
        search="        milliseconds = max(milliseconds, (above.int >> 80) + 1)\n",
        replace="        pass\n",
        tests=(
            f"{PLACE}test_told.py::test_a_child_s_id_is_behind_its_parent_s_whatever_the_clock_of_its_process",
        ),
    ),
    Guard(
        name="handed down: everybody above has to hold the right",
        file="liyagent/gateway/gates/run_as.py",
        search="(call.asker.rights, *call.asker.rights_above)",
        replace="(call.asker.rights,)",
        tests=(f"{RIGHTS}test_a_call_wants_its_permission_of_everybody_above[root]",),
    ),
    Guard(
        name="handed down: the strictest posture binds",
        file="liyagent/gateway/outcome.py",
        search="            write_posture=min(postures, key=lambda it: STRICTEST.get(it, 0)),\n",
        replace="",
        tests=(f"{SUB_AGENTS}test_the_strictest_posture_of_all_above_binds",),
    ),
    Guard(
        name="handed down: one above that is held back holds back all below",
        file="liyagent/gateway/outcome.py",
        search="self.contained or any(it.is_held_back for it in chain)",
        replace="self.contained",
        tests=(f"{SUB_AGENTS}test_one_above_that_is_held_back_holds_back_all_below",),
    ),
    Guard(
        name="handed down: what befalls one above ends the work",
        file=ATTEMPT,
        search="            refusal = refusal_above(self.chain, config=self.checkpoint.config)\n",
        replace="            pass\n",
        tests=(f"{RIGHTS}test_what_befalls_one_above_ends_the_work_at_its_next_statement",),
    ),
    Guard(
        name="handed down: what a run of its own makes is bound as the run that asked",
        file="runs/approved_run.py",
        search="    if mark.chain:\n",
        replace="    if False:\n",
        tests=(
            f"{ENDS}test_a_child_that_may_not_wait_goes_on_and_what_is_approved_later_is_made_with_the_rights_of_all",
        ),
    ),
    Guard(
        name="handed down: no circle",
        file="liyagent/gateway/gates/delegation.py",
        search="    if call.tool in chain and not call.is_own_work:\n",
        replace="    if False:\n",
        tests=(CIRCLE,),
    ),
    Guard(
        name="handed down: three deep at most",
        file="liyagent/gateway/gates/delegation.py",
        search="    elif len(chain) >= MOST_DEEP:\n",
        replace="    elif False:\n",
        tests=(CIRCLE,),
    ),
    Guard(
        name="handed down: the root's caps are its family's",
        file=ATTEMPT,
        search="            check(root or agent, self.family.with_own(own))\n",
        replace="            check(root or agent, own)\n",
        tests=(
            f"{CAPS}test_a_child_s_steps_count_on_its_root_s_cap_and_the_parent_is_told_and_ends_too",
        ),
    ),
    Guard(
        name="handed down: a root taken over counts what was used below",
        file=FAMILY,
        search="return family_of(checkpoint) if has_asked or chain_of(checkpoint) else None",
        replace="return family_of(checkpoint) if chain_of(checkpoint) else None",
        tests=(
            f"{CAPS}test_a_root_that_is_lost_after_it_heard_its_child_still_counts_what_that_used",
        ),
    ),
    Guard(
        name="handed down: no tool server stands where agents do",
        file="liyagent/gateway/contracts.py",
        search="    tools = tools.exclude(server__key=SERVER)\n",
        replace="",
        tests=(f"{SUB_AGENTS}test_a_server_of_that_name_from_before_is_nobody_s_to_call",),
    ),
    Guard(
        name="handed down: `*` names no agent",
        file="liyagent/gateway/gates/allow_list.py",
        search="    if name.startswith(SUB_AGENTS):\n",
        replace="    if False:\n",
        tests=(f"{SUB_AGENTS}test_agents_are_tools_for_those_whose_patterns_name_them_so",),
    ),
    Guard(
        name="handed down: an approval is consumed by the commit that starts the child",
        file=DELEGATE,
        search="            WHERE a.id = p_approval AND a.status = 'approved' AND a.expires_at > v_now;\n",
        replace="            WHERE false;\n",
        tests=(f"{HELD}test_approved_work_is_handed_down_once_under_its_approval_s_key",),
    ),
    Guard(
        name="handed down: an answer says whose it is",
        file="runs/delegate.py",
        search='    if told.get("run", started_as(child)) != started_as(child):\n',
        replace="    if False:\n",
        tests=(
            f"{PLACE}test_edited_families.py::test_the_answer_of_another_run_is_told_to_nobody_s_parent",
        ),
    ),
)
