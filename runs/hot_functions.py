"""The hot statements as migrations load them: a change of `runs/sql` needs a migration that loads them again."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from django.db import migrations

SQL = Path(__file__).resolve().parent / "sql"
# The first release's, and those of today: what later files name is not there yet when the first are loaded.
FIRST_FILES = ("start.sql", "step.sql", "take.sql", "claim.sql")
FILES = (*FIRST_FILES, "approve.sql", "delegate.sql", "person.sql")
FUNCTION = re.compile(r"^CREATE FUNCTION (\w+)\(", re.MULTILINE)
DROP = """
DO $$
DECLARE v regprocedure;
BEGIN
    FOR v IN SELECT oid FROM pg_proc WHERE pronamespace = current_schema()::regnamespace AND proname = ANY ('{names}')
    LOOP EXECUTE 'DROP FUNCTION ' || v; END LOOP;
END $$;
"""


def load_hot_functions(files: Sequence[str] = FILES) -> migrations.RunSQL:
    """Return the operation that puts the functions of `runs/sql` in the place of whatever bears their names."""
    text = "\n".join((SQL / name).read_text() for name in files)
    names = "{" + ",".join(FUNCTION.findall(text)) + "}"
    return migrations.RunSQL(DROP.format(names=names) + text, migrations.RunSQL.noop)
