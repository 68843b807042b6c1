-- What the role that processes run as may do in the database, and nothing more. It owns nothing: it can take no trigger off,
-- alter no table, and change no record. Run as the role that owns the tables, again after each migration; it is one
-- statement, so there is no moment in between. Then give the role a password: \password {plain}
DO $roles$
DECLARE
    v_role constant text := {name};
    v_schema constant text := current_schema();
    v_owner text; v_rights text; v record;
BEGIN
    SELECT pg_get_userbyid(c.relowner) INTO v_owner FROM pg_class c WHERE c.oid = to_regclass('django_migrations');
    IF NOT FOUND THEN
        RAISE EXCEPTION 'this database was not migrated yet: nothing to give rights on' USING ERRCODE = 'object_not_in_prerequisite_state';
    END IF;
    IF NOT pg_has_role(v_owner, 'USAGE') THEN
        RAISE EXCEPTION 'the tables are owned by %, and not by %: connect as their owner', v_owner, current_user
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    IF NOT EXISTS (SELECT 1 FROM pg_roles r WHERE r.rolname = v_role) THEN
        EXECUTE format('CREATE ROLE %I LOGIN', v_role);
    END IF;
    IF pg_has_role(v_role, v_owner, 'MEMBER') THEN
        RAISE EXCEPTION '% is a superuser, or owns the tables: whoever serves has to be another', v_role
            USING ERRCODE = 'object_not_in_prerequisite_state';
    END IF;
    EXECUTE format('REVOKE CREATE ON SCHEMA %I FROM %I', v_schema, v_role);
    EXECUTE format('GRANT USAGE ON SCHEMA %I TO %I', v_schema, v_role);
    IF has_schema_privilege(v_role, v_schema, 'CREATE') THEN
        EXECUTE format('REVOKE CREATE ON SCHEMA %I FROM PUBLIC', v_schema);
    END IF;

    FOR v IN SELECT c.relname AS name, EXISTS (SELECT 1 FROM pg_trigger t JOIN pg_proc p ON p.oid = t.tgfoid
                WHERE t.tgrelid = c.oid AND p.proname = 'liyagent_refuse_change') AS is_append_only
            FROM pg_class c WHERE c.relkind IN ('r', 'p') AND c.relnamespace = v_schema::regnamespace
                AND pg_has_role(c.relowner, 'USAGE')
    LOOP
        v_rights := CASE
            -- Written by functions of the owner, or by who migrates.
            WHEN v.name = ANY ({read}) THEN 'SELECT'
            -- A run puts its chain's head here, and a round its seal; the rest is the owner's functions'.
            WHEN v.name = 'events_eventhead' THEN 'SELECT, INSERT (correlation_id, count, hash),'
                ' UPDATE (is_unsealed, sealed_count, sealed_in, seal, seal_key)'
            WHEN v.is_append_only THEN 'SELECT, INSERT'
            -- Runs outlive what they did.
            WHEN v.name = ANY ({kept}) THEN 'SELECT, INSERT, UPDATE'
            ELSE 'SELECT, INSERT, UPDATE, DELETE' END;
        EXECUTE format('REVOKE ALL ON %I.%I FROM PUBLIC, %I', v_schema, v.name, v_role);
        EXECUTE format('GRANT %s ON %I.%I TO %I', v_rights, v_schema, v.name, v_role);
    END LOOP;
    FOR v IN SELECT c.relname AS name FROM pg_class c WHERE c.relkind = 'S' AND c.relnamespace = v_schema::regnamespace
            AND pg_has_role(c.relowner, 'USAGE')
    LOOP
        EXECUTE format('REVOKE ALL ON SEQUENCE %I.%I FROM PUBLIC, %I', v_schema, v.name, v_role);
        EXECUTE format('GRANT USAGE ON SEQUENCE %I.%I TO %I', v_schema, v.name, v_role);
    END LOOP;

    FOR v IN SELECT p.oid::regprocedure AS name FROM pg_proc p WHERE p.pronamespace = v_schema::regnamespace
            AND pg_has_role(p.proowner, 'USAGE')
            AND NOT EXISTS (SELECT 1 FROM pg_depend d WHERE d.objid = p.oid AND d.deptype = 'e')
    LOOP
        EXECUTE format('REVOKE EXECUTE ON FUNCTION %s FROM PUBLIC', v.name);
        EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO %I', v.name, v_role);
    END LOOP;

    -- What later migrations make works at once, until this is run again.
    EXECUTE format('ALTER DEFAULT PRIVILEGES FOR ROLE %I IN SCHEMA %I GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO %I',
        v_owner, v_schema, v_role);
    EXECUTE format('ALTER DEFAULT PRIVILEGES FOR ROLE %I IN SCHEMA %I GRANT USAGE ON SEQUENCES TO %I', v_owner, v_schema, v_role);
    EXECUTE format('ALTER DEFAULT PRIVILEGES FOR ROLE %I IN SCHEMA %I GRANT EXECUTE ON FUNCTIONS TO %I', v_owner, v_schema, v_role);
    EXECUTE format('ALTER DEFAULT PRIVILEGES FOR ROLE %I REVOKE EXECUTE ON FUNCTIONS FROM PUBLIC', v_owner);
END $roles$;
