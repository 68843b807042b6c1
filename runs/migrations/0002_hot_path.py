"""The hot statements, from `runs/sql`, and room on the head's page to be rewritten in place."""

from pathlib import Path

from django.db import migrations

SQL = Path(__file__).resolve().parent.parent / "sql"


class Migration(migrations.Migration):
    dependencies = [
        ("runs", "0001_initial"),
        ("events", "0002_runevent_append_only"),
        ("leases", "0001_initial"),
        ("agents", "0002_configversion_rises"),
        ("transcripts", "0001_initial"),
    ]

    operations = [
        migrations.RunSQL((SQL / "start.sql").read_text(), migrations.RunSQL.noop),
        migrations.RunSQL((SQL / "step.sql").read_text(), migrations.RunSQL.noop),
        migrations.RunSQL((SQL / "take.sql").read_text(), migrations.RunSQL.noop),
        migrations.RunSQL((SQL / "claim.sql").read_text(), migrations.RunSQL.noop),
        migrations.RunSQL(
            "ALTER TABLE runs_run SET (fillfactor = 50); ALTER TABLE leases_holder SET (fillfactor = 50);"
            "ALTER TABLE events_eventhead SET (fillfactor = 50); ALTER TABLE runs_call SET (fillfactor = 70);",
            migrations.RunSQL.noop,
        ),
    ]
