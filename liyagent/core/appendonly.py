"""A migration operation that makes a table append-only in the database itself (ruling 28)."""

from __future__ import annotations

from django.db.migrations.operations import RunSQL

REFUSE = """
CREATE OR REPLACE FUNCTION liyagent_refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '% is append-only: % refused', TG_TABLE_NAME, TG_OP USING ERRCODE = 'restrict_violation';
END $$;
"""


class AppendOnly(RunSQL):
    """Refuse UPDATE, DELETE and TRUNCATE of `table` by triggers that fire for every role (ENABLE ALWAYS), and as a right."""

    def __init__(self, table: str) -> None:
        super().__init__(
            sql=f"""{REFUSE}
            CREATE TRIGGER {table}_refuse_rows BEFORE UPDATE OR DELETE ON {table}
                FOR EACH ROW EXECUTE FUNCTION liyagent_refuse_change();
            CREATE TRIGGER {table}_refuse_truncate BEFORE TRUNCATE ON {table}
                FOR EACH STATEMENT EXECUTE FUNCTION liyagent_refuse_change();
            ALTER TABLE {table} ENABLE ALWAYS TRIGGER {table}_refuse_rows;
            ALTER TABLE {table} ENABLE ALWAYS TRIGGER {table}_refuse_truncate;
            DO $$
            DECLARE v text;
            BEGIN
                FOR v IN SELECT DISTINCT r.rolname FROM pg_class c, aclexplode(c.relacl) a
                    JOIN pg_roles r ON r.oid = a.grantee WHERE c.oid = '{table}'::regclass AND a.grantee <> c.relowner
                LOOP EXECUTE format('REVOKE UPDATE, DELETE, TRUNCATE ON {table} FROM %I', v); END LOOP;
            END $$;
            """,  # noqa: S608 - a migration's own table
            reverse_sql=f"""
            DROP TRIGGER {table}_refuse_rows ON {table};
            DROP TRIGGER {table}_refuse_truncate ON {table};
            """,
        )
        self.table = table

    def deconstruct(self) -> tuple[str, list[object], dict[str, object]]:
        """Name the operation by its table alone."""
        return type(self).__name__, [self.table], {}

    def describe(self) -> str:
        """Say the effect."""
        return f"Refuse changes of {self.table}"
