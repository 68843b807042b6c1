"""Who may see and manage workflows, in a new database and after an upgrade."""

from __future__ import annotations

from importlib import import_module

import pytest
from django.apps import apps
from django.contrib.auth.models import Group, Permission
from django.db import connection

from tests.databases import FreshDatabase

MIGRATION = import_module("liyagent.access.migrations.0007_roles_manage_workflows")
SEES = {"view_workflow"}
MANAGES = {f"{it}_workflow" for it in ("view", "add", "change", "delete")}


def held_by(role: str) -> set[str]:
    rows = Group.objects.get(name=role).permissions.filter(content_type__app_label="workflows")
    return set(rows.values_list("codename", flat=True))


@pytest.mark.parametrize("is_upgraded", [False, True])
def test_viewers_see_workflows_and_operators_manage_them(
    fresh_db: FreshDatabase, is_upgraded: bool
) -> None:
    if is_upgraded:
        # As an earlier release left it: the roles are there, the permissions are not.
        Permission.objects.filter(content_type__app_label="workflows").delete()
        Group.objects.create(name="night shift")
        with connection.schema_editor() as editor:
            MIGRATION.give(apps, editor)
        assert held_by("night shift") == set()
    assert held_by("operator") == MANAGES
    for role in ("viewer", "auditor", "approver"):
        assert held_by(role) == SEES
    names = Permission.objects.filter(content_type__app_label="workflows", content_type__model="workflow")  # fmt: skip
    assert {tuple(it) for it in names.values_list("codename", "name")} >= {MIGRATION.VIEW, *MIGRATION.MANAGE}  # fmt: skip
