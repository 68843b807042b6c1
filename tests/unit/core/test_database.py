"""The hot pool prepares its statements where its sessions are its own, and not behind a pooler (ruling 3b)."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import pytest
from django.conf import settings

from liyagent.core.database import close_hot_pool, hot_pool
from runs import hot
from tests.databases import FreshDatabase
from tests.fakes.pooler import Pooler

PREPARED = "SELECT count(*) FROM pg_prepared_statements"


@pytest.fixture
def pooled(fresh_db: FreshDatabase, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The hot pool leads through a pooler."""
    pooler = Pooler(fresh_db.url)
    close_hot_pool()
    monkeypatch.setattr(
        settings, "LIYAGENT", dataclasses.replace(settings.LIYAGENT, database_url=pooler.url)
    )
    yield
    close_hot_pool()
    pooler.close()


def ask_thrice() -> int:
    """Ask the same three times on one connection; how many statements it has prepared for that."""
    hot_pool().wait()  # asked while it opens its first connection, it opens a second
    for _ in range(3):
        assert hot.config_version(lambda: True) > 0
    with hot_pool().connection() as connection:
        row = connection.execute(PREPARED, prepare=False).fetchone()
    assert row is not None
    return int(row[0])


def test_what_is_asked_often_is_prepared(fresh_db: FreshDatabase) -> None:
    assert ask_thrice() == 1


@pytest.mark.field("FL-28")
def test_nothing_is_prepared_behind_a_pooler(pooled: None) -> None:
    assert ask_thrice() == 0
