"""The fixture `fresh_db`."""

from __future__ import annotations

import subprocess
import sys
import threading

import psycopg
import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.db import connection

from tests.databases import FreshDatabase


@pytest.mark.parametrize("turn", [1, 2, 3])
def test_commits_are_real_and_are_gone_for_the_next_test(
    fresh_db: FreshDatabase, turn: int
) -> None:
    assert not User.objects.exists()
    User.objects.create(username="ada")
    with psycopg.connect(fresh_db.url) as other:
        assert other.execute("select count(*) from auth_user").fetchone() == (1,)


def test_other_threads_reach_the_same_database(fresh_db: FreshDatabase) -> None:
    names: list[str] = []

    def look() -> None:
        names.append(User.objects.using("default").get().username)
        names.append(connection.settings_dict["NAME"])
        connection.close()

    User.objects.create(username="ada")
    thread = threading.Thread(target=look)
    thread.start()
    thread.join()
    assert names == ["ada", fresh_db.name]


def test_settings_and_child_processes_are_told(fresh_db: FreshDatabase) -> None:
    told = subprocess.run(
        [sys.executable, "-c", "import os; print(os.environ['DATABASE_URL'])"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert told.stdout.strip() == fresh_db.url == settings.LIYAGENT.direct_database_url


def test_a_session_left_open_does_not_keep_the_database(fresh_db: FreshDatabase) -> None:
    left = psycopg.connect(fresh_db.url)
    left.execute("select 1")


@pytest.mark.django_db
def test_db_after_fresh_db_still_sees_the_test_database() -> None:
    assert not User.objects.exists()
    assert connection.settings_dict["NAME"].startswith("test_liyagent")
    assert connection.settings_dict["NAME"].count("_") <= 2
