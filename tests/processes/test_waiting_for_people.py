"""A thousand runs that wait for people, over a restart of both processes: no thread, no lease, and nothing is lost."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from uuid import UUID

import psutil
import psycopg
import pytest

from tests.processes.place import Place, make_whole
from tests.processes.test_outages import assert_kept
from tests.trials.scripts import AGENTS

pytestmark = [pytest.mark.timeout(300)]

KEPT_THREADS = 20
RUNS, DECIDED, AT_ONCE = 1000, 50, 8
HOLD = "UPDATE agents_agent SET write_posture = 'hold', may_wait = true WHERE key = %s RETURNING id"
ALLOW = (
    "UPDATE agents_agent SET write_posture = 'allow', may_wait = false WHERE key = %s RETURNING id"
)
OLGA = """
    INSERT INTO auth_user (username, password, is_active, is_superuser, is_staff, first_name, last_name, email, date_joined)
        VALUES ('olga', '', true, true, false, '', '', '', liyagent_now()) ON CONFLICT DO NOTHING
"""
STAND = """
    SELECT status, attempt, losses, holder IS NULL AS is_free, count(*)::int AS n FROM runs_run WHERE id = ANY(%s)
        GROUP BY 1, 2, 3, 4
"""
WAITING = "SELECT count(*)::int AS n FROM runs_run WHERE id = ANY(%s) AND status = 'waiting'"
OPEN = """
    SELECT count(*)::int AS n FROM approvals_approval a JOIN runs_run r ON r.id = a.run_id
        WHERE a.run_id = ANY(%s) AND a.status = 'pending' AND a.step = %s AND r.status = 'waiting'
"""
# By the verb: what the table alone says is no approval.
DECIDE = """
from liyagent.approvals.decide import decide
from liyagent.approvals.models import Approval, ApprovalStatus
asked = list(Approval.objects.filter(run_id__in={runs}, status="pending"))
for it in asked:
    decide(approval_id=it.id, status=ApprovalStatus.APPROVED, actor="olga", reason="looks right", digest=it.digest)
print(*(it.run_id for it in asked))
"""
FORGET = (
    "UPDATE approvals_approval SET status = 'withdrawn' WHERE run_id = ANY(%s) AND status = 'pending' RETURNING id",
    "UPDATE runs_call SET fate = 'held', settlement = 'run_ended', settled_at = liyagent_now()"
    " WHERE run_id = ANY(%s) AND fate = '' RETURNING id",
    "UPDATE runs_run SET status = 'stopped', ended_at = liyagent_now() WHERE id = ANY(%s) AND status = 'waiting'"
    " RETURNING id",
)


@pytest.fixture
def waiting(place: Place) -> Iterator[list[UUID]]:
    """Runs of which each waits for its first write to be approved."""
    place.watch.rows(HOLD, [AGENTS["keyed"]])
    with ThreadPoolExecutor(AT_ONCE) as threads:
        kinds = ["keyed"] * (RUNS // AT_ONCE)
        started = threads.map(
            lambda number: place.start_runs(*kinds, at="AB"[number % 2]), range(AT_ONCE)
        )
        runs = [run for some in started for run in some]
    place.until(lambda: place.one(WAITING, runs) == RUNS, "all to wait", seconds=120)
    yield runs
    for statement in FORGET:
        place.watch.rows(statement, [runs])
    place.watch.rows(ALLOW, [AGENTS["keyed"]])


def threads_of(place: Place) -> dict[str, int]:
    return {name: psutil.Process(place.stage.pid(name)).num_threads() for name in ("A", "B")}


def wait_for_requests(place: Place, runs: list[UUID], *, step: int) -> None:
    """Return once each of these runs waits for its call of this step."""

    def all_wait() -> bool:
        return bool(place.one(OPEN, runs, step) == len(runs))

    place.until(all_wait, f"the requests of step {step}", seconds=60)


def approve_all(place: Place, runs: list[UUID]) -> None:
    with psycopg.connect(place.stage.database_url, autocommit=True) as connection:
        connection.execute(OLGA)
    asked = [str(run) for run in runs]
    told = place.stage.manage("shell", "-c", DECIDE.format(runs=asked))
    assert sorted(told.split()) == sorted(asked)


@pytest.mark.promise("CR-02")
@pytest.mark.promise("CR-21")
@pytest.mark.field("FL-51")
def test_a_thousand_runs_wait_over_a_restart_of_both_processes_and_go_on_once_decided(
    place: Place, waiting: list[UUID]
) -> None:
    asleep = [{"status": "waiting", "attempt": 1, "losses": 0, "is_free": True, "n": RUNS}]
    assert place.watch.rows(STAND, [waiting]) == asleep
    for name in ("A", "B"):
        place.stage.processes[name].end()
    assert place.watch.rows(STAND, [waiting]) == asleep
    make_whole(place.stage)
    idle = threads_of(place)
    chosen = waiting[:: RUNS // DECIDED]
    # Each files its second write once the first was made.
    for step in (2, 3):
        wait_for_requests(place, chosen, step=step)
        approve_all(place, chosen)
    place.wait_for_ends(chosen, seconds=60)
    assert_kept(place.judged(chosen))
    place.check_chains(chosen)
    told = place.watch.rows(STAND, [list(set(waiting) - set(chosen))])
    assert told == [{**asleep[0], "n": RUNS - DECIDED}]
    # Pools make a few threads at their first use, and keep them; those that wait have none.
    place.until(
        lambda: all(now <= idle[name] + KEPT_THREADS for name, now in threads_of(place).items()),
        "the threads of those that ended to be gone",
        seconds=60,
    )
    assert sum(idle.values()) < RUNS // 4
