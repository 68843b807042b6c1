"""The guards of runs that are carried alone, of what is due, and of what a killed supervisor left."""

from __future__ import annotations

from tests.guards.guard import Guard

TAKE, CARRIERS, CARRY = "runs/sql/take.sql", "runs/carriers.py", "runs/carry.py"
CARRIED = "tests/unit/runs/test_carried_alone.py::"
PROCESSES = "tests/unit/runs/test_carriers.py::"
FEW = "tests/unit/runs/test_few_of_many.py::"
ORPHANS = "tests/unit/launcher/test_orphans.py::"

ALONE: tuple[Guard, ...] = (
    Guard(
        name="the take leaves a run that was lost twice",
        file=TAKE,
        search="r.losses <> 2 AND r.not_before IS NULL AND",
        replace="r.not_before IS NULL AND",
        tests=(
            f"{CARRIED}test_a_run_lost_twice_is_left_to_a_process_of_its_own",
            f"{CARRIED}test_a_stopped_run_that_was_lost_twice_ends_alone_too_and_first",
        ),
    ),
    Guard(
        name="the take leaves a run that was lost twice: when its time comes",
        file=TAKE,
        search="r.losses <> 2 AND r.not_before <= v_now",
        replace="r.not_before <= v_now",
        tests=(f"{CARRIED}test_one_run_is_taken_by_a_living_holder_when_it_is_due",),
    ),
    Guard(
        name="the take reads no run whose time is ahead",
        file=TAKE,
        search="r.losses <> 2 AND r.not_before <= v_now",
        replace="r.losses <> 2 AND r.not_before <= liyagent_now()",
        tests=(f"{FEW}test_a_take_does_not_look_at_runs_whose_time_is_ahead",),
    ),
    Guard(
        name="taking one run wants it queued",
        file=TAKE,
        search="WHERE r.id = p_run AND r.status = 'queued' AND",
        replace="WHERE r.id = p_run AND",
        tests=(
            f"{CARRIED}test_taking_exactly_one_run_raises_its_attempt_and_only_the_first_has_it",
            f"{CARRIED}test_two_that_ask_for_one_run_at_the_same_instant_do_not_both_get_it",
        ),
    ),
    Guard(
        name="four at most are carried alone",
        file=CARRIERS,
        search="for run in wanted[: MOST_CARRIERS - len(self._children)]:",
        replace="for run in wanted:",
        tests=(
            f"{PROCESSES}test_four_are_carried_at_once_each_by_a_holder_of_its_own_and_the_rest_stay_queued",
        ),
    ),
    Guard(
        name="who carries one run has a session of its own",
        file=CARRIERS,
        search="start_new_session=True",
        replace="start_new_session=False",
        tests=(
            f"{PROCESSES}test_four_are_carried_at_once_each_by_a_holder_of_its_own_and_the_rest_stay_queued",
        ),
    ),
    Guard(
        name="a start that fails is not tried at once again",
        file=CARRIERS,
        search="until=time.monotonic() + seconds",
        replace="until=0.0",
        tests=(
            f"{PROCESSES}test_a_process_that_cannot_be_started_is_no_loss_and_no_tight_loop",
            f"{PROCESSES}test_one_that_ends_before_it_takes_its_run_is_started_again_later_and_later",
        ),
    ),
    Guard(
        name="who carries one run ends when it loses its lease",
        file=CARRY,
        search="or all(it.lost.is_set() for it in self.runner.carried())",
        replace="",
        tests=(f"{PROCESSES}test_it_ends_when_it_loses_its_lease_and_takes_nothing_else",),
    ),
    Guard(
        name="who carries one run is the first to be killed for memory",
        file=CARRY,
        search="OOM_SCORE.write_text(FIRST_TO_BE_KILLED)",
        replace="pass",
        tests=(
            f"{PROCESSES}test_it_is_the_first_to_die_for_want_of_memory_and_gets_no_more_than_it_may",
        ),
    ),
    Guard(
        name="a successor ends the same life alone",
        file="liyagent/launcher/processes.py",
        search="return self.boot_id != boot_id() or started_ticks(self.pid) != self.started_ticks",
        replace="return started_ticks(self.pid) is None",
        tests=(f"{ORPHANS}test_another_process_with_the_same_number_is_left_alone",),
    ),
    Guard(
        name="a zombie's lock file is removed",
        file="liyagent/launcher/predecessor.py",
        search="if pid is not None and (PROC / str(pid)).exists():",
        replace="if False:",
        tests=(
            f"{ORPHANS}test_a_lock_file_of_a_zombie_does_not_keep_a_server_from_starting",
            f"{ORPHANS}test_a_lock_file_that_names_a_stranger_does_not_either_and_the_stranger_lives",
        ),
    ),
)
