"""A cluster of our own: made, started, killed, revived, refused."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import time
from pathlib import Path

import psycopg
import pytest

from liyagent.launcher.cluster import Cluster, free_port
from liyagent.launcher.errors import AlreadyStarted, OtherMajor, StartFailed, Unreachable
from liyagent.launcher.users import first_closed, server_user


def gone(pid: int) -> bool:
    """Whether the process is dead; a zombie is."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return True
    return state == "Z"


def test_it_answers_over_tcp_and_over_its_socket(running: Cluster) -> None:
    with psycopg.connect(running.url()) as over_tcp:
        assert over_tcp.execute("show server_encoding").fetchone() == ("UTF8",)
    by_socket = running.url().replace("127.0.0.1", "") + f"?host={running.data_dir}"
    with psycopg.connect(by_socket) as over_socket:
        assert over_socket.execute("select 1").fetchone() == (1,)


def test_nobody_gets_in_without_the_password(running: Cluster) -> None:
    password = running.url().split(":")[2].split("@")[0]
    with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
        psycopg.connect(running.url().replace(password, "guess"))


def test_an_acknowledged_commit_is_durable_by_default(running: Cluster) -> None:
    with psycopg.connect(running.url()) as connection:
        for name in ("fsync", "synchronous_commit", "full_page_writes"):
            assert connection.execute(f"show {name}").fetchone() == ("on",), name


def test_the_data_belong_to_the_servers_user_alone(running: Cluster) -> None:
    found = running.data_dir.stat()
    assert (found.st_uid, found.st_mode & 0o777) == (server_user().uid, 0o700)
    assert found.st_uid != 0


def test_stopping_leaves_no_process_lock_or_socket(cluster: Cluster, place: Path) -> None:
    pid = cluster.pid
    assert pid is not None
    cluster.stop()
    assert gone(pid)
    assert not cluster.is_running
    assert sorted(path.name for path in place.iterdir()) == ["data", "data.log"]
    assert not list(cluster.data_dir.glob(".s.PGSQL*"))
    assert not (cluster.data_dir / "postmaster.pid").exists()


def test_data_and_password_outlive_a_stop(cluster: Cluster) -> None:
    cluster.create_database("kept")
    cluster.create_database("kept")
    cluster.stop()
    cluster.start()
    with psycopg.connect(cluster.url("kept")) as connection:
        assert connection.info.dbname == "kept"


def test_a_killed_postmaster_is_revived_on_its_port_with_all_that_was_committed(
    cluster: Cluster,
) -> None:
    port = cluster.port
    with psycopg.connect(cluster.url(), autocommit=True) as connection:
        connection.execute("create table kept (n int)")
        connection.execute("insert into kept values (7)")
        assert cluster.pid is not None
        os.kill(cluster.pid, signal.SIGKILL)
        give_up = time.monotonic() + 5
        while cluster.is_running and time.monotonic() < give_up:
            time.sleep(0.01)
        assert not cluster.is_running
        cluster.revive()
    assert cluster.port == port
    with psycopg.connect(cluster.url()) as connection:
        assert connection.execute("select n from kept").fetchall() == [(7,)]


def test_a_data_directory_of_another_major_is_refused_before_the_server_sees_it(
    cluster: Cluster,
) -> None:
    cluster.stop()
    (cluster.data_dir / "PG_VERSION").write_text("9\n")
    with pytest.raises(OtherMajor, match="made by PostgreSQL 9"):
        cluster.start()
    assert not cluster.is_running


def test_two_starts_on_one_data_directory_are_refused(running: Cluster) -> None:
    with pytest.raises(AlreadyStarted, match="another process runs this PostgreSQL"):
        Cluster(running.data_dir).start()
    with pytest.raises(AlreadyStarted, match="not stopped"):
        running.start()
    assert running.is_running


def test_another_server_on_the_port_is_not_taken_for_ours(running: Cluster, place: Path) -> None:
    """Both know the password, so only the data directory tells them apart."""
    stranger = place / "stranger"
    shutil.copytree(
        running.data_dir, stranger, ignore=shutil.ignore_patterns("postmaster.*", ".s.*")
    )
    for path in (stranger, *stranger.rglob("*")):
        os.chown(path, server_user().uid, server_user().gid)
    other = Cluster(stranger)
    with pytest.raises(StartFailed, match="another PostgreSQL answers"):
        other.start(port=running.port)
    assert not other.is_running
    assert running.is_running


def test_a_port_in_use_is_told_with_the_servers_own_words(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("liyagent.launcher.cluster.RETRY_SECONDS", 0.2)
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        with pytest.raises(StartFailed, match="Address already in use"):
            Cluster(place / "data").start(port=holder.getsockname()[1])


def test_files_that_are_no_cluster_are_left_alone(place: Path) -> None:
    (place / "data").mkdir()
    (place / "data" / "thesis.txt").write_text("mine")
    with pytest.raises(StartFailed, match="is no PostgreSQL data"):
        Cluster(place / "data").start()
    assert (place / "data" / "thesis.txt").read_text() == "mine"


def test_extra_settings_reach_the_server(place: Path) -> None:
    with (
        Cluster(place / "data", settings={"max_connections": "17"}) as cluster,
        psycopg.connect(cluster.url()) as connection,
    ):
        assert connection.execute("show max_connections").fetchone() == ("17",)


def test_a_free_port_can_be_listened_on() -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", free_port()))


def test_a_place_the_servers_user_cannot_reach_is_named(place: Path) -> None:
    closed = place / "closed"
    closed.mkdir(mode=0)
    assert first_closed(closed, server_user()) == closed
    with pytest.raises(Unreachable, match=f"may not enter {closed}"):
        Cluster(closed / "data").start()
    closed.chmod(0o700)
