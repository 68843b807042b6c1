"""Guards of the look ahead: a verdict given early falls with what it was given under."""

from __future__ import annotations

from tests.guards.guard import Guard

CARRYING = "tests/unit/runs/carrying/"
AHEAD = (
    Guard(
        name="a verdict given ahead falls with the policies and the call it was given on",
        file="runs/ahead.py",
        search="        if policy is not self.policy or call not in self.calls[call.index : call.index + 1]:\n",
        replace="        if call.index >= len(self.calls):\n",
        tests=(
            f"{CARRYING}test_ahead.py::test_a_verdict_holds_for_exactly_the_call_and_the_policies_that_were_judged",
        ),
    ),
    Guard(
        name="calls seen ahead are seen again where the configuration changed",
        file="runs/attempt.py",
        search="is_as_seen = self.ahead.config == self.checkpoint.config",
        replace="is_as_seen = True",
        tests=(
            f"{CARRYING}test_ahead.py::test_what_cannot_be_judged_ahead_is_judged_once_the_step_is_written",
        ),
    ),
)
