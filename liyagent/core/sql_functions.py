"""SQL functions as migrations load them from a file: a change of the file needs a migration that loads it again."""

from __future__ import annotations

import re

from django.db import migrations

FUNCTION = re.compile(r"^CREATE FUNCTION (\w+)\(", re.MULTILINE)
DROP = """
DO $$
DECLARE v regprocedure;
BEGIN
    FOR v IN SELECT oid FROM pg_proc WHERE pronamespace = current_schema()::regnamespace AND proname = ANY ('{names}')
    LOOP EXECUTE 'DROP FUNCTION ' || v; END LOOP;
END $$;
"""


def load_sql(text: str) -> migrations.RunSQL:
    """Return the operation that puts the functions of `text` in the place of whatever bears their names."""
    names = "{" + ",".join(FUNCTION.findall(text)) + "}"
    return migrations.RunSQL(DROP.format(names=names) + text, migrations.RunSQL.noop)
