"""The guards of mining: what counts, whose record may be relied on, once a day, and what a person decided stays."""

from __future__ import annotations

from tests.guards.guard import Guard

RECORDED, OF_RECORDED = "runs/recorded.py", "tests/unit/runs/test_recorded.py::"
TESTS = "tests/unit/routines/"
OF_MINE, OF_SCAN, OF_DAILY = (f"{TESTS}test_{it}.py::" for it in ("mine", "scan", "daily"))
BY_NAME = f"{OF_RECORDED}test_what_nobody_may_rely_on_is_told_by_name"

MINING_GUARDS: tuple[Guard, ...] = (
    Guard(
        name="nothing is learnt from a broken record",
        file=RECORDED,
        search="    if verdict.broken is not None:\n",
        replace="    if False:\n",
        tests=(
            BY_NAME,
            f"{OF_SCAN}test_a_run_whose_record_nobody_may_rely_on_is_skipped_by_name",
        ),
    ),
    Guard(
        name="nothing is learnt from a record with a gap",
        file=RECORDED,
        search="    if verdict.lacks:\n",
        replace="    if False:\n",
        tests=(BY_NAME,),
    ),
    Guard(
        name="a run with a held call makes no pattern",
        file="routines/scan.py",
        search='    if call.approval or call.posture == "held":\n',
        replace='    if call.posture == "held":\n',
        tests=(f"{OF_SCAN}test_a_run_that_is_no_part_of_a_pattern_is_counted_by_reason",),
    ),
    Guard(
        name="a routine is compiled from runs that still count",
        file="routines/sources.py",
        search="            if why_not(it) or pattern_in(agent_key, it) != group.pattern:\n",
        replace="            if False:\n",
        tests=(
            f"{TESTS}test_sources.py::test_a_run_of_another_pattern_or_one_that_does_not_count_is_no_source",
        ),
    ),
    Guard(
        name="a dismissed pattern stays dismissed",
        file="routines/offer.py",
        search="LEFT_ALONE = (RoutineState.DISMISSED, RoutineState.ADOPTED)\n",
        replace="LEFT_ALONE = (RoutineState.ADOPTED,)\n",
        tests=(f"{OF_MINE}test_a_dismissed_pattern_never_returns_though_its_runs_grow",),
    ),
    Guard(
        name="a person who was quicker than the mining wins",
        file="routines/keep.py",
        search="        state__in=MOVES_ON,\n        digest=offer.known.digest,\n",
        replace="",
        tests=(
            f"{OF_MINE}test_a_person_who_was_quicker_than_the_mining_wins[dismissed]",
            f"{OF_MINE}test_a_person_who_was_quicker_than_the_mining_wins[moved]",
        ),
    ),
    Guard(
        name="the daily mining goes on behind the agents that were asked for",
        file="routines/daily.py",
        search="key__gt=after",
        replace='key__gt=""',
        tests=(
            f"{OF_DAILY}test_of_many_processes_that_look_at_once_one_asks",
            f"{OF_DAILY}test_a_process_that_dies_between_two_lots_loses_none",
        ),
    ),
    Guard(
        name="whoever finds the day's mining taken does not wait",
        file="routines/daily.py",
        search="FOR UPDATE SKIP LOCKED",
        replace="FOR UPDATE",
        tests=(f"{OF_DAILY}test_whoever_finds_the_day_taken_waits_for_nobody",),
    ),
    Guard(
        name="who may not read words sees no definition",
        file="routines/serializers.py",
        search='        return told if self.context["may_read"] else told | dict.fromkeys(WORDS)\n',
        replace="        return told\n",
        tests=(
            "tests/flows/test_routines_api.py::test_who_may_not_read_words_sees_the_digest_and_no_definition",
        ),
    ),
)
