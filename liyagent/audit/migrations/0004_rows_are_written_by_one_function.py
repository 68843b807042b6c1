"""Audit rows are written by one function alone, with the rights of who owns the table (ruling 28)."""

from django.db import migrations

from liyagent.core.definer import RunsAsOwner


class Migration(migrations.Migration):
    dependencies = [("audit", "0003_rows_name_agent_and_address")]

    operations = [RunsAsOwner("liyagent_audit", table="audit_auditrow")]
