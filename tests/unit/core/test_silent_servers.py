"""A database that is gone without a word is noticed in seconds, on every way to it (ruling 10)."""

from __future__ import annotations

import dataclasses
import os
import socket

import pytest
from django.conf import settings
from django.db import InternalError, transaction
from django.db import connection as django_connection
from django.db.backends.signals import connection_created

from liyagent.agents.models import ConfigVersion
from liyagent.core import database
from liyagent.core.database import (
    cut_off_who_is_silent,
    direct_connection,
    django_database,
    hot_pool,
)
from tests.databases import FreshDatabase

IDLE, UNANSWERED = socket.TCP_KEEPIDLE, socket.TCP_USER_TIMEOUT


def option(file: int, name: int) -> int:
    """Return what the system was told of this connection."""
    with socket.socket(fileno=os.dup(file)) as seen:
        return seen.getsockopt(socket.IPPROTO_TCP, name)


@pytest.mark.field("FL-19")
def test_every_connection_gives_a_silent_server_ten_seconds(fresh_db: FreshDatabase) -> None:
    django_connection.ensure_connection()
    with direct_connection() as direct, hot_pool().connection() as hot:
        for connection in (direct, hot, django_connection.connection):
            assert option(connection.fileno(), UNANSWERED) == 10_000
            assert option(connection.fileno(), IDLE) == 5


def test_what_the_address_says_itself_stands(
    fresh_db: FreshDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = f"{fresh_db.url}?tcp_user_timeout=2000"
    conf = dataclasses.replace(settings.LIYAGENT, direct_database_url=url)
    monkeypatch.setattr(settings, "LIYAGENT", conf)
    assert django_database(url)["OPTIONS"]["tcp_user_timeout"] == "2000"
    with direct_connection() as direct:
        assert option(direct.fileno(), UNANSWERED) == 2000


@pytest.mark.promise("CR-13")
def test_a_process_that_stalls_inside_a_transaction_loses_what_it_locked(
    fresh_db: FreshDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As one that is frozen in the middle of a decision: the head is free for whoever takes its run over."""
    monkeypatch.setattr(database, "MOST_SILENT_SECONDS", 0.2)
    receivers = list(connection_created.receivers)
    cut_off_who_is_silent()
    try:
        django_connection.close()
        with pytest.raises(InternalError, match="idle-in-transaction"):
            stall_in_a_transaction()
    finally:
        connection_created.receivers = receivers
        django_connection.close()


def stall_in_a_transaction() -> None:
    """Lock a row, say nothing until another has it, and go on."""
    with transaction.atomic():
        ConfigVersion.objects.select_for_update().get(id=1)
        with direct_connection() as other:
            other.execute("SET lock_timeout = '5s'")
            other.execute("UPDATE agents_configversion SET version = version WHERE id = 1")
        ConfigVersion.objects.get(id=1)
