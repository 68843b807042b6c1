"""Places and clusters for the launcher's tests."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from liyagent.launcher.cluster import Cluster
from liyagent.launcher.users import server_user
from tests.memory import place_in_memory


@contextmanager
def temporary_place(below: Path | None = None) -> Iterator[Path]:
    """Make a short path that the server's user may enter; pytest's own temporary directories are closed."""
    place = Path(tempfile.mkdtemp(prefix="liyagent-launcher-", dir=below))
    os.chown(place, server_user().uid, server_user().gid)
    try:
        yield place
    finally:
        shutil.rmtree(place)


@pytest.fixture
def place() -> Iterator[Path]:
    """A directory of this test's own."""
    with temporary_place(place_in_memory()) as place:
        yield place


@pytest.fixture
def cluster(place: Path) -> Iterator[Cluster]:
    """A running cluster of this test's own, which it may stop and break."""
    with Cluster(place / "data") as cluster:
        yield cluster


@pytest.fixture(scope="module")
def running() -> Iterator[Cluster]:
    """A running cluster that a module's tests share: they leave it running."""
    with temporary_place(place_in_memory()) as place, Cluster(place / "data") as cluster:
        yield cluster
