"""Groups of earlier releases get the new permission, once; in a new database `make_roles` gives it to them."""

from typing import Any

from django.db import migrations

ROLES = ("operator", "approver")


def give(apps: Any, schema_editor: Any) -> None:
    """Let the two roles say what happened, where they are there."""
    using = schema_editor.connection.alias
    groups = list(apps.get_model("auth", "Group").objects.using(using).filter(name__in=ROLES))
    if not groups:
        return
    kind, _ = (
        apps.get_model("contenttypes", "ContentType")
        .objects.using(using)
        .get_or_create(app_label="runs", model="call")
    )
    permission, _ = (
        apps.get_model("auth", "Permission")
        .objects.using(using)
        .get_or_create(
            content_type=kind,
            codename="settle_call",
            defaults={"name": "Can say what happened to a call in doubt"},
        )
    )
    for group in groups:
        group.permissions.add(permission)


class Migration(migrations.Migration):
    dependencies = [
        ("runs", "0008_a_person_settles_what_is_in_doubt"),
        ("auth", "0012_alter_user_first_name_max_length"),
        ("contenttypes", "0002_remove_content_type_name"),
    ]

    operations = [migrations.RunPython(give, migrations.RunPython.noop)]
