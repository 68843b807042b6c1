"""The guards of undos: missed by the random runs that every test run makes, or by the test that looks at one alone."""

from __future__ import annotations

from tests.guards.guard import Guard

RANDOM = (
    "tests/unit/workflows/test_sagas_stateful.py::"
    "test_whatever_happens_none_is_undone_twice_and_none_is_lost"
)
IN_DOUBT = "tests/unit/runs/carrying/test_undos_in_doubt.py::"
LATE = "tests/unit/runs/carrying/test_late_sagas.py::"
SAGA, STEP, MIND = "sagas/sql/saga.sql", "runs/sql/step.sql", "runs/undo_mind.py"

SAGAS_STATEFUL: tuple[Guard, ...] = (
    Guard(
        name="undos are made newest first",
        file=MIND,
        search='ORDER BY \\"order\\" DESC LIMIT 1',
        replace='ORDER BY \\"order\\" LIMIT 1',
        tests=(RANDOM,),
    ),
    Guard(
        name="an undo is done from the commit on that settles it",
        file=STEP,
        search="        IF p_fate = 'done' AND v.own_loop LIKE 'undo:%' THEN PERFORM liyagent_undo_made(p_run, p_step, p_index); END IF;\n",
        replace="",
        tests=(
            RANDOM,
            f"{IN_DOUBT}test_an_undo_is_done_from_the_commit_on_that_settles_it",
            f"{IN_DOUBT}test_it_is_told_once_whoever_takes_over",
        ),
    ),
    Guard(
        name="an undo on its way when its round ended is not owed",
        file=SAGA,
        search="        PERFORM liyagent_undo_left(p_run);\n",
        replace="",
        tests=(
            f"{IN_DOUBT}test_one_on_its_way_when_the_round_ended_is_unknown",
            f"{IN_DOUBT}test_one_that_failed_is_failed_though_its_round_did_not_come_to_tell",
        ),
    ),
    Guard(
        name="an approved undo on its way when its run ended is unknown",
        file=SAGA,
        search="            WHERE c.run_id = p_run AND c.fate = 'unknown';\n",
        replace="            WHERE c.run_id = p_run AND false;\n",
        tests=(f"{IN_DOUBT}test_an_approved_one_on_its_way_when_its_run_ended_is_unknown",),
    ),
    Guard(
        name="a saga first heard of when its run has ended is none that is open",
        file=SAGA,
        search="    PERFORM liyagent_late_saga(p_saga, COALESCE(p_undo->>'handoff', ''));\n",
        replace="",
        tests=(f"{LATE}test_a_write_that_is_let_out_when_its_run_has_ended",),
    ),
    Guard(
        name="nothing is compensated while a write is in doubt",
        file=SAGA,
        search=" AND NOT liyagent_has_unknown(p_saga) THEN",
        replace=" THEN",
        tests=(RANDOM,),
    ),
)
