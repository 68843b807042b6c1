"""A run queued in one process is heard of in the others at once, and the poll stands behind it."""

from __future__ import annotations

import dataclasses
import os
import resource
import threading
import time
from collections.abc import Callable, Iterator
from threading import Event

import pytest
from django.db import connection as django_connection
from pytest_django import Settings
from pytest_django.plugin import DjangoDbBlocker

from runs.listen import listen_until
from runs.wake import BELL, QUEUED, tell_queued
from tests.fakes.pooler import Pooler
from tests.unit.runs.sql import (
    NEXT,
    Connection,
    Server,
    add_holder,
    begin,
    claim,
    finish,
    mark,
    release,
    step,
    value,
    wait_for,
)

# With room for a machine that does other things.
PATIENCE_SECONDS = 5.0
LISTENERS = (
    "SELECT pid FROM pg_stat_activity WHERE query LIKE 'LISTEN %%' AND datname = current_database()"
)


@pytest.fixture
def listening(server: Server) -> Iterator[None]:
    """A process that listens, and has looked at what was queued before."""
    ended = Event()
    thread = threading.Thread(target=listen_until, args=(ended,), daemon=True)
    thread.start()
    wait_for(lambda: BELL.is_heard.is_set() and QUEUED.is_set())
    QUEUED.clear()
    yield
    ended.set()
    thread.join(5)
    assert not thread.is_alive()
    assert not BELL.is_heard.is_set()


def heard(call: Callable[[], object]) -> bool:
    """Whether the runner is woken soon after `call`."""
    QUEUED.clear()
    call()
    return QUEUED.wait(PATIENCE_SECONDS)


def queue(connection: Connection) -> object:
    """What another process does when it queued a run, once that is committed."""
    return connection.execute("NOTIFY liyagent_queued")


def test_a_run_queued_elsewhere_wakes_the_runner(server: Server, listening: None) -> None:
    """In some 10 ms, where the machine does nothing else."""
    connection = server.connect()

    def seconds() -> float:
        began = time.monotonic()
        assert heard(lambda: queue(connection))
        return time.monotonic() - began

    assert any(seconds() < 0.1 for _ in range(20))


def test_a_claim_a_hand_over_and_a_drain_wake_the_others(server: Server, listening: None) -> None:
    connection = server.connect()
    claimed, drained, given = (begin(connection) for _ in range(3))
    assert heard(lambda: claim(connection, claimed))
    assert heard(lambda: release(connection, drained, NEXT))
    hand_over = "SELECT * FROM liyagent_hand_over(%s)"
    assert heard(lambda: connection.execute(hand_over, [given.holder]).fetchall())


def test_nothing_else_wakes_them(server: Server, listening: None) -> None:
    """A commit that notifies takes a lock that all such commits share: no step and no mark does."""
    connection = server.connect()
    fence = begin(connection)
    waits = begin(connection)
    QUEUED.clear()
    step(connection, fence, NEXT)
    mark(connection, fence, NEXT + 1, index=1, intent="other")
    release(connection, waits, NEXT, is_handover=False, until_settled=True)
    finish(connection, fence, NEXT + 2)
    connection.execute("SELECT * FROM liyagent_hand_over(%s)", [add_holder(connection)])
    assert claim(connection, fence) == []
    assert not QUEUED.wait(0.1)


def test_many_starts_that_are_told_at_once_are_one_wake_up(server: Server, listening: None) -> None:
    connection = server.connect()
    with connection.transaction():
        for number in range(50):
            connection.execute("SELECT pg_notify('liyagent_queued', %s)", [str(number)])
    wait_for(QUEUED.is_set)
    QUEUED.clear()
    assert not QUEUED.wait(0.1)


def test_a_run_queued_here_is_told_to_the_others_and_wakes_this_runner_once(
    server: Server, listening: None, django_db_blocker: DjangoDbBlocker
) -> None:
    other = server.connect()
    other.execute("LISTEN liyagent_queued")
    with django_db_blocker.unblock():
        for _ in range(100):
            tell_queued()
    assert QUEUED.is_set()
    QUEUED.clear()
    told = [*other.notifies(timeout=5, stop_after=1), *other.notifies(timeout=0.1)]
    assert 1 <= len(told) < 100
    assert not QUEUED.wait(0.1)  # what it told itself comes back to it, and is none of its business


def test_a_command_that_listens_to_nobody_tells_too(
    server: Server, django_db_blocker: DjangoDbBlocker
) -> None:
    other = server.connect()
    other.execute("LISTEN liyagent_queued")
    with django_db_blocker.unblock():
        tell_queued()
    assert len(list(other.notifies(timeout=5, stop_after=1))) == 1


def test_who_cannot_tell_says_so_and_goes_on(
    server: Server,
    django_db_blocker: DjangoDbBlocker,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The run is committed: its caller must not hear that the start failed."""
    with django_db_blocker.unblock():
        django_connection.ensure_connection()
        server.watcher.execute(
            "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
        QUEUED.clear()
        tell_queued()
    assert QUEUED.is_set()
    assert "not told that a run is queued" in caplog.text


def test_a_session_that_is_ended_is_made_anew_and_looks_at_what_it_missed(
    server: Server, listening: None, settings: Settings
) -> None:
    settings.LIYAGENT = dataclasses.replace(settings.LIYAGENT, poll_seconds=0.05)
    connection = server.connect()
    pid = value(connection, LISTENERS)
    QUEUED.clear()
    connection.execute("SELECT pg_terminate_backend(%s, 5000)", [pid])
    wait_for(lambda: QUEUED.is_set() and BELL.is_heard.is_set())
    assert value(connection, LISTENERS) != pid
    assert heard(lambda: queue(connection))


def test_behind_a_pooler_nobody_listens(server: Server, settings: Settings) -> None:
    pooler = Pooler(server.url)
    settings.LIYAGENT = dataclasses.replace(settings.LIYAGENT, direct_database_url=pooler.url)
    ended = Event()
    thread = threading.Thread(target=listen_until, args=(ended,), daemon=True)
    thread.start()
    thread.join(0.1)
    assert thread.is_alive()  # a thread that ends would end the process
    assert not BELL.is_heard.is_set()
    ended.set()
    thread.join(5)
    assert not thread.is_alive()
    pooler.close()


def test_a_process_with_more_files_than_select_takes_listens_too(server: Server) -> None:
    """Two thousand streams are as many files: a connection that is made anew has a number beyond them."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 4096), hard))
    null = os.open(os.devnull, os.O_RDONLY)
    taken = [null]
    ended = Event()
    thread = threading.Thread(target=listen_until, args=(ended,), daemon=True)
    connection = server.connect()
    try:
        while taken[-1] < 1024:
            taken.append(os.dup(null))
        thread.start()
        wait_for(BELL.is_heard.is_set)
        assert heard(lambda: queue(connection))
    finally:
        ended.set()
        thread.join(5)
        for number in taken:
            os.close(number)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
