"""Roles that an earlier release made get what they may since; what an operator made of the others stands."""

from __future__ import annotations

from importlib import import_module

from django.apps import apps
from django.contrib.auth.models import Group, Permission
from django.db import connection

from tests.databases import FreshDatabase

MIGRATION = import_module("liyagent.access.migrations.0004_roles_decide_about_approvals")


def approvals_of(role: str) -> set[str]:
    held = Group.objects.get(name=role).permissions.filter(content_type__app_label="approvals")
    return set(held.values_list("codename", flat=True))


def upgrade() -> None:
    with connection.schema_editor() as editor:
        MIGRATION.give(apps, editor)


def test_viewers_see_what_waits_and_approvers_decide_after_an_upgrade(
    fresh_db: FreshDatabase,
) -> None:
    # As an earlier release left it: the roles are there, the permissions are not.
    Permission.objects.filter(content_type__app_label="approvals").delete()
    Group.objects.filter(name="auditor").delete()
    Group.objects.create(name="night shift")
    upgrade()
    assert approvals_of("viewer") == approvals_of("operator") == {"view_approval"}
    assert approvals_of("approver") == {"view_approval", "decide"}
    assert approvals_of("night shift") == set()
    assert not Group.objects.filter(name="auditor").exists()


def test_a_new_database_gets_them_by_its_roles_alone(fresh_db: FreshDatabase) -> None:
    Group.objects.all().delete()
    Permission.objects.filter(content_type__app_label="approvals").delete()
    upgrade()
    assert not Permission.objects.filter(content_type__app_label="approvals").exists()


def test_what_is_made_is_named_as_django_names_it(fresh_db: FreshDatabase) -> None:
    there = dict(
        Permission.objects.filter(content_type__app_label="approvals").values_list(
            "codename", "name"
        )
    )
    for codename, name in (MIGRATION.VIEW, MIGRATION.DECIDE):
        assert there[codename] == name
