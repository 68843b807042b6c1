"""The guards of cohort replays: each run once, nothing for nobody, no leave but by a verdict that stands; and of jobs that keep their turn."""

from __future__ import annotations

from tests.guards.guard import Guard

ROOM, TESTS = "liyagent/replays/", "tests/unit/replays/"
CARRY, LANE, LEAVE, VERDICT = (f"{ROOM}{it}.py" for it in ("carry", "lane", "leave", "verdict"))
OF_CARRY, OF_ASK, OF_VERDICT, OF_LEAVE = (f"{TESTS}test_{it}.py::" for it in ("carry", "ask", "verdict", "require_replay"))  # fmt: skip
WORK, TURNS = "liyagent/jobs/work.py", "tests/unit/jobs/test_turns.py::"

COHORT_GUARDS: tuple[Guard, ...] = (
    Guard(
        name="a cohort goes on from what is kept",
        file=CARRY,
        search="        todo=deque(it for it in left if it not in begun),\n",
        replace="        todo=deque(left),\n",
        tests=(
            f"{OF_CARRY}test_whoever_takes_over_from_a_dead_process_replays_what_has_no_result",
        ),
    ),
    Guard(
        name="a model that is not there is no regression",
        file=CARRY,
        search="                yield from self._probe()\n",
        replace="                pass\n",
        tests=(
            f"{OF_CARRY}test_a_model_that_its_endpoint_does_not_know_fails_the_cohort_with_its_words",
        ),
    ),
    Guard(
        name="an endpoint that goes away makes no verdict",
        file=CARRY,
        search="        if self.unanswered >= MOST_UNANSWERED:\n",
        replace="        if False:\n",
        tests=(f"{OF_CARRY}test_an_endpoint_that_goes_away_fails_the_cohort_and_makes_no_verdict",),
    ),
    Guard(
        name="what is under way leaves off",
        file=f"{ROOM}crew.py",
        search="        self._over.set()\n",
        replace="        pass\n",
        tests=(f"{OF_CARRY}test_a_cancelled_one_stops_within_two_seconds_and_gives_no_verdict",),
    ),
    Guard(
        name="a cap counts what is under way",
        file=CARRY,
        search="        calls = self.budget.calls + sum(it[0] for it in at_work)\n",
        replace="        calls = self.budget.calls\n",
        tests=(f"{OF_CARRY}test_once_a_cap_is_reached_no_further_run_is_begun",),
    ),
    Guard(
        name="no verdict is a mixture of two versions",
        file=f"{ROOM}ask.py",
        search="    if agent.version != replay.agent_version:\n",
        replace="    if False:\n",
        tests=(f"{OF_CARRY}test_an_agent_that_was_saved_meanwhile_is_not_judged_by_a_mixture",),
    ),
    Guard(
        name="who asked for a replay may still",
        file=f"{ROOM}ask.py",
        search=" or standing_of(replay.asked_by, OPERATE, READ_WORDS)",
        replace="",
        tests=(f"{OF_CARRY}test_who_asked_must_still_be_allowed_to_when_it_is_taken",),
    ),
    Guard(
        name="words and keys go nowhere new",
        file=f"{ROOM}override.py",
        search="    if not may_choose_endpoint:\n",
        replace="    if False:\n",
        tests=(f"{OF_ASK}test_words_and_keys_go_only_where_an_agent_sends_them_already",),
    ),
    Guard(
        name="a verdict is sealed with a key of ours",
        file=VERDICT,
        search="    if why := _broken_seal(replay):\n",
        replace='    if why := "":\n',
        tests=(
            f"{OF_VERDICT}test_the_seal_of_another_verdict_is_none_of_it",
            f"{OF_LEAVE}test_a_verdict_whose_digest_was_computed_anew_gives_no_leave",
        ),
    ),
    Guard(
        name="a verdict covers its results",
        file=LEAVE,
        search="standing_of_verdict(newest, with_results=True)",
        replace="standing_of_verdict(newest, with_results=False)",
        tests=(f"{OF_LEAVE}test_a_result_that_was_changed_behind_our_back_gives_no_leave",),
    ),
    Guard(
        name="leave is for exactly what was tried",
        file=LEAVE,
        search=", override=dict(change))",
        replace=")",
        tests=(f"{OF_LEAVE}test_a_part_of_it_or_more_is_another_change",),
    ),
    Guard(
        name="an older verdict does not outweigh the newest",
        file=LEAVE,
        search='order_by("-created_at", "-id")',
        replace='order_by("created_at", "id")',
        tests=(f"{OF_LEAVE}test_of_several_verdicts_the_newest_speaks_alone",),
    ),
    Guard(
        name="a save by a release before takes no demand away",
        file="liyagent/agents/definitions.py",
        search="else {**unknown, **kept}\n",
        replace="else {**DEFAULTS, **kept}\n",
        tests=(f"{OF_LEAVE}test_a_save_by_a_release_that_knows_no_demand_does_not_drop_it",),
    ),
    Guard(
        name="where nothing judges, nobody gives leave",
        file="liyagent/agents/replayed.py",
        search=' or ["nothing in this process judges that"]',
        replace="",
        tests=(f"{OF_LEAVE}test_where_nothing_judges_nobody_gives_leave",),
    ),
    Guard(
        name="what was not tried is not saved along",
        file="liyagent/agents/replayed.py",
        search="    if beside:\n",
        replace="    if False:\n",
        tests=(f"{OF_LEAVE}test_what_was_not_tried_is_not_saved_along",),
    ),
    Guard(
        name="a regression is kept as long as one before it would speak",
        file=f"{ROOM}forget.py",
        search="c.status = 'done' AND EXISTS",
        replace="c.status = 'done' AND c.verdict <> 'regressed' AND EXISTS",
        tests=(
            f"{OF_VERDICT}test_a_regression_is_kept_as_long_as_it_speaks_and_what_came_before_it_goes",
        ),
    ),
    Guard(
        name="what gives leave is not forgotten",
        file=f"{ROOM}forget.py",
        search="            AND NOT (c.status",
        replace="            AND NOT (false AND c.status",
        tests=(
            f"{OF_VERDICT}test_what_ended_long_ago_is_forgotten_but_for_what_still_gives_leave",
        ),
    ),
    Guard(
        name="no other job waits for one that keeps its turn",
        file=WORK,
        search="kinds_of(keeps_turn=False))",
        replace="list(HANDLERS))",
        tests=(f"{TURNS}test_no_other_job_waits_for_it",),
    ),
    Guard(
        name="a draining process hands its jobs back",
        file=WORK,
        search="        return give_up() or STATE.is_draining\n",
        replace="        return give_up()\n",
        tests=(
            f"{TURNS}test_a_draining_process_takes_no_other_job",
            f"{OF_CARRY}test_a_process_that_drains_hands_it_back_at_once_and_the_next_goes_on",
        ),
    ),
    Guard(
        name="a cancelled job stops between two steps",
        file=WORK,
        search="                _look(job)\n",
        replace="                pass\n",
        tests=(f"{TURNS}test_one_that_was_cancelled_stops_between_two_steps",),
    ),
)
