-- The role that app processes run as: it owns nothing, so it cannot take the append-only triggers off. Run as the role
-- that owns the tables and migrates, once, after the first migrate:  psql "$OWNER_URL" -f docs/operate/roles.sql
-- Then give it a password:  psql "$OWNER_URL" -c '\password liyagent_serve'

CREATE ROLE liyagent_serve LOGIN;
GRANT USAGE ON SCHEMA public TO liyagent_serve;
GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO liyagent_serve;
GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO liyagent_serve;
-- What no process ever does, besides what the triggers refuse.
REVOKE UPDATE, DELETE ON events_runevent, audit_auditrow FROM liyagent_serve;
REVOKE INSERT, UPDATE, DELETE ON django_migrations FROM liyagent_serve;
-- For the tables of later migrations, made by the role that runs this.
ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO liyagent_serve;
ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT USAGE ON SEQUENCES TO liyagent_serve;
