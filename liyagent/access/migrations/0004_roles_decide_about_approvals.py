"""Groups of earlier releases get what their roles may now, once; in a new database `make_roles` gives it to them."""

from typing import Any

from django.db import migrations

VIEW = ("view_approval", "Can view approval")
DECIDE = ("decide", "Can decide about what waits for a person")
GIVEN = {
    "viewer": (VIEW,),
    "auditor": (VIEW,),
    "operator": (VIEW,),
    "approver": (VIEW, DECIDE),
}


def give(apps: Any, schema_editor: Any) -> None:
    """Let viewers see what waits for a person, and approvers decide about it."""
    using = schema_editor.connection.alias
    groups = list(apps.get_model("auth", "Group").objects.using(using).filter(name__in=GIVEN))
    if not groups:
        return
    kinds = apps.get_model("contenttypes", "ContentType").objects.using(using)
    kind, _ = kinds.get_or_create(app_label="approvals", model="approval")
    permissions = apps.get_model("auth", "Permission").objects.using(using)
    for group in groups:
        for codename, name in GIVEN[group.name]:
            permission, _ = permissions.get_or_create(
                content_type=kind, codename=codename, defaults={"name": name}
            )
            group.permissions.add(permission)


class Migration(migrations.Migration):
    dependencies = [
        ("access", "0003_attempts_are_counted"),
        ("approvals", "0001_initial"),
        ("auth", "0012_alter_user_first_name_max_length"),
        ("contenttypes", "0002_remove_content_type_name"),
    ]

    operations = [migrations.RunPython(give, migrations.RunPython.noop)]
