"""The room's statements as migrations load them: a change of `sql/handoff.sql` needs a migration that loads them again."""

from __future__ import annotations

from pathlib import Path

from django.db import migrations

from liyagent.core.sql_functions import load_sql

SQL = Path(__file__).resolve().parent / "sql" / "handoff.sql"


def load_functions() -> migrations.RunSQL:
    """Return the operation that puts the functions of `sql/handoff.sql` in the place of whatever bears their names."""
    return load_sql(SQL.read_text())
