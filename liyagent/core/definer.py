"""A migration operation that lets a function write where its caller may not (ruling 28)."""

from __future__ import annotations

from django.db.migrations.operations import RunSQL

# `pg_temp` last: what a session makes for itself alone is never taken for a table of ours. Whoever could write the table by
# hand until now may call the function; what is made by a role whose default privileges say who serves needs no more.
AS_OWNER = """
DO $$
DECLARE v regprocedure; v_role text;
BEGIN
    FOR v IN SELECT oid FROM pg_proc
        WHERE pronamespace = current_schema()::regnamespace AND proname = '{function}'
    LOOP
        EXECUTE format('ALTER FUNCTION %s SECURITY DEFINER SET search_path = %I, pg_temp', v, current_schema());
        EXECUTE format('REVOKE EXECUTE ON FUNCTION %s FROM PUBLIC', v);
        FOR v_role IN SELECT DISTINCT r.rolname FROM pg_class c, aclexplode(c.relacl) a JOIN pg_roles r ON r.oid = a.grantee
            WHERE c.oid = '{table}'::regclass AND a.privilege_type = 'INSERT' AND a.grantee <> c.relowner
        LOOP
            EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO %I', v, v_role);
        END LOOP;
    END LOOP;
END $$;
"""


class RunsAsOwner(RunSQL):
    """Let `function` write `table` with the rights of its owner, whoever calls it, and let no stranger call it.

    To be repeated behind each migration that replaces the function: CREATE OR REPLACE takes it back.
    """

    def __init__(self, function: str, *, table: str) -> None:
        super().__init__(
            sql=AS_OWNER.format(function=function, table=table), reverse_sql=RunSQL.noop
        )
        self.function, self.table = function, table

    def deconstruct(self) -> tuple[str, list[object], dict[str, object]]:
        """Name the operation by its function and the table."""
        return type(self).__name__, [self.function], {"table": self.table}

    def describe(self) -> str:
        """Say the effect."""
        return f"Let {self.function} write {self.table} for whoever may call it"
