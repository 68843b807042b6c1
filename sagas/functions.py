"""The room's statements as migrations load them: a change of `sql/saga.sql` needs a migration that loads them again."""

from __future__ import annotations

import re
from pathlib import Path

from django.db import migrations

SQL = Path(__file__).resolve().parent / "sql" / "saga.sql"
FUNCTION = re.compile(r"^CREATE FUNCTION (\w+)\(", re.MULTILINE)
DROP = """
DO $$
DECLARE v regprocedure;
BEGIN
    FOR v IN SELECT oid FROM pg_proc WHERE pronamespace = current_schema()::regnamespace AND proname = ANY ('{names}')
    LOOP EXECUTE 'DROP FUNCTION ' || v; END LOOP;
END $$;
"""


def load_functions() -> migrations.RunSQL:
    """Return the operation that puts the functions of `sql/saga.sql` in the place of whatever bears their names."""
    text = SQL.read_text()
    names = "{" + ",".join(FUNCTION.findall(text)) + "}"
    return migrations.RunSQL(DROP.format(names=names) + text, migrations.RunSQL.noop)
