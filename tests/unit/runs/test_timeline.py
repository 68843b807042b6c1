"""The timeline that the server writes on, as a run's last step keeps it (ruling 40)."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from liyagent.launcher.cluster import Cluster
from liyagent.launcher.users import server_user
from runs.hot_functions import SQL
from tests.memory import place_in_memory
from tests.unit.runs.sql import Server, begin, head, start_run, value, wait_for

TIMELINE = "SELECT liyagent_timeline()"
FUNCTION = re.compile(r"CREATE FUNCTION liyagent_timeline.*?^END \$\$;", re.DOTALL | re.MULTILINE)


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    """A server of the test's own, to be stopped and promoted."""
    with tempfile.TemporaryDirectory(prefix="liyagent-timeline-", dir=place_in_memory()) as place:
        user = server_user()
        os.chown(place, user.uid, user.gid)
        with Cluster(Path(place) / "data") as cluster:
            yield cluster


def test_a_step_keeps_the_timeline_that_it_was_written_on(server: Server) -> None:
    connection = server.connect()
    assert head(connection, start_run(connection).run, "timeline") == 0
    fence = begin(connection)
    assert head(connection, fence.run, "timeline") == value(connection, TIMELINE) > 0


def test_an_ordinary_role_is_told(server: Server) -> None:
    connection = server.connect()
    with connection.transaction(force_rollback=True):
        connection.execute("CREATE ROLE ordinary_timeline_reader")
        connection.execute("SET LOCAL ROLE ordinary_timeline_reader")
        assert value(connection, TIMELINE) > 0


def test_who_may_not_know_is_told_that_nobody_knows(server: Server) -> None:
    connection = server.connect()
    with connection.transaction(force_rollback=True):
        connection.execute("REVOKE EXECUTE ON FUNCTION pg_current_wal_lsn() FROM public")
        connection.execute("CREATE ROLE kept_out_of_the_log")
        connection.execute("SET LOCAL ROLE kept_out_of_the_log")
        assert value(connection, TIMELINE) == 0


def test_a_promoted_standby_writes_on_another_timeline_from_its_first_moment(
    cluster: Cluster,
) -> None:
    """Not only from its first checkpoint on."""
    found = FUNCTION.search((SQL / "step.sql").read_text())
    assert found is not None
    with psycopg.connect(cluster.url(), autocommit=True) as connection:
        connection.execute(found.group())
        before = value(connection, TIMELINE)
    cluster.stop()
    (cluster.data_dir / "standby.signal").touch()
    cluster.start()
    with psycopg.connect(cluster.url(), autocommit=True) as connection:
        assert value(connection, TIMELINE) == 0
        connection.execute("SELECT pg_promote(wait => false)")
        wait_for(lambda: not value(connection, "SELECT pg_is_in_recovery()"))
        assert value(connection, TIMELINE) == before + 1
