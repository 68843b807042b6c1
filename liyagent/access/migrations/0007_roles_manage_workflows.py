"""Groups of earlier releases see workflows, and operators manage them; in a new database `make_roles` lets them."""

from typing import Any

from django.db import migrations

VIEW = ("view_workflow", "Can view workflow")
MANAGE = (
    ("add_workflow", "Can add workflow"),
    ("change_workflow", "Can change workflow"),
    ("delete_workflow", "Can delete workflow"),
)
GIVEN = {
    "viewer": (VIEW,),
    "auditor": (VIEW,),
    "approver": (VIEW,),
    "operator": (VIEW, *MANAGE),
}


def give(apps: Any, schema_editor: Any) -> None:
    """Let viewers see workflows, and operators save and remove them."""
    using = schema_editor.connection.alias
    groups = list(apps.get_model("auth", "Group").objects.using(using).filter(name__in=GIVEN))
    if not groups:
        return
    kinds = apps.get_model("contenttypes", "ContentType").objects.using(using)
    kind, _ = kinds.get_or_create(app_label="workflows", model="workflow")
    permissions = apps.get_model("auth", "Permission").objects.using(using)
    for group in groups:
        for codename, name in GIVEN[group.name]:
            permission, _ = permissions.get_or_create(
                content_type=kind, codename=codename, defaults={"name": name}
            )
            group.permissions.add(permission)


class Migration(migrations.Migration):
    dependencies = [
        ("access", "0006_roles_work_on_tickets"),
        ("workflows", "0001_workflows_and_signals"),
    ]

    operations = [migrations.RunPython(give, migrations.RunPython.noop)]
