"""Where the tests' PostgreSQL lies."""

from __future__ import annotations

import fcntl
from pathlib import Path

import pytest

from tests import memory


@pytest.fixture
def cluster(tmp_path: Path) -> Path:
    """What a session leaves that was killed."""
    left = tmp_path / "liyagent-postgres-x"
    (left / "data").mkdir(parents=True)
    (left / "data.lock").touch()
    return left


def test_what_a_killed_session_left_is_removed(cluster: Path) -> None:
    memory.remove_orphans(cluster.parent)
    assert not cluster.exists()


def test_what_another_session_uses_is_kept(cluster: Path) -> None:
    with (cluster / "data.lock").open() as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        memory.remove_orphans(cluster.parent)
        assert cluster.exists()


def test_what_is_just_being_made_and_what_is_not_ours_are_kept(cluster: Path) -> None:
    (cluster / "data.lock").unlink()
    memory.remove_orphans(cluster.parent)
    assert cluster.exists()


def test_without_room_in_memory_it_lies_on_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "ROOM", 1 << 60)
    assert memory.place_in_memory() is None


def test_without_a_file_system_in_memory_it_lies_on_disk(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(memory, "SHARED", tmp_path / "none")
    assert memory.place_in_memory() is None
