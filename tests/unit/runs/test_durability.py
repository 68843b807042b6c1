"""What a start asks of the database's durability, and what it only tells of (ruling 40)."""

from __future__ import annotations

import logging

import pytest
from pytest_django.plugin import DjangoDbBlocker

from runs.durability import check_durability
from tests.unit.runs.sql import Server

UNTOLD = (
    "CREATE OR REPLACE FUNCTION liyagent_timeline() RETURNS int LANGUAGE sql STABLE AS 'SELECT 0'"
)


def test_a_server_that_tells_its_timeline_is_taken_without_a_word(
    server: Server, django_db_blocker: DjangoDbBlocker, caplog: pytest.LogCaptureFixture
) -> None:
    with django_db_blocker.unblock(), caplog.at_level(logging.WARNING):
        check_durability(allow_unsafe=True)
    assert "timeline" not in caplog.text


def test_a_server_that_does_not_is_taken_and_told_of(
    server: Server, django_db_blocker: DjangoDbBlocker, caplog: pytest.LogCaptureFixture
) -> None:
    server.watcher.execute(UNTOLD)
    with django_db_blocker.unblock(), caplog.at_level(logging.WARNING):
        check_durability(allow_unsafe=True)
    assert "does not tell its timeline" in caplog.text
