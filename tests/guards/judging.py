"""The guards of judgement: whose rights count, what a data policy hides, and when it is asked again."""

from __future__ import annotations

from tests.guards.guard import Guard

ATTEMPT, SCOPE = "runs/attempt.py", "runs/scope.py"
CARRYING = "tests/unit/runs/carrying/"

JUDGING: tuple[Guard, ...] = (
    Guard(
        name="a principal's rights are judged",
        file="liyagent/gateway/judge.py",
        search="    run_as.judge,\n",
        replace="",
        tests=(
            "tests/unit/gateway/test_run_as.py::test_what_the_policies_refuse_is_refused_by_them_first",
        ),
    ),
    Guard(
        name="data policies are judged",
        file="liyagent/gateway/judge.py",
        search="    data_policy.judge,\n",
        replace="",
        tests=(
            "tests/unit/gateway/test_data_policy.py::test_a_masked_call_goes_on_with_what_is_left",
            "tests/unit/gateway/test_data_policy.py::test_a_denied_call_names_the_policy_and_never_the_words",
        ),
    ),
    Guard(
        name="a refused call is told of masked",
        file="liyagent/gateway/judge.py",
        search="replace(verdict, call=data_policy.hidden(left, policy))",
        replace="verdict",
        tests=(
            "tests/unit/gateway/test_data_policy.py::test_cedar_judges_the_arguments_as_they_were_asked_for",
        ),
    ),
    Guard(
        name="a call is judged again from its arguments as asked",
        file="liyagent/gateway/judge.py",
        search="    left = as_asked(call)\n",
        replace="    left = call\n",
        tests=(
            "tests/unit/gateway/test_data_policy.py::test_a_call_judged_again_is_judged_as_it_was_asked",
        ),
    ),
    Guard(
        name="bytes that a new data policy would mask do not leave",
        file=SCOPE,
        search="verdict.call.args != call.args and not is_resend",
        replace="False",
        tests=(
            f"{CARRYING}test_masked_calls.py::test_bytes_that_a_new_policy_would_mask_do_not_leave_once_they_are_marked",
        ),
    ),
    Guard(
        name="each call of a step is judged by what stands when it is made",
        file=ATTEMPT,
        search="        call = self._as_it_stands(call, agent)\n        if not agent.hooks:\n",
        replace="        if not agent.hooks:\n",
        tests=(
            f"{CARRYING}test_masked_calls.py::test_a_right_taken_from_a_living_run_acts_on_its_next_read",
        ),
    ),
)
