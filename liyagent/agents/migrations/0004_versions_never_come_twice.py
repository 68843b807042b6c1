"""A configuration version follows the clock, so that one lost in a failover is never given to another configuration.

Processes keep what they read by version. With a plain count, a standby that missed the last change gives its number
again, and a process that had read the lost one would take that for what stands now.
"""

from django.db import migrations

RAISE = """
CREATE FUNCTION liyagent_next_config(p_version bigint) RETURNS bigint LANGUAGE sql VOLATILE AS $$
    SELECT GREATEST(p_version + 1, (extract(epoch FROM clock_timestamp()) * 1000)::bigint)
$$;
CREATE OR REPLACE FUNCTION liyagent_config_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE agents_configversion SET version = liyagent_next_config(version) WHERE id = 1;
    RETURN NULL;
END $$;
"""
COUNT = """
CREATE OR REPLACE FUNCTION liyagent_config_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE agents_configversion SET version = version + 1 WHERE id = 1;
    RETURN NULL;
END $$;
DROP FUNCTION liyagent_next_config(bigint);
"""


class Migration(migrations.Migration):
    dependencies = [("agents", "0003_agent_for_real_use")]

    operations = [migrations.RunSQL(RAISE, COUNT)]
