"""`manage.py check --deploy`: silent where all is as it should be, and each check speaks where it is not."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import pytest
from django.conf import settings as django_settings
from django.contrib.auth.models import User
from django.core import checks
from django.db import connection, connections

from liyagent.access.users import create_user
from liyagent.agents.definitions import save_agent
from liyagent.agents.models import Agent
from liyagent.core.checks import TAG
from liyagent.core.conf import new_seal_key, read_conf
from liyagent.gateway.models import ToolServer, Transport
from liyagent.gateway.policy_versions import load_policy
from liyagent.operation.database_roles import roles_sql
from tests.databases import FreshDatabase
from tests.fakes.pooler import Pooler

ROOT = Path(__file__).resolve().parents[2]
# As people did it before there was a command, which is too much.
LOOSE = """
GRANT USAGE ON SCHEMA public TO {role};
GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO {role};
"""


def conf_with(monkeypatch: pytest.MonkeyPatch, **changes: Any) -> None:
    """Change the settings as a process read them."""
    conf = dataclasses.replace(django_settings.LIYAGENT, **changes)
    monkeypatch.setattr(django_settings, "LIYAGENT", conf)


def said() -> set[str]:
    """The ids of our own checks that speak."""
    found = checks.run_checks(tags=[TAG], include_deployment_checks=True)
    assert all(it.hint for it in found)
    return {str(it.id) for it in found}


@pytest.fixture
def production(
    fresh_db: FreshDatabase, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> FreshDatabase:
    """As it should be, but for the role: a policy, an administrator, settings of production."""
    load_policy('@id("all") permit(principal, action, resource);', name="p", actor="test")
    create_user("ada", role="administrator", actor="test")
    conf_with(
        monkeypatch,
        state_dir=tmp_path,
        proxies=1,
        https=True,
        allowed_private_hosts=("10.1.0.0/16", "db.internal"),
    )
    return fresh_db


def test_all_is_silent_where_all_is_as_it_should_be(
    production: FreshDatabase, tmp_path: Path
) -> None:
    """A process of its own, in the environment of a production, with a role that owns nothing."""
    role = f"runtime_{production.name}"
    with connection.cursor() as cursor:
        cursor.execute(f"CREATE ROLE {role} LOGIN PASSWORD 'runtime'")
        cursor.execute(roles_sql(role))
    parts = urlsplit(production.url)
    place = parts.netloc.rpartition("@")[2]
    env = {
        **{name: value for name, value in os.environ.items() if not name.startswith("LIYAGENT_")},
        "DATABASE_URL": urlunsplit(parts._replace(netloc=f"{role}:runtime@{place}")),
        "LIYAGENT_STATE_DIR": str(tmp_path),
        "LIYAGENT_SECRET_KEY": "".join(chr(48 + it) for it in range(60)),
        "LIYAGENT_SEAL_KEYS": new_seal_key(),
        "LIYAGENT_ALLOWED_HOSTS": "liyagent.example.com",
        "LIYAGENT_PROXIES": "1",
    }
    try:
        ended = subprocess.run(
            [sys.executable, "manage.py", "check", "--deploy", "--fail-level", "WARNING"],
            cwd=ROOT,
            env=env,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
    finally:
        with connection.cursor() as cursor:
            cursor.execute(f"DROP OWNED BY {role}; DROP ROLE {role}")
    assert ended.returncode == 0, ended.stderr
    assert "no issues" in ended.stdout


def test_only_the_role_is_told_of_where_the_rest_is_as_it_should_be(
    production: FreshDatabase,
) -> None:
    assert said() == {"liyagent.W002"}


@pytest.mark.promise("ruling 28")
def test_a_role_that_owns_tables_is_told(production: FreshDatabase) -> None:
    with connection.cursor() as cursor:
        cursor.execute(f"CREATE ROLE owner_{production.name} LOGIN")
        cursor.execute(f"GRANT USAGE ON SCHEMA public TO owner_{production.name}")
        cursor.execute(f"GRANT SELECT ON ALL TABLES IN SCHEMA public TO owner_{production.name}")
        cursor.execute(f"ALTER TABLE events_runevent OWNER TO owner_{production.name}")
        cursor.execute(f"SET ROLE owner_{production.name}")
        try:
            assert "liyagent.W003" in said()
        finally:
            cursor.execute("RESET ROLE")
            cursor.execute("ALTER TABLE events_runevent OWNER TO CURRENT_USER")
            cursor.execute(f"DROP OWNED BY owner_{production.name}")
            cursor.execute(f"DROP ROLE owner_{production.name}")


@pytest.mark.promise("ruling 28")
@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("GRANT INSERT ON events_runevent TO {role}", {"liyagent.W060"}),
        ("GRANT UPDATE (detail) ON audit_auditrow TO {role}", {"liyagent.W060"}),
        ("GRANT TRUNCATE ON events_eventhead TO {role}", {"liyagent.W060"}),
        ("GRANT UPDATE (author) ON handoffs_version TO {role}", {"liyagent.W060"}),
        ("GRANT DELETE ON handoffs_snapshot TO {role}", {"liyagent.W060"}),
        ("UPDATE events_retention SET days = 366", {"liyagent.W061"}),
        ("UPDATE events_retention SET days = 0", {"liyagent.W061"}),
        ("UPDATE events_retention SET days = 364", set()),
        (LOOSE, {"liyagent.W060"}),
    ],
)
def test_a_role_that_was_given_more_than_it_needs_is_told(
    production: FreshDatabase, given: str, told: set[str]
) -> None:
    role = f"runtime_{production.name}"
    with connection.cursor() as cursor:
        cursor.execute(f"CREATE ROLE {role}")
        cursor.execute(roles_sql(role))
        cursor.execute(given.format(role=role))
        cursor.execute(f"SET ROLE {role}")
        try:
            assert said() == told
        finally:
            cursor.execute("RESET ROLE")
            cursor.execute(f"DROP OWNED BY {role}")
            cursor.execute(f"DROP ROLE {role}")


def test_a_database_that_does_not_answer_is_told_once(
    production: FreshDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    nowhere = "postgresql://nobody:x@127.0.0.1:1/none?connect_timeout=1"
    conf_with(monkeypatch, direct_database_url=nowhere)
    connections.close_all()
    with monkeypatch.context() as patch:
        patch.setitem(connections["default"].settings_dict, "PORT", "1")
        assert said() == {"liyagent.E001", "liyagent.E004"}
        connections.close_all()


def test_a_pooler_in_the_direct_way_is_told(
    production: FreshDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    pooler = Pooler(production.url)
    with contextlib.closing(pooler):
        conf_with(monkeypatch, direct_database_url=pooler.url)
        assert "liyagent.W005" in said()


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"debug": True}, "liyagent.E006"),
        ({"allowed_hosts": ("*",)}, "liyagent.W007"),
        ({"https": False}, "liyagent.W008"),
        ({"proxies": 0}, "liyagent.W009"),
        ({"allowed_private_hosts": ("0.0.0.0/0",)}, "liyagent.W010"),
        ({"allowed_private_hosts": ("::/0",)}, "liyagent.W010"),
        ({"allowed_private_hosts": ("169.254.0.0/16",)}, "liyagent.W010"),
        ({"allowed_private_hosts": ("169.254.169.254",)}, "liyagent.W010"),
        ({"allowed_private_hosts": ("metadata.google.internal",)}, "liyagent.W010"),
        ({"seal_keys": tuple((f"k{it}", bytes(32)) for it in range(6))}, "liyagent.W013"),
    ],
)
def test_a_setting_of_no_production_is_told(
    production: FreshDatabase, monkeypatch: pytest.MonkeyPatch, changes: dict[str, Any], told: str
) -> None:
    conf_with(monkeypatch, **changes)
    assert said() == {"liyagent.W002", told}


def test_secrets_made_for_development_are_told(
    production: FreshDatabase, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    made = read_conf(
        {
            "DATABASE_URL": production.url,
            "LIYAGENT_DEBUG": "1",
            "LIYAGENT_STATE_DIR": str(tmp_path),
        },
        base_dir=tmp_path,
    )
    conf_with(monkeypatch, secret_key=made.secret_key, seal_keys=made.seal_keys)
    assert said() == {"liyagent.W002", "liyagent.E011", "liyagent.E012"}


@pytest.mark.parametrize("kept", ["environment", "file", "its name"])
def test_an_administrator_with_the_demos_password_is_told(
    production: FreshDatabase, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, kept: str
) -> None:
    word = "bob" if kept == "its name" else "seeded-Xy_12"
    User.objects.create_superuser("bob", password=word)
    if kept == "environment":
        monkeypatch.setenv("LIYAGENT_ADMIN_PASSWORD", word)
    if kept == "file":
        (tmp_path / "admin-password").write_text(f"{word}\n")
    assert said() == {"liyagent.W002", "liyagent.E021"}


def test_no_administrator_no_policy_and_what_nothing_registers_are_told(
    production: FreshDatabase,
) -> None:
    User.objects.all().delete()
    with connection.cursor() as cursor:
        cursor.execute("UPDATE gateway_policy SET is_active = false")
    ToolServer.objects.create(key="git", transport=Transport.STDIO, command="git")
    save_agent({"key": "a", "name": "A", "provider": "scripted", "model": "m"}, actor="test")
    Agent.objects.update(hooks=["nobodys"])
    assert said() == {
        *("liyagent.W002", "liyagent.W020", "liyagent.W040", "liyagent.E041", "liyagent.E042")
    }


@pytest.mark.promise("ruling 28")
@pytest.mark.parametrize(
    "change",
    [
        "ALTER TABLE events_runevent DISABLE TRIGGER events_runevent_refuse_rows",
        "ALTER TABLE audit_auditrow ENABLE TRIGGER audit_auditrow_refuse_truncate",
        "DROP TRIGGER audit_auditrow_refuse_rows ON audit_auditrow",
        "ALTER TABLE events_eventhead DISABLE TRIGGER events_eventhead_refuse_rows",
        "ALTER TABLE events_purgecertificate DISABLE TRIGGER events_purgecertificate_certify",
        "ALTER TABLE events_retention DISABLE TRIGGER USER",
        "ALTER TABLE handoffs_version DISABLE TRIGGER handoffs_version_refuse_rows",
    ],
)
def test_a_trigger_that_does_not_always_fire_is_told(
    production: FreshDatabase, change: str
) -> None:
    with connection.cursor() as cursor:
        cursor.execute(change)
    assert said() == {"liyagent.W002", "liyagent.E050"}


@pytest.mark.parametrize("name", ["liyagent_finish", "liyagent_judge_saga", "liyagent_hand"])
def test_a_missing_function_is_told(production: FreshDatabase, name: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(f"ALTER FUNCTION {name} RENAME TO another")
    assert said() == {"liyagent.W002", "liyagent.E051"}


def test_a_server_that_may_forget_is_told(production: FreshDatabase) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SET synchronous_commit = off")
    assert said() == {"liyagent.W002", "liyagent.E052"}
