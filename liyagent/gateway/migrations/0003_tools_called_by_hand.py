"""Calling a tool directly needs a permission of its own."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("gateway", "0002_servers_by_stdio_and_data_policies")]

    operations = [
        migrations.AlterModelOptions(
            name="tool",
            options={
                "ordering": ["server__key", "name"],
                "permissions": [("call_tool", "Can call a tool directly, without a run")],
            },
        ),
    ]
