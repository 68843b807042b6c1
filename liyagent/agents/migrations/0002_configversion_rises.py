"""Every change of an agent raises the configuration version; later rooms hang their tables on it too."""

from django.db import migrations

RISE = """
INSERT INTO agents_configversion (id, version) VALUES (1, 1);
CREATE FUNCTION liyagent_config_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE agents_configversion SET version = version + 1 WHERE id = 1;
    RETURN NULL;
END $$;
CREATE TRIGGER agents_agent_config_changed AFTER INSERT OR UPDATE OR DELETE ON agents_agent
    FOR EACH STATEMENT EXECUTE FUNCTION liyagent_config_changed();
"""


class Migration(migrations.Migration):
    dependencies = [("agents", "0001_initial")]

    operations = [
        migrations.RunSQL(
            RISE,
            """
            DROP TRIGGER agents_agent_config_changed ON agents_agent;
            DROP FUNCTION liyagent_config_changed();
            DELETE FROM agents_configversion;
            """,
        )
    ]
