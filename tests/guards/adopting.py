"""The guards of what people do with routines, and of the agent that goes on where a step of one fails."""

from __future__ import annotations

from tests.guards.guard import Guard

TESTS = "tests/unit/routines/"
OF_ADOPT, OF_DISMISS, OF_STANDING, OF_PARAMETER = (
    f"{TESTS}test_{it}.py::" for it in ("adopt", "dismiss", "standing", "make_parameter")
)
OF_BROKEN = f"{TESTS}test_changed_worlds.py::"
OF_OWN = "tests/unit/workflows/test_own_agent.py::"

ADOPTING_GUARDS: tuple[Guard, ...] = (
    Guard(
        name="a routine that moved on is not saved on an older request",
        file="routines/decide.py",
        search='    if not now == routine.digest == asked["digest"] == digest(asked["definition"]):\n',
        replace="    if False:\n",
        tests=(
            f"{OF_ADOPT}test_a_definition_that_changed_in_between_is_refused_and_the_request_stays",
        ),
    ),
    Guard(
        name="a routine is hashed again as it is stored",
        file="routines/decide.py",
        search="    now = digest(routine.definition)\n",
        replace="    now = routine.digest\n",
        tests=(f"{OF_ADOPT}test_of_a_row_edited_after_it_was_asked_nothing_is_saved",),
    ),
    Guard(
        name="a routine whose tools changed is not saved",
        file="routines/decide.py",
        search='    refuse_stale(routine, asked["tools_seen"])\n',
        replace="",
        tests=(f"{OF_ADOPT}test_a_routine_whose_tools_changed_is_neither_asked_about_nor_saved",),
    ),
    Guard(
        name="a routine is saved with the tools that were shown, whatever was mined since",
        file="routines/decide.py",
        search='    refuse_stale(routine, asked["tools_seen"])\n',
        replace="    refuse_stale(routine, routine.tools_seen)\n",
        tests=(
            f"{OF_BROKEN}test_looked_through_again_without_a_newer_run_a_stale_one_stays_stale",
        ),
    ),
    Guard(
        name="a routine stays stale until a newer run met its tools",
        file="routines/offer.py",
        search='    if known is None or max(compiled.runs, default="") > max(known.runs, default=""):\n',
        replace="    if True:\n",
        tests=(f"{OF_BROKEN}test_looked_through_again_a_stale_one_is_not_asked_about",),
    ),
    Guard(
        name="a literal that a data policy covers since is not saved",
        file="routines/decide.py",
        search="    refuse_covered(routine)\n",
        replace="",
        tests=(
            f"{OF_BROKEN}test_a_literal_that_a_data_policy_covers_since_is_neither_asked_about_nor_saved",
        ),
    ),
    Guard(
        name="a literal that a data policy covers since is not asked about",
        file="routines/adopt.py",
        search="    refuse_covered(routine)\n",
        replace="",
        tests=(
            f"{OF_BROKEN}test_a_literal_that_a_data_policy_covers_since_is_neither_asked_about_nor_saved",
        ),
    ),
    Guard(
        name="no request is about a routine that is not offered any more",
        file="routines/request.py",
        search="    return bool(routine.digest) and routine.digest in approval.held_reason\n",
        replace="    return routine.digest in approval.held_reason\n",
        tests=(f"{OF_BROKEN}test_a_request_is_not_about_a_routine_that_is_not_offered_any_more",),
    ),
    Guard(
        name="a broken row of a routine is read as nothing",
        file="liyagent/core/shaped.py",
        search="            if name in row.__dict__ and not is_right(row.__dict__[name]):\n",
        replace="            if False:\n",
        tests=(f"{OF_BROKEN}test_a_row_that_somebody_wrote_by_hand_breaks_no_list_and_no_page",),
    ),
    Guard(
        name="a routine whose world is gone is switched off",
        file="liyagent/workflows/save.py",
        search='    if given.get("is_enabled", True) is not False:\n',
        replace="    if True:\n",
        tests=(f"{OF_BROKEN}test_one_whose_world_no_longer_takes_its_definition_is_suspended",),
    ),
    Guard(
        name="no answer passes for a step",
        file="liyagent/workflows/done.py",
        search="    text = LINE_BREAK.join(text.splitlines())\n",
        replace="",
        tests=(
            "tests/unit/workflows/test_done.py::test_no_answer_and_no_argument_passes_for_a_step",
        ),
    ),
    Guard(
        name="a routine is saved on the request that is open for it alone",
        file="routines/decide.py",
        search="    return routine.state == RoutineState.FILED and routine.approval_id == approval.id\n",
        replace="    return routine.state == RoutineState.FILED\n",
        tests=(f"{OF_ADOPT}test_a_request_that_is_not_the_routine_s_saves_nothing",),
    ),
    Guard(
        name="a routine replaces the version of its workflow that was shown",
        file="routines/decide.py",
        search='            expected_version=asked["workflow_version"],\n',
        replace="",
        tests=(
            f"{OF_ADOPT}test_one_that_was_suspended_is_adopted_again_over_the_version_that_was_shown",
            f"{OF_ADOPT}test_somebody_else_s_workflow_of_that_key_is_never_replaced",
        ),
    ),
    Guard(
        name="what is asked about a dismissed routine is withdrawn first",
        file="routines/dismiss.py",
        search="        withdrawn = request is not None and _withdraw(request, actor=actor, reason=reason)\n",
        replace="        withdrawn = False\n",
        tests=(f"{OF_DISMISS}test_what_is_asked_about_it_is_withdrawn_with_it",),
    ),
    Guard(
        name="a few runs suspend no routine",
        file="routines/suspend.py",
        search="LEAST_RUNS = 10\n",
        replace="LEAST_RUNS = 1\n",
        tests=(
            f"{OF_STANDING}test_above_the_rate_over_ten_runs_it_is_switched_off_and_offered_again",
        ),
    ),
    Guard(
        name="a parameter changes nothing else of a routine",
        file="routines/make_parameter.py",
        search="    if _compiled(seen, runs, seen.as_parameters).digest != seen.digest:\n",
        replace="    if False:\n",
        tests=(f"{OF_PARAMETER}test_what_its_runs_do_not_come_to_any_more_is_not_compiled_over",),
    ),
    Guard(
        name="a step of a workflow alone hands work to its own agent",
        file="liyagent/gateway/outcome.py",
        search="        return is_handed and self.asker.asks_itself and self.tool == self.asker.agent\n",
        replace="        return is_handed and self.tool == self.asker.agent\n",
        tests=(
            f"{OF_OWN}test_the_model_of_an_agent_hands_no_work_to_itself",
            f"{OF_OWN}test_who_was_handed_the_work_may_not_come_back",
        ),
    ),
    Guard(
        name="what a run is stands in its sealed first part",
        file="runs/family.py",
        search="    if WORKFLOW not in checkpoint.parts[0]:\n",
        replace="    if not checkpoint.run.workflow:\n",
        tests=(f"{OF_OWN}test_the_head_of_a_run_makes_it_no_workflow_s",),
    ),
    Guard(
        name="judged again, own work is own work still",
        file="runs/scope.py",
        search="        agent = as_carried(self.checkpoint, agent)\n",
        replace="",
        tests=(f"{OF_OWN}test_a_change_of_the_configuration_on_the_way_changes_nothing_of_it",),
    ),
)
