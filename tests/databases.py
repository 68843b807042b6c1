"""Databases of a test's own: cloned from a migrated template, with real commits, dropped afterwards."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import psycopg
from django.db import connections
from psycopg import sql

from liyagent.core.database import close_hot_pool

# Prefix of all names, as the server may be somebody's own.
OURS = "liyagent_tests"
TEMPLATE = f"{OURS}_migrated"


@dataclass(frozen=True, slots=True, kw_only=True)
class FreshDatabase:
    """A migrated database that is this test's alone; `url` is for child processes and further connections."""

    name: str
    url: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Template:
    """A migrated database that nobody is connected to, and a connection to clone it over."""

    name: str
    admin: psycopg.Connection

    def clone(self, name: str, *, source: str = "") -> None:
        """Make the database `name` a copy of this one, or of `source`, which nobody may be connected to either."""
        self.run("drop database if exists {} with (force)", name)
        self.run("create database {} template {}", name, source or self.name)

    def drop(self, name: str) -> None:
        """Drop the database `name` with all sessions in it."""
        self.run("drop database if exists {} with (force)", name)

    def run(self, statement: str, *names: str) -> None:
        """Run a statement on database names; outside a transaction, as these must be."""
        self.admin.execute(sql.SQL(statement).format(*(sql.Identifier(name) for name in names)))


@contextmanager
def is_made_here(name: str) -> Iterator[bool]:
    """Say whether what the session's processes share under this name is to be made here, before the block ends.

    Whoever asks meanwhile waits for that end. One that raises has not made it: the next is asked to.
    """
    path = Path(os.environ["LIYAGENT_STATE_DIR"], f"{name}.made")
    with path.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield os.fstat(file.fileno()).st_size == 0
        file.write("yes\n")


def drop_ours(url: str) -> None:
    """Leave no database of ours on a server that outlives the session."""
    with psycopg.connect(url_of(url, "postgres"), autocommit=True) as admin:
        names = admin.execute(
            "SELECT datname FROM pg_database WHERE starts_with(datname, %s)", [f"{OURS}_"]
        ).fetchall()
        for (name,) in names:
            Template(name=TEMPLATE, admin=admin).drop(name)


def close_connections() -> None:
    """Close Django's connections of this thread and the hot path's pool."""
    connections.close_all()
    close_hot_pool()


def url_of(url: str, name: str) -> str:
    """Return `url` with another database name."""
    return urlunsplit(urlsplit(url)._replace(path=f"/{name}"))
