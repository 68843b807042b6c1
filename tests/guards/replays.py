"""The guards of a replay: nothing of it is for real, and a recording that cannot be relied on is none."""

from __future__ import annotations

from tests.guards.guard import Guard

ROOM, TESTS = "liyagent/replays/", "tests/unit/replays/"
REPLAY, SCOPE, RECORDING = (f"{ROOM}{it}.py" for it in ("replay", "scope", "recording"))
OF_REAL, OF_REPLAY, OF_SCOPE, OF_RECORDING = (f"{TESTS}test_{it}.py::" for it in ("nothing_for_real", "replay", "scope", "recording"))  # fmt: skip

REPLAY_GUARDS: tuple[Guard, ...] = (
    Guard(
        name="a replay has no way out but its recording",
        file=REPLAY,
        search=", carrier, way=self.scope.way)",
        replace=", carrier)",
        tests=(f"{OF_REAL}test_a_replay_asks_the_hot_path_for_nothing_and_opens_no_session",),
    ),
    Guard(
        name="a guardrail that acts in a replay writes no audit row",
        file=REPLAY,
        search="    def tell_acted(self, acted",
        replace="    def tell_acted_to_nobody(self, acted",
        tests=(
            f"{OF_REPLAY}test_a_guardrail_that_refuses_ends_the_replay_and_leaves_no_trace",
            f"{OF_REPLAY}test_a_guardrail_that_masks_does_so_in_a_replay_and_leaves_no_trace",
        ),
    ),
    Guard(
        name="a step of a replay is written nowhere",
        file=REPLAY,
        search="    def keep_step(self",
        replace="    def keep_step_nowhere(self",
        tests=(
            f"{OF_REPLAY}test_a_run_is_replayed_under_another_model_with_every_call_answered_from_its_record",
        ),
    ),
    Guard(
        name="remote agents and the agent's own state are refused in a replay",
        file=SCOPE,
        search="        if refusal := _not_here(payload):\n",
        replace="        if refusal := '':\n",
        tests=(
            f"{OF_SCOPE}test_a_remote_agent_is_refused_whatever_was_recorded_of_it",
            f"{OF_SCOPE}test_the_agent_s_own_state_is_not_written_and_looks_at_it_are_answered_from_the_record",
        ),
    ),
    Guard(
        name="our own key is no argument that a call is matched by",
        file=SCOPE,
        search="        args = _without_key(payload)\n        served",
        replace="        args = payload.args\n        served",
        tests=(f"{OF_SCOPE}test_our_own_key_is_no_argument_that_a_call_is_known_by",),
    ),
    Guard(
        name="no recorded call answers twice",
        file=f"{ROOM}matching.py",
        search="        self._used.add(place)\n",
        replace="",
        tests=(
            f"{TESTS}test_matching.py::test_calls_in_another_order_get_each_its_own_answer_and_a_repeat_gets_none",
        ),
    ),
    Guard(
        name="an agent that may not run today does not run in a replay",
        file=REPLAY,
        search="        if (refusal := refusal_of(self.run, self._agent)) is not None:\n",
        replace="        if (refusal := None) is not None:\n",
        tests=(f"{OF_REPLAY}test_an_agent_that_may_not_run_today_does_not_run_in_a_replay",),
    ),
    Guard(
        name="a digest is not served in the stead of words",
        file=RECORDING,
        search="    if is_digest or name not in content:\n",
        replace="    if name not in content:\n",
        tests=(
            f"{OF_RECORDING}test_where_only_the_digest_of_words_was_kept_the_run_is_skipped_and_nothing_is_served",
        ),
    ),
    Guard(
        name="a record with a gap is not replayed",
        file=RECORDING,
        search="    if verdict.lacks:\n",
        replace="    if False:\n",
        tests=(f"{OF_RECORDING}test_a_run_with_a_gap_is_skipped",),
    ),
    Guard(
        name="a record that was changed is not replayed",
        file=RECORDING,
        search="    if verdict.broken is not None:\n",
        replace="    if False:\n",
        tests=(f"{OF_RECORDING}test_a_record_that_was_changed_is_skipped_with_the_event_and_why",),
    ),
    Guard(
        name="a run is replayed as whoever it was started by",
        file=RECORDING,
        search='    if start.get("run") != started_as(run):\n',
        replace="    if False:\n",
        tests=(f"{OF_RECORDING}test_a_run_whose_first_part_does_not_open_as_its_own_is_skipped",),
    ),
)
