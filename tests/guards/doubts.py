"""The guards of what a person says of a write in doubt."""

from __future__ import annotations

from tests.guards.guard import Guard

PERSON, SETTLE, API = "runs/sql/person.sql", "runs/settle_by_person.py", "runs/doubts_api.py"
SAID = "tests/unit/runs/test_settle_by_person.py::"
LATE = "tests/unit/runs/carrying/test_late_look.py::"
SLEEPS = (
    f"{SAID}test_a_run_that_sleeps_on_the_same_intent_is_told_that_it_happened_and_what_came_of_it"
)

DOUBTS: tuple[Guard, ...] = (
    Guard(
        name="a person settles what is unknown, and nothing else",
        file=PERSON,
        search="WHERE c.id = p_call AND c.fate = 'unknown'\n",
        replace="WHERE c.id = p_call\n",
        tests=(
            f"{SAID}test_a_mark_that_its_run_settles_itself_is_left_alone_wherever_that_stands",
            f"{SAID}test_only_the_first_word_counts_and_the_second_is_told_whose_it_was",
        ),
    ),
    Guard(
        name="what was found at the vendor cannot be said not to have happened",
        file=PERSON,
        search="c.late_finding <> 'found' AND (c.deadline",
        replace="(c.deadline",
        tests=(f"{SAID}test_what_was_found_at_the_vendor_did_happen",),
    ),
    Guard(
        name="no outcome is kept under a key that its run is no longer sealed with",
        file=PERSON,
        search=" AND r.key_id = p_key_id",
        replace="",
        tests=(f"{SAID}test_a_run_that_was_sealed_anew_meanwhile_is_left_alone",),
    ),
    Guard(
        name="late look: a vendor that is away has said nothing",
        file="runs/late_look.py",
        search="        return NOT_ASKED, None\n",
        replace="        return NOT_FOUND, None\n",
        tests=(
            f"{LATE}test_a_vendor_that_is_away_was_not_asked_and_is_asked_once_it_is_back",
            f"{LATE}test_a_vendor_that_is_away_for_a_day_is_asked_no_more_and_that_is_said",
        ),
    ),
    Guard(
        name="late look: a vendor that is away holds nobody up",
        file="runs/late_look.py",
        search="None if server in away else ",
        replace="",
        tests=(f"{LATE}test_a_vendor_that_is_away_is_asked_once_a_look_however_many_wait",),
    ),
    Guard(
        name="a request for what happened already is withdrawn",
        file=PERSON,
        search="PERFORM 1 FROM liyagent_decide(v_one, 'withdrawn', p_by, v_told, '', true, true);",
        replace="PERFORM 1;",
        tests=(SLEEPS,),
    ),
    Guard(
        name="a request for what happened already is withdrawn although it was approved",
        file=PERSON,
        search="AND (a.status = 'pending' OR a.status = 'approved' AND p_fate = 'done')",
        replace="AND a.status = 'pending'",
        tests=(
            f"{SAID}test_what_was_approved_before_it_was_known_to_have_happened_is_not_made_again",
        ),
    ),
    Guard(
        name="a run that waited is told what the earlier call returned",
        file="runs/dispatch.py",
        search="if approval.gate == SAME_INTENT:",
        replace="if False:",
        tests=(SLEEPS,),
    ),
    Guard(
        name="what a person said happened is not sent again unasked",
        file="runs/sql/step.sql",
        search="AND settlement = 'by_person' AND NOT",
        replace="AND settlement = 'never' AND NOT",
        tests=(f"{SAID}test_what_happened_is_not_sent_again_by_a_run_that_was_told_nobody_knows",),
    ),
    Guard(
        name="only a write of unknown outcome is looked for again",
        file=PERSON,
        search="WHERE c.id = p_call AND c.fate = 'unknown' AND c.late_finding <> 'found';\n    IF FOUND",
        replace="WHERE c.id = p_call;\n    IF FOUND",
        tests=(
            f"{SAID}test_a_mark_that_its_run_settles_itself_is_left_alone_wherever_that_stands",
        ),
    ),
    Guard(
        name="a person's result is no larger than the tool's own may be",
        file=SETTLE,
        search="to_plain(result, limit_bytes=limit_bytes)",
        replace="to_plain(result)",
        tests=(f"{SAID}test_a_result_is_no_larger_than_its_tool_may_return",),
    ),
    Guard(
        name="what was never sent is not in doubt",
        file="runs/unsettled.py",
        search='UNSETTLED = Q(fate="") & SENT & ',
        replace='UNSETTLED = Q(fate="") & ',
        tests=(
            "tests/flows/test_not_in_doubt.py::test_the_api_and_the_rule_list_what_was_sent",
            "tests/flows/test_not_in_doubt.py::test_the_console_lists_and_counts_what_was_sent",
        ),
    ),
    Guard(
        name="saying what happened at the shell wants its permission, too",
        file="runs/management/commands/doubts.py",
        search="if not user.has_perm(SETTLE):",
        replace="if False:",
        tests=(
            "tests/flows/test_doubts_command.py::test_only_one_who_may_settle_says_what_happened",
        ),
    ),
    Guard(
        name="saying what happened wants its permission",
        file=API,
        search='needs = {"POST": (SETTLE,)}\n\n    @extend_schema(request=HappenedInput',
        replace='needs = {"POST": ()}\n\n    @extend_schema(request=HappenedInput',
        tests=("tests/flows/test_in_doubt_api.py::test_only_who_may_settle_says_what_happened",),
    ),
)
