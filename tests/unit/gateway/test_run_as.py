"""Whose rights a call uses: what the gate says, and that a right taken away acts at the next configuration version."""

from __future__ import annotations

from dataclasses import replace
from io import StringIO
from typing import Any

import pytest
from django.contrib.auth.models import Group, Permission, User
from django.core.management import call_command
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from liyagent.agents.models import ConfigVersion
from liyagent.core.errors import BadInput
from liyagent.gateway import run_as
from liyagent.gateway.judge import judge
from liyagent.gateway.models import Tool, ToolServer
from liyagent.gateway.outcome import Posture, Rights
from liyagent.gateway.run_as import rights_of
from tests.databases import FreshDatabase
from tests.unit.gateway.support import ASKER, PERMIT_ALL, a_call, a_contract, policy

WRITE = "jira.write"


def judged(rights: Rights, *, wanted: str = WRITE) -> tuple[Posture, str]:
    """What is said of a call that `rights` are used for."""
    asker = replace(ASKER, rights=rights)
    verdict = judge(a_call(asker=asker, contract=a_contract(permission=wanted)), PERMIT_ALL)
    return verdict.posture, verdict.reason


def version() -> int:
    """The configuration version now."""
    return ConfigVersion.objects.get().version


def a_tool(permission: str = WRITE) -> Tool:
    """A tool of `jira` that wants a permission."""
    server, _ = ToolServer.objects.get_or_create(key="jira", transport="local")
    return Tool.objects.create(
        server=server, name=f"t{Tool.objects.count()}", permission=permission
    )


def wanted() -> Permission:
    """The permission that the tool wants, as the pages of users and groups offer it."""
    return Permission.objects.get(content_type__app_label="gateway", codename=WRITE)


@pytest.mark.parametrize(
    ("rights", "wanted", "said"),
    [
        (Rights(principal="kim", is_active=True, permissions=frozenset({WRITE})), WRITE, ""),
        (Rights(principal="kim", is_active=True, holds_all=True), WRITE, ""),
        (Rights(principal="kim", is_active=True), "", ""),
        (Rights(principal="", is_active=False), "", ""),
        (
            Rights(principal="kim", is_active=True),
            WRITE,
            "kim, whose rights this run uses, lacks the permission jira.write",
        ),
        (
            Rights(principal="kim", is_active=False),
            "",
            "kim, whose rights this run uses, is no active user",
        ),
        (Rights(principal="kim", is_active=False, holds_all=True), WRITE, "no active user"),
        (Rights(principal="", is_active=False), WRITE, "this run is nobody's"),
    ],
)
def test_the_principal_must_be_active_and_hold_what_the_tool_wants(
    rights: Rights, wanted: str, said: str
) -> None:
    posture, reason = judged(rights, wanted=wanted)
    assert (posture is Posture.REFUSED) == bool(said)
    assert said in reason


def test_what_the_policies_refuse_is_refused_by_them_first() -> None:
    nobody = replace(ASKER, rights=Rights(principal="kim", is_active=False))
    assert judge(a_call(asker=nobody), policy("")).gate == "cedar"
    assert judge(a_call(asker=nobody), PERMIT_ALL).gate == "run_as"


def test_a_permission_that_a_tool_names_can_be_granted_to_users_and_groups(
    fresh_db: FreshDatabase,
) -> None:
    User.objects.create_user("kim")
    assert not rights_of("kim", version=version()).holds(WRITE)
    a_tool()
    a_tool()
    User.objects.get(username="kim").user_permissions.add(wanted())
    assert rights_of("kim", version=version()).holds(WRITE)
    group = Group.objects.create(name="on call")
    group.permissions.add(wanted())
    User.objects.create_user("lee").groups.add(group)
    assert rights_of("lee", version=version()).holds(WRITE)
    User.objects.create_superuser("root")
    assert rights_of("root", version=version()).holds(WRITE)
    assert not rights_of("ghost", version=version()).is_active


TAKEN = {
    "switched off": "UPDATE auth_user SET is_active = false",
    "removed": "DELETE FROM auth_user_groups; DELETE FROM auth_user_user_permissions; DELETE FROM auth_user",
    "renamed": "UPDATE auth_user SET username = 'other'",
    "out of the group": "DELETE FROM auth_user_groups",
    "taken from the group": "DELETE FROM auth_group_permissions",
    "taken from the user": "DELETE FROM auth_user_user_permissions",
    "permission renamed": "UPDATE auth_permission SET codename = 'x.y' WHERE codename = 'jira.write'",
    "no superuser any more": "UPDATE auth_user SET is_superuser = false",
}
HOLDS = {
    "out of the group": ("group",),
    "taken from the group": ("group",),
    "taken from the user": ("user",),
    "permission renamed": ("user", "group"),
    "no superuser any more": ("superuser",),
}


@pytest.mark.parametrize("taken", TAKEN)
def test_a_right_taken_away_in_whatever_way_is_gone_with_the_next_version(
    fresh_db: FreshDatabase, taken: str
) -> None:
    a_tool()
    how = HOLDS.get(taken, ("user", "group", "superuser"))
    kim = User.objects.create_user("kim", is_superuser="superuser" in how)
    group = Group.objects.create(name="on call")
    if "group" in how:
        group.permissions.add(wanted())
        kim.groups.add(group)
    if "user" in how:
        kim.user_permissions.add(wanted())
    before = version()
    assert rights_of("kim", version=before).holds(WRITE)
    with connection.cursor() as cursor:
        cursor.execute(TAKEN[taken])
    assert version() > before
    assert not rights_of("kim", version=version()).holds(WRITE)


def test_logging_in_and_a_new_password_raise_no_version(fresh_db: FreshDatabase) -> None:
    kim = User.objects.create_user("kim", password="a-long-one", is_staff=True)
    before = version()
    assert Client().login(username="kim", password="a-long-one")
    kim.set_password("another-long-one")
    kim.save(update_fields=["password"])
    kim.refresh_from_db()
    assert kim.last_login is not None
    assert version() == before


def test_rights_are_read_once_a_version_however_often_they_are_asked(
    fresh_db: FreshDatabase,
) -> None:
    User.objects.create_user("kim")
    now = version()
    rights_of("kim", version=now)
    with CaptureQueriesContext(connection) as queries:
        for _ in range(50):
            rights_of("kim", version=now)
    assert len(queries) == 0


def test_principals_are_kept_in_bounds(
    fresh_db: FreshDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_as, "MOST_PRINCIPALS", 3)
    known = run_as.KnownRights()
    for number in range(10):
        known.of(f"user {number}")
    assert len(known._rights) == 3


@pytest.mark.parametrize("given", ["write", "jira write", "a.", ".a", "view_tool", "a..b", "a/b.c"])
def test_a_permission_wants_words_with_a_dot(fresh_db: FreshDatabase, given: str) -> None:
    a_tool("")
    with pytest.raises(BadInput, match="wants words joined by dots"):
        call_command("tools", "set", "jira/t0", "--permission", given, stdout=StringIO())


def test_an_operator_sets_what_a_tool_wants_on_the_command_line(fresh_db: FreshDatabase) -> None:
    a_tool("")
    out: Any = StringIO()
    call_command("tools", "set", "jira/t0", "--permission", WRITE, stdout=out)
    assert out.getvalue() == "jira/t0: permission none -> jira.write\n"
    assert wanted().name == "Calls tools that want jira.write"
