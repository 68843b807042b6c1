"""Each audit row notes its mission where somebody named one, in the commit that adds the row."""

from django.db import migrations

# What stands in where nobody named a mission is noted nowhere: the correlation id, the id of the request, or that of the
# process which does something for neither.
NOTED = """
CREATE FUNCTION audit_note_mission() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM liyagent_mission_seen(NEW.mission, NEW.actor, NEW.at);
    RETURN NULL;
END $$;
CREATE TRIGGER audit_notes_mission AFTER INSERT ON audit_auditrow FOR EACH ROW
    WHEN (NEW.mission <> '' AND NEW.mission IS DISTINCT FROM NEW.correlation_id::text AND NEW.mission <> NEW.request_id
        AND (NEW.request_id <> '' OR NEW.correlation_id IS NOT NULL))
    EXECUTE FUNCTION audit_note_mission();
"""
BACK = """
DROP TRIGGER audit_notes_mission ON audit_auditrow;
DROP FUNCTION audit_note_mission();
"""


class Migration(migrations.Migration):
    dependencies = [
        ("audit", "0004_rows_are_written_by_one_function"),
        ("missions", "0001_initial"),
    ]

    operations = [migrations.RunSQL(NOTED, BACK)]
