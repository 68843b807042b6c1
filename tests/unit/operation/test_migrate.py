"""Two that migrate at once."""

from __future__ import annotations

import io
import threading

import psycopg
from django.core.management import call_command

from liyagent.operation.management.commands.migrate import LOCK, TRY
from tests.databases import FreshDatabase, close_connections


def test_a_migrate_waits_for_another_one_and_says_so(fresh_db: FreshDatabase) -> None:
    told, said = io.StringIO(), threading.Event()
    told_write = told.write

    def write(text: str) -> int:
        said.set()
        return told_write(text)

    told.write = write  # type: ignore[method-assign]  # to hear of the first word

    def migrate() -> None:
        call_command("migrate", verbosity=0, stderr=told)
        close_connections()

    second = threading.Thread(target=migrate, daemon=True)
    with psycopg.connect(fresh_db.url, autocommit=True) as first:
        assert first.execute(TRY, (LOCK,)).fetchone() == (True,)
        second.start()
        assert said.wait(timeout=20)
        assert second.is_alive()
    second.join(timeout=20)
    assert not second.is_alive()
    assert told.getvalue().strip() == "another migrate is under way: waiting for its end"


def test_the_lock_is_free_again_after_a_migrate(fresh_db: FreshDatabase) -> None:
    call_command("migrate", verbosity=0)
    with psycopg.connect(fresh_db.url, autocommit=True) as next_one:
        assert next_one.execute(TRY, (LOCK,)).fetchone() == (True,)
