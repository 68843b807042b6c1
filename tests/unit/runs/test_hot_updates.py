"""A step rewrites the head in its own page: no index of it names a column that a step changes."""

from __future__ import annotations

import re

import pytest
from django.db import connection

from tests.databases import FreshDatabase

EACH_STEP = ("liyagent_step", "liyagent_mark", "liyagent_settle", "liyagent_flush")
# What an index depends on: its columns, and those that its condition names.
INDEXED = """
SELECT DISTINCT a.attname FROM pg_index i
    JOIN pg_depend d ON d.objid = i.indexrelid AND d.refobjid = i.indrelid AND d.refobjsubid > 0
    JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = d.refobjsubid
    WHERE i.indrelid = 'runs_run'::regclass
"""
CHANGED = re.compile(r"UPDATE runs_run(?: r)? SET (.*?)\s+WHERE", re.DOTALL)
COLUMN = re.compile(r"(?:^|,)\s*([a-z_]+) = ")


@pytest.mark.parametrize("name", EACH_STEP)
def test_no_index_of_a_run_names_what_a_step_changes(fresh_db: FreshDatabase, name: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(INDEXED)
        indexed = {row[0] for row in cursor.fetchall()}
        cursor.execute("SELECT prosrc FROM pg_proc WHERE proname = %s", [name])
        ((source,),) = cursor.fetchall()
    changed = {column for part in CHANGED.findall(source) for column in COLUMN.findall(part)}
    assert {"sequence", "seal"} <= changed
    assert {"status", "created_at", "mission", "error", "agent_key"} <= indexed
    assert changed & indexed == set()
