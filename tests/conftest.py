"""Fixtures of all tests: a database of its own, with real commits, for a test that asks for `fresh_db`."""

from __future__ import annotations

import dataclasses
import itertools
import os
from collections.abc import Iterator

import psycopg
import pytest
from django.conf import settings
from django.core.management import call_command
from django.db import connections
from pytest_django.plugin import DjangoDbBlocker

from tests.databases import FreshDatabase, Template, close_connections, url_of

NUMBERS = itertools.count(1)


@pytest.fixture(scope="session")
def migrated_template(
    django_test_environment: None, django_db_blocker: DjangoDbBlocker, worker_id: str
) -> Iterator[Template]:
    """Migrate a database once per process, for every `fresh_db` to be cloned from.

    Not pytest-django's own: that is set up only where a selected test bears its mark.
    """
    with psycopg.connect(url_of(os.environ["DATABASE_URL"], "postgres"), autocommit=True) as admin:
        template = Template(name=f"template_{worker_id}", admin=admin)
        template.drop(template.name)
        template.run("create database {}", template.name)
        with django_db_blocker.unblock(), pytest.MonkeyPatch.context() as patch:
            close_connections()
            patch.setitem(connections["default"].settings_dict, "NAME", template.name)
            call_command("migrate", verbosity=0)
            close_connections()
        yield template
        template.drop(template.name)


@pytest.fixture
def fresh_db(
    migrated_template: Template, django_db_blocker: DjangoDbBlocker, monkeypatch: pytest.MonkeyPatch
) -> Iterator[FreshDatabase]:
    """Point Django, the hot pool and DATABASE_URL at a database cloned for this test; dropped afterwards.

    Commits are real. Do not ask for `db` beside it.
    """
    name = f"{migrated_template.name}_{next(NUMBERS)}"
    url = url_of(os.environ["DATABASE_URL"], name)
    migrated_template.clone(name)
    with django_db_blocker.unblock():
        close_connections()
        # Connections of all threads share this dictionary.
        monkeypatch.setitem(connections["default"].settings_dict, "NAME", name)
        monkeypatch.setenv("DATABASE_URL", url)
        conf = dataclasses.replace(settings.LIYAGENT, database_url=url, direct_database_url=url)
        monkeypatch.setattr(settings, "LIYAGENT", conf)
        try:
            yield FreshDatabase(name=name, url=url)
        finally:
            close_connections()
            migrated_template.drop(name)
