"""Fixtures of all tests: a database of its own, with real commits, for a test that asks for `fresh_db`."""

from __future__ import annotations

import dataclasses
import itertools
import os
from collections.abc import Iterator

import psycopg
import pytest
from django.conf import settings
from django.contrib.auth.hashers import PBKDF2PasswordHasher
from django.core.management import call_command
from django.db import connections
from pytest_django.plugin import DjangoDbBlocker

from liyagent.leases.own import OWN
from tests.databases import (
    OURS,
    TEMPLATE,
    FreshDatabase,
    Template,
    close_connections,
    is_made_here,
    url_of,
)

NUMBERS = itertools.count(1)
HASHINGS = 1000


@pytest.fixture(scope="session", autouse=True)
def quick_passwords() -> Iterator[None]:
    """Hash passwords as in use, but a thousand times instead of a million: each takes a third of a second there."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(PBKDF2PasswordHasher, "iterations", HASHINGS)
        yield


@pytest.fixture(scope="session")
def migrated_template(
    django_test_environment: None, django_db_blocker: DjangoDbBlocker
) -> Iterator[Template]:
    """Migrate a database once, in the process that first needs it, for every `fresh_db` to be cloned from.

    Not pytest-django's own: that is set up only where a selected test bears its mark.
    """
    with psycopg.connect(url_of(os.environ["DATABASE_URL"], "postgres"), autocommit=True) as admin:
        template = Template(name=TEMPLATE, admin=admin)
        with is_made_here(TEMPLATE) as is_first:
            if is_first:
                template.drop(template.name)
                template.run("create database {}", template.name)
                with django_db_blocker.unblock(), pytest.MonkeyPatch.context() as patch:
                    close_connections()
                    patch.setitem(connections["default"].settings_dict, "NAME", template.name)
                    call_command("migrate", verbosity=0)
                    close_connections()
        yield template


@pytest.fixture(scope="session")
def django_db_modify_db_settings(
    migrated_template: Template, django_db_modify_db_settings_parallel_suffix: None
) -> None:
    """Let pytest-django's own database be a clone too: its migrations find nothing to do."""
    connections["default"].settings_dict["TEST"]["TEMPLATE"] = migrated_template.name


@pytest.fixture
def cloned_from(migrated_template: Template) -> str:
    """The database that `fresh_db` is a clone of; a module that wants one with rows says so by its own."""
    return migrated_template.name


@pytest.fixture
def fresh_db(
    migrated_template: Template,
    cloned_from: str,
    worker_id: str,
    django_db_blocker: DjangoDbBlocker,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[FreshDatabase]:
    """Point Django, the hot pool and DATABASE_URL at a database cloned for this test; dropped afterwards.

    Commits are real. Do not ask for `db` beside it.
    """
    name = f"{OURS}_{worker_id}_{next(NUMBERS)}"
    url = url_of(os.environ["DATABASE_URL"], name)
    migrated_template.clone(name, source=cloned_from)
    with django_db_blocker.unblock():
        close_connections()
        # Connections of all threads share this dictionary.
        monkeypatch.setitem(connections["default"].settings_dict, "NAME", name)
        monkeypatch.setenv("DATABASE_URL", url)
        conf = dataclasses.replace(settings.LIYAGENT, database_url=url, direct_database_url=url)
        monkeypatch.setattr(settings, "LIYAGENT", conf)
        # A holder of another test's database is none in this one: what it claims would be free for all.
        monkeypatch.setattr(OWN, "holder", None)
        try:
            yield FreshDatabase(name=name, url=url)
        finally:
            close_connections()
            migrated_template.drop(name)
