"""The place is set up once; each test finds both processes alive."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from liyagent.launcher.ephemeral import DATABASE
from tests.memory import place_in_memory
from tests.processes.place import Place, make_whole, open_place


@pytest.fixture(scope="session")
def built_place() -> Iterator[Place]:
    """Two processes that reach their database directly.

    Not below pytest's own directories: the server's user may not enter those.
    """
    with (
        tempfile.TemporaryDirectory(
            prefix="liyagent-processes-", dir=place_in_memory()
        ) as directory,
        open_place(
            Path(directory), urls=lambda cluster, _stack: {"DATABASE_URL": cluster.url(DATABASE)}
        ) as place,
    ):
        yield place


@pytest.fixture
def place(built_place: Place) -> Place:
    """The place with A and B alive, whatever the test before did to them."""
    make_whole(built_place.stage)
    return built_place
