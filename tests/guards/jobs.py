"""The guards of jobs and sources: a step is kept once, by who has the job; nothing is read or shown that may not be."""

from __future__ import annotations

from tests.guards.guard import Guard
from tests.guards.mining import MINING_GUARDS
from tests.guards.training import TRAINING

ROOM, SOURCES = "liyagent/jobs/", "liyagent/jobs/sources/"
TESTS = "tests/unit/jobs/"
WORK, FOLDERS, SEARCH, ELSEWHERE = (f"{TESTS}test_{name}.py::" for name in ("work", "folders", "search", "elsewhere"))  # fmt: skip

JOBS: tuple[Guard, ...] = (
    Guard(
        name="jobs: a step is kept by the attempt that has the job",
        file=f"{ROOM}work.py",
        search="    WHERE id = %s AND attempt = %s AND status = 'running'\n",
        replace="    WHERE id = %s AND attempt >= %s AND status <> 'queued'\n",
        tests=(
            f"{WORK}test_who_stalled_and_was_taken_over_writes_nothing_more",
            f"{WORK}test_a_cancelled_job_keeps_nothing_of_the_step_in_hand",
        ),
    ),
    Guard(
        name="jobs: the effect of a step and its cursor are one commit",
        file=f"{SOURCES}sync.py",
        search="            yield step(cursor=at.cursor(), keep=keep)\n",
        replace="            yield step(cursor=at.cursor())\n            yield step(cursor=at.cursor(), keep=keep)\n",
        tests=(
            f"{FOLDERS}test_killed_between_the_write_of_a_document_and_its_commit_it_is_written_once_and_not_lost",
        ),
    ),
    Guard(
        name="jobs: a job is not taken while its process may live",
        file=f"{ROOM}take.py",
        search=" AND h.renew_by > liyagent_now()",
        replace=" AND false",
        tests=(f"{WORK}test_the_job_of_a_dead_process_goes_on_from_its_cursor[1]",),
    ),
    Guard(
        name="jobs: what ends its processes is failed",
        file=f"{ROOM}work.py",
        search="    if job.losses_here > MOST_LOSSES_HERE:\n",
        replace="    if job.losses_here > 99:\n",
        tests=(
            f"{WORK}test_a_job_that_ends_its_processes_is_failed_at_the_third_loss_at_one_step",
        ),
    ),
    Guard(
        name="jobs: losses are counted since the last step that was kept",
        file=f"{ROOM}work.py",
        search=", losses_here = 0\n",
        replace="\n",
        tests=(f"{WORK}test_losses_at_different_steps_do_not_fail_it",),
    ),
    Guard(
        name="jobs: a kind that cannot go on is not begun again",
        file=f"{ROOM}work.py",
        search="    if job.attempt > 1 and not handler.is_resumable:\n",
        replace="    if False:\n",
        tests=(f"{WORK}test_a_kind_that_cannot_go_on_ends_interrupted_with_its_process",),
    ),
    Guard(
        name="sources: nothing by a link that leads out of the folder",
        file=f"{SOURCES}folder.py",
        search='            if not Path(os.path.realpath(f"/proc/self/fd/{number}")).is_relative_to(self._root):\n',
        replace="            if False:\n",
        tests=(f"{FOLDERS}test_nothing_outside_of_the_folder_is_read",),
    ),
    Guard(
        name="sources: a source that is emptied forgets nothing",
        file=f"{SOURCES}sync.py",
        search="    if not there and total:\n",
        replace="    if False:\n",
        tests=(f"{FOLDERS}test_emptied_while_it_is_read_it_forgets_nothing",),
    ),
    Guard(
        name="sources: a folder lies below a root",
        file=f"{SOURCES}folder.py",
        search="    if not any(found.is_relative_to(root) for root in roots):\n",
        replace="    if False:\n",
        tests=(f"{FOLDERS}test_a_root_that_the_settings_name_no_more_is_read_no_more",),
    ),
    Guard(
        name="sources: addresses are fetched by the guarded client",
        file=f"{SOURCES}urls_origin.py",
        search="guarded_client(timeout_seconds=SECONDS,",
        replace="httpx2.Client(timeout=SECONDS,",
        tests=(
            f"{ELSEWHERE}test_a_site_that_is_away_or_forbidden_meanwhile_leaves_what_was_there",
        ),
    ),
    Guard(
        name="sources: an agent sees what names it alone",
        file=f"{SOURCES}search.py",
        search=" AND d.source_id = ANY(%(sources)s)",
        replace="",
        tests=(f"{SEARCH}test_an_agent_sees_the_sources_that_name_it_alone",),
    ),
    *TRAINING,
    *MINING_GUARDS,
)
