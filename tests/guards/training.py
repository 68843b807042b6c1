"""The guards of fine-tuning, red teams and classifiers: made once at the endpoint, without secrets, by who may; nothing real is called."""

from __future__ import annotations

from tests.guards.guard import Guard

TUNE, LINES = "liyagent/training/fine_tunes/tune.py", "liyagent/training/fine_tunes/lines.py"
TRIAL = "liyagent/training/red_teams/trial.py"
TESTS = "tests/unit/training/"
KILLED, ANSWERS, SECRETS = (f"{TESTS}fine_tunes/test_{name}.py::" for name in ("killed", "answers", "secrets"))  # fmt: skip
TRIALS, CLASSIFIERS = f"{TESTS}red_teams/test_trials.py::", f"{TESTS}classifiers/test_classifiers.py::"  # fmt: skip
ONE_FILE = f"{KILLED}test_one_file_and_one_job_whenever_its_process_is_killed"

TRAINING: tuple[Guard, ...] = (
    Guard(
        name="fine_tunes: what is in doubt is looked for before it is sent again",
        file=TUNE,
        search="            if at.sending:\n",
        replace="            if False:\n",
        tests=(
            f"{ONE_FILE}[file made]",
            f"{ONE_FILE}[job made]",
            f"{ANSWERS}test_a_creation_of_which_nobody_can_tell_is_not_made_again",
        ),
    ),
    Guard(
        name="fine_tunes: a job that does not appear is not created again",
        file=TUNE,
        search="            elif what == JOB:\n",
        replace="            elif what is None:\n",
        tests=(
            f"{KILLED}test_what_nobody_can_tell_of_is_no_second_job_but_a_reason",
            f"{ANSWERS}test_a_creation_of_which_nobody_can_tell_is_not_made_again",
        ),
    ),
    Guard(
        name="fine_tunes: nothing is sent by a mark that is too old",
        file=TUNE,
        search="        if time.monotonic() > self.leaves_until:\n",
        replace="        if False:\n",
        tests=(f"{ANSWERS}test_a_mark_that_is_too_old_is_not_sent_by",),
    ),
    Guard(
        name="fine_tunes: who asked must still be allowed to at each take",
        file=TUNE,
        search="        if refusal:\n            raise JobFailed(refusal)\n",
        replace="",
        tests=(
            f"{ANSWERS}test_who_may_not_read_words_any_more_sends_none",
            f"{ANSWERS}test_nothing_of_a_contained_agent_is_sent",
            f"{ANSWERS}test_an_endpoint_that_no_agent_names_any_more_is_sent_nothing",
        ),
    ),
    Guard(
        name="fine_tunes: a creation that was on its way when it was cancelled is ended once it appears",
        file=TUNE,
        search="    if is_open and tuning.may_still_appear():\n        return LOOK_SECONDS\n",
        replace="",
        tests=(f"{ANSWERS}test_cancelled_while_it_is_created_it_is_ended_once_it_appears",),
    ),
    Guard(
        name="fine_tunes: secrets are starred out",
        file=LINES,
        search="        starred = [_starred(it, self.starring) for it in messages]\n",
        replace="        starred = list(messages)\n",
        tests=(f"{SECRETS}test_no_secret_is_in_the_file",),
    ),
    Guard(
        name="fine_tunes: what was not recorded in full is not sent",
        file=LINES,
        search='            raise Skipped("not recorded in full")\n',
        replace="            pass\n",
        tests=(f"{TESTS}fine_tunes/test_tuned.py::test_what_an_agent_said_becomes_a_model",),
    ),
    Guard(
        name="jobs: between a mark and its sending a job is not handed back",
        file="liyagent/jobs/work.py",
        search="            if step.is_mark:\n                continue\n",
        replace="",
        tests=(
            "tests/unit/jobs/test_work.py::test_between_a_mark_and_its_sending_a_job_is_not_handed_back",
        ),
    ),
    Guard(
        name="jobs: a slot of a source is one job",
        file="liyagent/jobs/sources/due.py",
        search=' FOR UPDATE SKIP LOCKED"',
        replace='"',
        tests=(
            "tests/unit/jobs/test_schedules.py::test_of_two_processes_one_asks_for_a_slot",
        ),
    ),
    Guard(
        name="red_teams: it does not go on in another process",
        file=TRIAL,
        search="is_resumable=False",
        replace="is_resumable=True",
        tests=(
            f"{TRIALS}test_one_whose_process_stops_ends_interrupted_with_what_was_found",
        ),
    ),
    Guard(
        name="red_teams: nothing is asked beyond a cap",
        file=TRIAL,
        search="        if not self._may_ask():\n",
        replace="        if False:\n",
        tests=(f"{TRIALS}test_nothing_is_asked_beyond_a_cap",),
    ),
    Guard(
        name="classifiers: a training does not go on in another process",
        file="liyagent/training/classifiers/train.py",
        search="    is_resumable=False,\n",
        replace="",
        tests=(
            f"{CLASSIFIERS}test_one_whose_process_stops_ends_interrupted_and_its_examples_go",
        ),
    ),
)  # fmt: skip
