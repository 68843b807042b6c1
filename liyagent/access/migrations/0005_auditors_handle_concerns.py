"""Auditors of earlier releases open and close confidential concerns; in a new database `make_roles` lets them."""

from typing import Any

from django.db import migrations

GIVEN = (
    ("view_concern", "Can view concern"),
    ("handle_concern", "Can open and close confidential concerns"),
)


def give(apps: Any, schema_editor: Any) -> None:
    """Let auditors see concerns, and open and close them."""
    using = schema_editor.connection.alias
    auditors = apps.get_model("auth", "Group").objects.using(using).filter(name="auditor").first()
    if auditors is None:
        return
    kinds = apps.get_model("contenttypes", "ContentType").objects.using(using)
    kind, _ = kinds.get_or_create(app_label="audit", model="concern")
    permissions = apps.get_model("auth", "Permission").objects.using(using)
    for codename, name in GIVEN:
        permission, _ = permissions.get_or_create(
            content_type=kind, codename=codename, defaults={"name": name}
        )
        auditors.permissions.add(permission)


class Migration(migrations.Migration):
    dependencies = [
        ("access", "0004_roles_decide_about_approvals"),
        ("audit", "0003_rows_name_agent_and_address"),
    ]

    operations = [migrations.RunPython(give, migrations.RunPython.noop)]
