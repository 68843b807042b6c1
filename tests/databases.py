"""Databases of a test's own: cloned from a migrated template, with real commits, dropped afterwards."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlsplit, urlunsplit

import psycopg
from django.db import connections
from psycopg import sql

from liyagent.core.database import close_hot_pool


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

    def clone(self, name: str) -> None:
        """Make the database `name` a copy of this one."""
        self.run("drop database if exists {} with (force)", name)
        self.run("create database {} template {}", name, self.name)

    def drop(self, name: str) -> None:
        """Drop the database `name` with all sessions in it."""
        self.run("drop database if exists {} with (force)", name)

    def run(self, statement: str, *names: str) -> None:
        """Run a statement on database names; outside a transaction, as these must be."""
        self.admin.execute(sql.SQL(statement).format(*(sql.Identifier(name) for name in names)))


def close_connections() -> None:
    """Close Django's connections of this thread and the hot path's pool."""
    connections.close_all()
    close_hot_pool()


def url_of(url: str, name: str) -> str:
    """Return `url` with another database name."""
    return urlunsplit(urlsplit(url)._replace(path=f"/{name}"))
