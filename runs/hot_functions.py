"""The hot statements as migrations load them: a change of `runs/sql` needs a migration that loads them again."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from django.db import migrations

from liyagent.core.sql_functions import load_sql

SQL = Path(__file__).resolve().parent / "sql"
# The first release's, and those of today: what later files name is not there yet when the first are loaded.
FIRST_FILES = ("start.sql", "step.sql", "take.sql", "claim.sql")
FILES = (*FIRST_FILES, "approve.sql", "delegate.sql", "person.sql")


def load_hot_functions(files: Sequence[str] = FILES) -> migrations.RunSQL:
    """Return the operation that puts the functions of `runs/sql` in the place of whatever bears their names."""
    return load_sql("\n".join((SQL / name).read_text() for name in files))
