"""What killed supervisors leave: postmasters, lock files, app processes; and who is no orphan of ours."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import time
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path

import psycopg
import pytest

from liyagent.launcher.binaries import bin_directory
from liyagent.launcher.children import start_child
from liyagent.launcher.cluster import Cluster, free_port
from liyagent.launcher.errors import PortTaken
from liyagent.launcher.orphans import Record, end_left
from liyagent.launcher.ports import check_free
from liyagent.launcher.processes import life_of, listener_on, started_ticks
from liyagent.launcher.users import server_user

PATIENCE_SECONDS = 8


def spawn(*command: str) -> subprocess.Popen[bytes]:
    """Start a program as the server's user, in a group of its own: another user's are no hindrance to a server."""
    user = server_user()
    drop = {"user": user.uid, "group": user.gid, "extra_groups": []} if user.is_other else {}
    return subprocess.Popen(command, start_new_session=True, cwd="/", **drop)  # type: ignore[call-overload,no-any-return]


@pytest.fixture
def sleeper() -> Iterator[subprocess.Popen[bytes]]:
    """A process of no importance, in a group of its own."""
    child = spawn("sleep", "60")
    yield child
    child.kill()
    child.wait()


def told_of(sleeper: subprocess.Popen[bytes], place: Path) -> Record:
    record = Record(path=place / "children")
    record.keep({"app": sleeper.pid, "gone": None})
    return record


def test_a_child_that_still_runs_is_ended(
    place: Path, sleeper: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("liyagent.launcher.orphans.GRACE_SECONDS", 0.1)
    said: list[str] = []
    end_left(told_of(sleeper, place), say=said.append)
    assert started_ticks(sleeper.pid) is None
    assert [f"app (process {sleeper.pid})" in line for line in said] == [True]


@pytest.mark.parametrize("change", [{"started_ticks": 1}, {"boot_id": "another"}])
def test_another_process_with_the_same_number_is_left_alone(
    place: Path, sleeper: subprocess.Popen[bytes], change: dict[str, object]
) -> None:
    record = told_of(sleeper, place)
    life = life_of(sleeper.pid)
    assert life is not None
    record.path.write_text(json.dumps({"app": asdict(replace(life, **change))}))  # type: ignore[arg-type]
    said: list[str] = []
    end_left(record, say=said.append)
    assert sleeper.poll() is None
    assert said == []


@pytest.mark.parametrize("text", ["", "[1]", '{"app": 7}', '{"app": {"pid": 1}}'])
def test_a_record_that_was_cut_names_nobody(place: Path, text: str) -> None:
    record = Record(path=place / "children")
    assert record.left() == {}
    record.path.write_text(text)
    assert record.left() == {}


def lock_file(cluster: Cluster, pid: int) -> None:
    """Leave a lock file as a killed postmaster of that number would."""
    cluster.stop()
    path = cluster.data_dir / "postmaster.pid"
    path.write_text(f"{pid}\n{cluster.data_dir}\n1\n5432\n\n127.0.0.1\n")
    os.chown(path, server_user().uid, server_user().gid)


def assert_starts_soon(cluster: Cluster) -> None:
    began = time.monotonic()
    cluster.start()
    assert time.monotonic() - began < PATIENCE_SECONDS
    with psycopg.connect(cluster.url()) as connection:
        assert connection.execute("select 1").fetchone() == (1,)


def test_a_lock_file_of_a_zombie_does_not_keep_a_server_from_starting(cluster: Cluster) -> None:
    """Nobody may ever reap it, as in a container without an init."""
    zombie = spawn("true")
    while started_ticks(zombie.pid) is not None:
        time.sleep(0.01)
    lock_file(cluster, zombie.pid)
    assert_starts_soon(cluster)
    zombie.wait()


def test_a_lock_file_that_names_a_stranger_does_not_either_and_the_stranger_lives(
    cluster: Cluster, sleeper: subprocess.Popen[bytes]
) -> None:
    lock_file(cluster, sleeper.pid)
    assert_starts_soon(cluster)
    assert sleeper.poll() is None


def test_a_postmaster_that_was_left_on_the_data_is_ended_first(cluster: Cluster) -> None:
    """It has not heard that its supervisor died."""
    cluster.stop()
    port = free_port()
    left = start_child(
        [bin_directory() / "postgres", "-D", cluster.data_dir, "-c", f"port={port}",
         "-c", "unix_socket_directories=", "-c", "listen_addresses=127.0.0.1"],
        log=cluster.log, env={"PATH": os.defpath, "LC_ALL": "C.UTF-8"}, user=server_user(),
    )  # fmt: skip
    while not (cluster.data_dir / "postmaster.pid").exists():
        time.sleep(0.01)
    assert_starts_soon(cluster)
    assert left.wait(5) == 0
    assert cluster.pid not in (None, left.pid)


def test_who_has_a_port_is_named_and_another_one_is_proposed() -> None:
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        holder.listen()
        port = holder.getsockname()[1]
        assert listener_on(port) == os.getpid()
        with pytest.raises(PortTaken) as refused:
            check_free(port, option="--port", asked=(port, port + 1))
    said = str(refused.value)
    assert f"port {port} is taken by process {os.getpid()} (" in said
    assert int(said.rpartition("--port ")[2]) > port + 1
    assert listener_on(port) is None
    check_free(port, option="--port")
