"""The guards of the ways to models."""

from __future__ import annotations

from tests.guards.guard import Guard

STREAMS = "tests/unit/providers/test_openai_stream.py::"
MESSAGES = "tests/unit/providers/test_anthropic.py::"

MODELS: tuple[Guard, ...] = (
    Guard(
        name="model: a call told again in a stream is one call",
        file="liyagent/providers/openai_stream.py",
        search="            if _is_same_call(it, id_, name, piece):\n",
        replace="            if False:\n",
        tests=(f"{STREAMS}test_three_calls_are_three_however_often_they_are_told",),
    ),
    Guard(
        name="model: a stream without a finish is no answer",
        file="liyagent/providers/endpoint.py",
        search="        if not fold.is_finished:\n",
        replace="        if False:\n",
        tests=(f"{STREAMS}test_a_stream_that_is_no_answer_is_an_ordinary_error",),
    ),
    Guard(
        name="model: a stream nobody waits for is broken off",
        file="liyagent/providers/patience.py",
        search="        if self._request.is_unwanted():\n",
        replace="        if False:\n",
        tests=(f"{STREAMS}test_an_unwanted_answer_is_broken_off_at_once",),
    ),
    Guard(
        name="model: nothing of the environment is sent (openai)",
        file="liyagent/providers/openai.py",
        search="        sdk._custom_headers = {}\n",
        replace="",
        tests=(
            "tests/unit/providers/test_openai.py::"
            "test_the_key_comes_from_the_named_variable_and_nothing_else_is_sent",
        ),
    ),
    Guard(
        name="model: nothing of the environment is sent (anthropic)",
        file="liyagent/providers/anthropic.py",
        search="        sdk._custom_headers = {}\n",
        replace="",
        tests=(f"{MESSAGES}test_the_key_comes_from_the_named_variable_and_nothing_else_is_sent",),
    ),
    Guard(
        name="model: each call has an id of its own on the wire",
        file="liyagent/providers/anthropic_wire.py",
        search=" and call.id not in used\n",
        replace="\n",
        tests=(f"{MESSAGES}test_results_pair_with_their_calls_whatever_the_ids_were",),
    ),
    Guard(
        name="model: a refused crowd comes one by one",
        file="liyagent/providers/pace.py",
        search="                self._gap = min(max(2 * self._gap, FIRST_GAP_SECONDS), LONGEST_GAP_SECONDS)\n",
        replace="",
        tests=(
            "tests/unit/runs/test_ask.py::test_a_crowd_of_resumes_is_spread_after_the_first_refusal",
        ),
    ),
    Guard(
        name="model: patience is bounded",
        file="runs/ask.py",
        search="        if time.monotonic() + wait > self._began + PATIENCE_SECONDS:\n",
        replace="        if False:\n",
        tests=("tests/unit/runs/test_ask.py::test_patience_counts_from_the_first_try",),
    ),
    Guard(
        name="model: an endpoint's wish is bounded",
        file="liyagent/providers/endpoint_errors.py",
        search="return min(max(seconds, 0.0), MOST_WAIT_SECONDS)",
        replace="return max(seconds, 0.0)",
        tests=("tests/unit/providers/test_openai.py::test_the_endpoints_own_wish_is_handed_on",),
    ),
    Guard(
        name="model: a wish holds the others back for a minute at most",
        file="runs/ask.py",
        search="min(error.retry_after_seconds or 0.0, LONGEST_HOLD_SECONDS)",
        replace="(error.retry_after_seconds or 0.0)",
        tests=(
            "tests/unit/runs/test_ask.py::test_a_wish_of_an_hour_holds_the_other_runs_back_for_a_minute_at_most",
        ),
    ),
    Guard(
        name="model: a stream is bounded",
        file="liyagent/providers/endpoint.py",
        search="_bounded(response.iter_bytes(), MOST_STREAM_BYTES, patience)",
        replace="_bounded(response.iter_bytes(), 1 << 60, patience)",
        tests=(f"{STREAMS}test_a_stream_larger_than_can_be_kept_is_unavailable",),
    ),
    Guard(
        name="model: a block told again in a stream is one call (anthropic)",
        file="liyagent/providers/anthropic_stream.py",
        search='self._latest[number] = (number, text_of(block.get("id")))',
        replace='self._latest[number] = (len(self._blocks), text_of(block.get("id")))',
        tests=(f"{MESSAGES}test_three_calls_are_three_however_often_they_are_told",),
    ),
)
