"""FL-28: two processes behind PgBouncer in transaction mode. `make test-pgbouncer` runs it; the name keeps it out of `make test`.

DATABASE_URL leads through the pooler, LIYAGENT_DIRECT_DATABASE_URL past it. Few backends serve all, so that a
session that left anything behind would be met by another.
"""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import urlsplit

import psycopg
import pytest

from liyagent.demo.vendors.process import free_port
from liyagent.launcher.children import signal_group, start_child
from liyagent.launcher.cluster import Cluster
from liyagent.launcher.ephemeral import DATABASE
from liyagent.launcher.users import server_user
from tests.processes.place import Place, make_whole, open_place
from tests.processes.test_outages import KINDS, assert_kept, charged

pytestmark = [pytest.mark.timeout(180), pytest.mark.field("FL-28")]

BACKENDS = 4
START_SECONDS = 10.0
LEADER_CHANGE_SECONDS = 15
CONFIGURATION = """
[databases]
{database} = host=127.0.0.1 port={server_port} dbname={database}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
auth_type = scram-sha-256
auth_file = {users}
pool_mode = transaction
default_pool_size = {backends}
max_client_conn = 500
server_login_retry = 1
server_reset_query =
"""
LEADER = "SELECT h.pid FROM leases_lease l JOIN leases_holder h ON h.id = l.holder WHERE l.name = 'leader' AND l.until > liyagent_now()"
# A lock of a session would be held by no transaction; the pooler's sessions are those that are idle. The holders'
# life-locks are locks of sessions past the pooler, by design.
LEFT_LOCKED = """
    SELECT count(*)::int AS n FROM pg_locks l JOIN pg_stat_activity a USING (pid)
    WHERE (l.locktype = 'advisory' OR (a.state = 'idle' AND l.locktype <> 'virtualxid'))
        AND l.pid NOT IN (SELECT backend_pid FROM leases_holder WHERE backend_pid IS NOT NULL)
"""


@pytest.fixture(scope="module")
def pooled() -> Iterator[Place]:
    """A and B behind the pooler, their sweeps, renewals and rings' sweeps past it."""
    with (
        tempfile.TemporaryDirectory(prefix="liyagent-pgbouncer-") as directory,
        open_place(
            Path(directory), urls=lambda cluster, stack: _pool(Path(directory), cluster, stack)
        ) as place,
    ):
        yield place


def _pool(directory: Path, cluster: Cluster, stack: ExitStack) -> Mapping[str, str]:
    """Start PgBouncer before the cluster's only database and return both ways to it."""
    program = shutil.which("pgbouncer", path=f"{os.environ['PATH']}{os.pathsep}/usr/sbin")
    assert program is not None, "pgbouncer is needed: apt-get install pgbouncer"
    direct = cluster.url(DATABASE)
    parts, port, user = urlsplit(direct), free_port(), server_user()
    users, settings = directory / "pgbouncer-users", directory / "pgbouncer.ini"
    users.write_text(f'"{parts.username}" "{parts.password}"\n')
    settings.write_text(
        CONFIGURATION.format(
            database=DATABASE, server_port=parts.port, port=port, users=users, backends=BACKENDS
        )
    )
    for file in (users, settings):
        os.chown(file, user.uid, user.gid)
        file.chmod(0o600)
    child = start_child(
        [program, settings], log=directory / "pgbouncer.log", env=os.environ, user=user
    )
    stack.callback(child.wait)
    stack.callback(signal_group, child, signal.SIGKILL)
    pooled = parts._replace(netloc=parts.netloc.replace(f":{parts.port}", f":{port}")).geturl()
    _wait_until_it_answers(pooled)
    return {"DATABASE_URL": pooled, "LIYAGENT_DIRECT_DATABASE_URL": direct}


def _wait_until_it_answers(url: str) -> None:
    until = time.monotonic() + START_SECONDS
    while True:
        try:
            with psycopg.connect(url, connect_timeout=2) as connection:
                row = connection.execute("SELECT pg_backend_pid()").fetchone()
                told = connection.info.backend_pid
        except psycopg.OperationalError:
            assert time.monotonic() < until, "the pooler does not answer"
            time.sleep(0.05)
        else:
            assert row is not None
            assert row[0] != told
            return


def test_twenty_runs_end_behind_a_pooler_and_another_leads_within_its_time(pooled: Place) -> None:
    place = pooled
    runs = [run for name in ("A", "B") for run in place.start_runs(*(KINDS * 4)[:10], at=name)]
    place.wait_for_ends(runs)
    assert set(charged(place, runs)) == {(0, 1)}
    assert_kept(place.judged(runs))
    place.check_chains(runs)
    place.until(lambda: place.one(LEFT_LOCKED) == 0, "no lock outlives its transaction")

    place.stage.set_pace(400)
    later = place.start_runs(*KINDS, *KINDS, at="A")
    pids = {place.stage.pid(name): name for name in ("A", "B")}
    leader = place.one(LEADER)
    place.stage.signal(pids[leader], signal.SIGKILL)
    killed_at = time.monotonic()
    place.until(
        lambda: {it["pid"] for it in place.watch.rows(LEADER)} == set(pids) - {leader},
        "another leader",
    )
    assert time.monotonic() - killed_at < LEADER_CHANGE_SECONDS
    place.stage.set_pace(0)
    place.wait_for_ends(later)
    assert set(charged(place, later)) <= {(0, 1), (1, 2)}
    assert_kept(place.judged(later))
    place.check_chains(later)
    place.until(lambda: place.one(LEFT_LOCKED) == 0, "no lock outlives its transaction")


def test_a_pooled_database_that_restarts_is_found_again(pooled: Place) -> None:
    make_whole(pooled.stage)
    pooled.pause_database(0.5, how=signal.SIGINT)
    # The pooler's own connections are dead until it has noticed.
    pooled.until(lambda: _answers(pooled), "the pooler")
    runs = pooled.start_runs(*KINDS)
    pooled.wait_for_ends(runs)
    assert {it["losses"] for it in pooled.heads(runs)} == {0}
    assert_kept(pooled.judged(runs))


def _answers(place: Place) -> bool:
    try:
        with psycopg.connect(place.stage.env["DATABASE_URL"], connect_timeout=2) as connection:
            return connection.execute("SELECT 1").fetchone() == (1,)
    except psycopg.OperationalError:
        return False
