"""A database split by role: one owns the tables and is no superuser, one serves; and a world that is carried by the latter."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import psycopg
import pytest
from django.conf import settings
from django.db import connections
from psycopg import sql

from liyagent.operation.database_roles import roles_sql
from tests.databases import OURS, FreshDatabase, Template, close_connections
from tests.unit.runs.carrying.conftest import World, world

__all__ = ["world"]

PASSWORD = "of-these-tests-alone"
OWN = """
DO $$
DECLARE v record;
BEGIN
    EXECUTE 'GRANT ALL ON SCHEMA public TO {owner}';
    FOR v IN SELECT c.oid::regclass AS name FROM pg_class c
        WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'S')
            AND NOT EXISTS (SELECT 1 FROM pg_depend d WHERE d.objid = c.oid AND d.deptype IN ('a', 'i')) LOOP
        EXECUTE format('ALTER TABLE %s OWNER TO {owner}', v.name);
    END LOOP;
    FOR v IN SELECT p.oid::regprocedure AS name FROM pg_proc p WHERE p.pronamespace = 'public'::regnamespace LOOP
        EXECUTE format('ALTER FUNCTION %s OWNER TO {owner}', v.name);
    END LOOP;
END $$
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Roles:
    """A split database, reached by either role."""

    owner: str
    runtime: str
    owner_url: str
    runtime_url: str

    @contextmanager
    def as_owner(self) -> Iterator[psycopg.Connection[tuple[Any, ...]]]:
        """A session of who owns the tables."""
        with psycopg.connect(self.owner_url, autocommit=True) as session:
            yield session

    @contextmanager
    def as_runtime(self) -> Iterator[psycopg.Connection[tuple[Any, ...]]]:
        """A session of who serves."""
        with psycopg.connect(self.runtime_url, autocommit=True) as session:
            yield session


def as_role(url: str, role: str) -> str:
    """The same database, as another role."""
    parts = urlsplit(url)
    place = parts.netloc.rpartition("@")[2]
    return urlunsplit(parts._replace(netloc=f"{role}:{PASSWORD}@{place}"))


@pytest.fixture(scope="session")
def split_names(worker_id: str) -> tuple[str, str, str]:
    """The owner's, the runtime's and the template's, of this worker alone."""
    return tuple(f"{OURS}_{worker_id}_{it}" for it in ("owner", "serve", "split"))  # type: ignore[return-value]  # three


@pytest.fixture(scope="session")
def split_template(migrated_template: Template, split_names: tuple[str, str, str]) -> Iterator[str]:
    """The migrated database, its tables given to an owner, and the runtime's rights given by that owner."""
    owner, runtime, name = split_names
    admin = migrated_template.admin
    migrated_template.clone(name)
    place = f"{urlunsplit(urlsplit(_url(admin))._replace(path='/' + name))}"
    try:
        for role in (owner, runtime):
            admin.execute(
                sql.SQL("CREATE ROLE {} LOGIN PASSWORD {}").format(
                    sql.Identifier(role), sql.Literal(PASSWORD)
                )
            )
        with psycopg.connect(place, autocommit=True) as session:
            session.execute(OWN.format(owner=owner))
        with psycopg.connect(as_role(place, owner), autocommit=True) as session:
            session.execute(roles_sql(runtime))
        yield name
    finally:
        migrated_template.drop(name)
        admin.execute(sql.SQL("DROP ROLE IF EXISTS {}").format(sql.Identifier(runtime)))
        admin.execute(sql.SQL("DROP ROLE IF EXISTS {}").format(sql.Identifier(owner)))


def _url(admin: psycopg.Connection[Any]) -> str:
    info = admin.info
    return f"postgresql://{info.user}:{info.password}@{info.host}:{info.port}/{info.dbname}"


@pytest.fixture
def cloned_from(split_template: str) -> str:
    return split_template


@pytest.fixture
def roles(fresh_db: FreshDatabase, split_names: tuple[str, str, str]) -> Roles:
    """The test's database, by role. Django is still a superuser's."""
    owner, runtime, _ = split_names
    return Roles(
        owner=owner,
        runtime=runtime,
        owner_url=as_role(fresh_db.url, owner),
        runtime_url=as_role(fresh_db.url, runtime),
    )


@pytest.fixture
def served(roles: Roles, monkeypatch: pytest.MonkeyPatch) -> Iterator[Roles]:
    """Django and the hot path connect as who serves."""
    close_connections()
    known = connections["default"].settings_dict
    monkeypatch.setitem(known, "USER", roles.runtime)
    monkeypatch.setitem(known, "PASSWORD", PASSWORD)
    url = roles.runtime_url
    conf = dataclasses.replace(settings.LIYAGENT, database_url=url, direct_database_url=url)
    monkeypatch.setattr(settings, "LIYAGENT", conf)
    monkeypatch.setenv("DATABASE_URL", url)
    yield roles
    close_connections()


@pytest.fixture
def served_world(served: Roles, world: World) -> World:
    """The small world, its processes serving as the runtime role."""
    return world
