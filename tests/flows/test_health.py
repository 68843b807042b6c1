"""Health."""

from __future__ import annotations

import dataclasses
import socket
import time

import pytest
from django.conf import settings
from django.db import connection
from django.test import Client

from liyagent.core.readiness import STATE
from tests.databases import FreshDatabase


def ready() -> tuple[int, dict[str, object]]:
    response = Client(raise_request_exception=False).get("/health/ready")
    return response.status_code, response.json()


def point_at(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    conf = dataclasses.replace(settings.LIYAGENT, database_url=url)
    monkeypatch.setattr(settings, "LIYAGENT", conf)


def test_a_process_with_its_database_is_ready(fresh_db: FreshDatabase) -> None:
    assert ready() == (200, {"status": "ready"})


def test_a_draining_process_is_live_and_not_ready(
    fresh_db: FreshDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(STATE, "is_draining", True)
    status, told = ready()
    assert status == 503
    assert told["missing"] == ["this process is draining: it takes no new work"]
    assert Client().get("/health/live").json() == {"status": "live"}


def test_each_reason_of_the_process_is_named(
    fresh_db: FreshDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(STATE, "reasons", {"the lease is lost", "a second reason"})
    assert ready()[1]["missing"] == ["a second reason", "the lease is lost"]


def test_a_migration_that_is_not_applied_is_named(fresh_db: FreshDatabase) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "DELETE FROM django_migrations WHERE app = 'access' AND name = '0001_apikey'"
        )
    status, told = ready()
    assert status == 503
    assert told["missing"] == [
        "migrations: access.0001_apikey not applied; run `manage.py migrate`"
    ]


def test_a_database_without_tables_is_not_ready(fresh_db: FreshDatabase) -> None:
    with connection.cursor() as cursor:
        cursor.execute("DROP TABLE django_migrations")
    assert ready()[1]["missing"] == ["migrations: none is applied; run `manage.py migrate`"]


def test_a_process_without_its_database_is_live_and_not_ready(
    fresh_db: FreshDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    point_at("postgresql://nobody@127.0.0.1:1/none", monkeypatch)
    status, told = ready()
    assert status == 503
    assert told["missing"] == ["database: no answer within 2 s (OperationalError)"]
    assert Client().get("/health/live").status_code == 200


def test_a_database_that_never_answers_does_not_hold_the_answer(
    fresh_db: FreshDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        point_at(f"postgresql://nobody@127.0.0.1:{port}/none", monkeypatch)
        began = time.monotonic()
        status, _ = ready()
        assert status == 503
        assert time.monotonic() - began < 20


def test_a_statement_that_never_ends_does_not_hold_the_answer(fresh_db: FreshDatabase) -> None:
    with connection.cursor() as cursor:
        cursor.execute("BEGIN; LOCK TABLE django_migrations IN ACCESS EXCLUSIVE MODE")
        began = time.monotonic()
        status, told = ready()
        cursor.execute("ROLLBACK")
    assert status == 503
    assert told["missing"] == ["database: no answer within 2 s (QueryCanceled)"]
    assert time.monotonic() - began < 20


@pytest.mark.parametrize("method", ["POST", "DELETE"])
def test_health_is_only_asked(fresh_db: FreshDatabase, method: str) -> None:
    assert Client().generic(method, "/health/live").status_code == 405
