"""The guards of how a run starts, of its caps, of what is kept of it, and of its seals."""

from __future__ import annotations

from tests.guards.guard import Guard

STEP, TAKE = "runs/sql/step.sql", "runs/sql/take.sql"
CARRYING = "tests/unit/runs/carrying/"
CAPS = f"{CARRYING}test_caps.py::"
GUARDRAILS = f"{CARRYING}test_guardrails.py::"
RESEAL = f"{CARRYING}test_reseal.py::"
LIVING = """    PERFORM 1 FROM leases_holder WHERE id = p_holder AND NOT is_draining AND renew_by > v_now;
    IF NOT FOUND THEN RETURN; END IF;
"""

KEEPING: tuple[Guard, ...] = (
    Guard(
        name="a start is judged by the configuration that stands",
        file="runs/sql/start.sql",
        search="    IF v_config <> p_config THEN\n",
        replace="    IF false THEN\n",
        tests=(
            "tests/flows/test_start_a_run.py::test_an_unknown_or_contained_agent_starts_nothing",
        ),
    ),
    Guard(
        name="two that start one run at once collide on no index",
        file="runs/sql/start.sql",
        search="        ON CONFLICT DO NOTHING;\n",
        replace="        ON CONFLICT (id) DO NOTHING;\n",
        tests=(
            f"{CARRYING}test_started_at_once.py::test_one_run_started_by_many_at_once_is_one_start_for_each_of_them",
        ),
    ),
    Guard(
        name="taking one run wants a living holder",
        file=TAKE,
        search=f"{LIVING}    RETURN QUERY\n    UPDATE",
        replace="    RETURN QUERY\n    UPDATE",
        tests=(
            "tests/unit/runs/test_carried_alone.py::test_one_run_is_taken_by_a_living_holder_when_it_is_due",
        ),
    ),
    Guard(
        name="a step keeps the timeline that it was written on",
        file=STEP,
        search="parts = p_part + 1,\n            timeline = liyagent_timeline()",
        replace="parts = p_part + 1",
        tests=(
            "tests/unit/runs/test_timeline.py::test_a_step_keeps_the_timeline_that_it_was_written_on",
        ),
    ),
    Guard(
        name="no call beyond the cap is made",
        file="runs/attempt.py",
        search="        self.check(check_calls, agent)\n",
        replace="",
        tests=(
            f"{CAPS}test_the_step_that_goes_beyond_the_cap_of_calls_is_stored_and_none_of_its_calls_made",
        ),
    ),
    Guard(
        name="a run grows no older than allowed",
        file="runs/attempt.py",
        search="        self._check_time(agent, started=self.run.created_at, now=now)\n",
        replace="",
        tests=(f"{CAPS}test_a_run_grows_no_older_than_allowed_waits_included",),
    ),
    Guard(
        name="no model step beyond the tokens",
        file="runs/caps.py",
        search="    if agent.max_tokens and used >= agent.max_tokens:\n",
        replace="    if False:\n",
        tests=(f"{CAPS}test_no_model_step_is_taken_once_the_tokens_are_used",),
    ),
    Guard(
        name="parts stay of runs recorded in full alone",
        file=STEP,
        search="        DELETE FROM runs_part WHERE run_id = p_run AND (v.recording <> 'full' OR p_error = 'guardrail.input');\n",
        replace="",
        tests=(
            "tests/unit/runs/test_fences.py::"
            "test_the_end_settles_open_marks_as_unknown_with_a_late_look_and_keeps_parts_of_full_runs_alone",
        ),
    ),
    Guard(
        name="a refused task is not kept sealed either",
        file=STEP,
        search="(v.recording <> 'full' OR p_error = 'guardrail.input')",
        replace="(v.recording <> 'full')",
        tests=(f"{GUARDRAILS}test_a_refused_task_is_not_kept_sealed_either[full]",),
    ),
    Guard(
        name="a refused task stands in no event",
        file="runs/tell_start.py",
        search="events.words(given.task) if given.refused is None else events.digest(given.task)",
        replace="events.words(given.task)",
        tests=(
            f"{GUARDRAILS}test_a_refused_task_stands_nowhere_in_the_events_of_a_run_recorded_in_full",
        ),
    ),
    Guard(
        name="nothing is sealed anew that a living process could not read",
        file="runs/reseal.py",
        search="    if ignorant:\n",
        replace="    if False:\n",
        tests=(
            f"{RESEAL}test_nothing_is_sealed_anew_while_a_living_process_does_not_know_the_key",
        ),
    ),
    Guard(
        name="a running run is not sealed anew",
        file="runs/reseal.py",
        search="locked.exclude(status=RunStatus.RUNNING).first()",
        replace="locked.first()",
        tests=(f"{RESEAL}test_a_running_run_is_left_and_sealed_anew_once_it_rests",),
    ),
)
