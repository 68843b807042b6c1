"""The fixture of the hot path's tests."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from tests.databases import FreshDatabase
from tests.unit.runs.sql import Server


@pytest.fixture
def server(fresh_db: FreshDatabase) -> Iterator[Server]:
    """Sessions on a database of the test's own."""
    with ExitStack() as stack:
        yield Server(fresh_db, stack)
