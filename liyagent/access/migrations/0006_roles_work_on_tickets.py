"""Groups of earlier releases get what their roles may now, once; in a new database `make_roles` gives it to them."""

from typing import Any

from django.db import migrations

VIEW = ("view_ticket", "Can view ticket")
WORK = ("work", "Can comment on tickets and change them, and reads their words")
GIVEN = {
    "viewer": (VIEW,),
    "auditor": (VIEW,),
    "operator": (VIEW, WORK),
    "approver": (VIEW, WORK),
}


def give(apps: Any, schema_editor: Any) -> None:
    """Let viewers see tickets, and operators and approvers work on them."""
    using = schema_editor.connection.alias
    groups = list(apps.get_model("auth", "Group").objects.using(using).filter(name__in=GIVEN))
    if not groups:
        return
    kinds = apps.get_model("contenttypes", "ContentType").objects.using(using)
    kind, _ = kinds.get_or_create(app_label="tickets", model="ticket")
    permissions = apps.get_model("auth", "Permission").objects.using(using)
    for group in groups:
        for codename, name in GIVEN[group.name]:
            permission, _ = permissions.get_or_create(
                content_type=kind, codename=codename, defaults={"name": name}
            )
            group.permissions.add(permission)


class Migration(migrations.Migration):
    dependencies = [
        ("access", "0005_auditors_handle_concerns"),
        ("tickets", "0001_tickets_and_comments"),
    ]

    operations = [migrations.RunPython(give, migrations.RunPython.noop)]
