"""Users and roles, made without knowing Django."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from django.core.management import call_command
from django.test import Client

from liyagent.access.errors import LastOfItsKind, UserTaken, UserUnknown
from liyagent.access.keys import create_key, key_of
from liyagent.access.roles import PERMISSIONS, ROLES
from liyagent.access.users import create_user, set_password, switch_user
from liyagent.audit.models import AuditRow
from liyagent.core.errors import BadInput
from tests.databases import FreshDatabase

WORDS = "transcripts.content.read"
CHANGES = ("add_", "change_", "delete_", "operate")


def made(role: str) -> User:
    """A user of a role, as the database knows them."""
    create_user(role, role=role, actor="test")
    return User.objects.get(username=role)


def test_a_fresh_database_has_the_roles_with_all_that_they_name(fresh_db: FreshDatabase) -> None:
    assert set(ROLES) == set(PERMISSIONS)
    for name, wanted in PERMISSIONS.items():
        assert made(name).get_all_permissions() == set(wanted)


def test_words_are_for_the_auditor_alone_and_changes_for_the_operator(
    fresh_db: FreshDatabase,
) -> None:
    users = {role: made(role) for role in ROLES}
    assert [role for role, user in users.items() if user.has_perm(WORDS)] == ["auditor"]
    for role in ("viewer", "auditor", "approver"):
        held = users[role].get_all_permissions()
        assert [it for it in held if it.partition(".")[2].startswith(CHANGES)] == [], role
    assert users["operator"].has_perm("agents.operate")
    assert not any(user.is_superuser for user in users.values())


def test_what_an_operator_changes_of_a_role_stands(fresh_db: FreshDatabase) -> None:
    viewer = Group.objects.get(name="viewer")
    viewer.permissions.clear()
    Group.objects.filter(name="approver").delete()
    call_command("migrate", verbosity=0)
    assert not viewer.permissions.exists()
    assert Group.objects.get(name="approver").permissions.exists()


def test_a_user_made_at_the_shell_logs_in_and_sees_runs(
    fresh_db: FreshDatabase, capsys: pytest.CaptureFixture[str]
) -> None:
    call_command("users", "create", "vera", "--role", "viewer", "--generate")
    out = capsys.readouterr().out
    assert "vera is made, with the role viewer" in out
    client = Client()
    assert client.login(username="vera", password=out.rpartition("password: ")[2].strip())
    assert client.get("/admin/runs/run/").status_code == 200
    assert client.get("/admin/audit/auditrow/").status_code == 403
    call_command("users", "list")
    assert "viewer" in capsys.readouterr().out


def test_a_chosen_password_is_not_printed(
    fresh_db: FreshDatabase, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr("getpass.getpass", lambda _: "long-enough-9Z")
    call_command("users", "create", "vera", "--role", "administrator")
    assert "long-enough" not in capsys.readouterr().out
    vera = User.objects.get()
    assert vera.is_superuser
    assert vera.check_password("long-enough-9Z")
    answers = iter(["one-of-them-9Z", "another-one-9Z"])
    monkeypatch.setattr("getpass.getpass", lambda _: next(answers))
    with pytest.raises(BadInput, match="differ"):
        call_command("users", "password", "vera")


def test_a_disabled_user_has_neither_session_nor_key(
    fresh_db: FreshDatabase, capsys: pytest.CaptureFixture[str]
) -> None:
    vera = made("viewer")
    token = create_key(name="k", username="viewer").token
    client = Client()
    client.force_login(vera)
    call_command("users", "disable", "viewer")
    assert client.get("/admin/").status_code == 302
    assert key_of(token) is None
    call_command("users", "enable", "viewer")
    assert key_of(token) is not None
    assert list(AuditRow.objects.order_by("id").values_list("action", flat=True)) == [
        *("user.created", "api_key.created", "user.disabled", "user.enabled")
    ]


def test_the_last_administrator_cannot_be_disabled(fresh_db: FreshDatabase) -> None:
    create_user("ada", role="administrator", actor="test")
    create_user("bob", role="administrator", actor="test")
    switch_user("ada", is_active=False, actor="test")
    with pytest.raises(LastOfItsKind):
        switch_user("bob", is_active=False, actor="test")


@pytest.mark.parametrize(
    ("given", "error", "says"),
    [
        ({"name": ""}, BadInput, "1 to 150"),
        ({"name": "a b"}, BadInput, "1 to 150"),
        ({"name": "x" * 151}, BadInput, "1 to 150"),
        ({"name": "x\x00"}, BadInput, "1 to 150"),
        ({"role": "boss"}, BadInput, "approver, auditor, operator, viewer, administrator"),
        ({"role": "\x00"}, BadInput, "viewer"),
        ({"password": "short"}, BadInput, "at least 8"),
        ({"password": "password"}, BadInput, "too common"),
        ({"name": "ada"}, UserTaken, "already"),
    ],
)
def test_what_cannot_be_used_is_refused(
    fresh_db: FreshDatabase, given: dict[str, Any], error: type[Exception], says: str
) -> None:
    create_user("ada", role="viewer", actor="test")
    asked = {"name": "vera", "role": "viewer", "password": "", **given}
    with pytest.raises(error, match=says):
        create_user(asked.pop("name"), actor="test", **asked)
    assert User.objects.count() == 1


def test_a_user_that_is_not_there_is_refused_naming_those_there_are(
    fresh_db: FreshDatabase,
) -> None:
    create_user("ada", role="viewer", actor="test")
    for act in (
        lambda: switch_user("bob", is_active=False, actor="test"),
        lambda: set_password("bob", actor="test"),
        lambda: create_key(name="k", username="bob"),
    ):
        with pytest.raises(UserUnknown, match="ada"):
            act()


def test_another_password_ends_sessions(fresh_db: FreshDatabase) -> None:
    client = Client()
    client.force_login(made("viewer"))
    set_password("viewer", actor="test")
    assert client.get("/admin/").status_code == 302
