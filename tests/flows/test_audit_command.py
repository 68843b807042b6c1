"""`manage.py audit`: the log, an export that is gone on with, and concerns, at the shell."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.core.management import call_command

from liyagent.audit.management.commands import audit
from liyagent.audit.models import AuditRow
from liyagent.core.errors import BadInput
from tests.databases import FreshDatabase

OLD = """
INSERT INTO audit_auditrow (at, action, actor, agent, mission, request_id, detail)
SELECT liyagent_now() - interval '1 hour' + n * interval '1 ms', 'thing.done', 'ann', 'triage', 'INC-' || n %% 2, 'r', '{}'
FROM generate_series(1, %s) AS n
"""


@pytest.fixture(autouse=True)
def filled(fresh_db: FreshDatabase) -> None:
    with psycopg.connect(fresh_db.url, autocommit=True) as connection:
        connection.execute(OLD, [1_200])


def lines_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(it) for it in path.read_bytes().splitlines()]


def test_an_export_goes_into_a_file_of_its_own_and_tells_of_its_progress(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(audit, "PROGRESS_ROWS", 400)
    whole, rest = tmp_path / "whole.jsonl", tmp_path / "rest.jsonl"
    call_command("audit", "export", "--mission", "INC-1", "--out", str(whole))
    told = capsys.readouterr().err.splitlines()
    *rows, last = lines_of(whole)
    assert len(rows) == 600
    assert last == {"is_complete": True, "rows": 600, "after": 1_200}
    assert told == ["500 rows, up to number 999 of 1200", "600 rows; go on with --after 1200"]
    call_command("audit", "export", "--mission", "INC-1", "--after", "999", "--out", str(rest))
    assert lines_of(rest)[:-1] == rows[500:]
    with pytest.raises(BadInput, match="is there already"):
        call_command("audit", "export", "--out", str(whole))
    assert AuditRow.objects.filter(action="audit.exported").count() == 2


def test_what_is_listed_is_narrowed_and_leads_on(capsys: pytest.CaptureFixture[str]) -> None:
    call_command("audit", "list", "--mission", "INC-1", "--limit", "2")
    *lines, more = capsys.readouterr().out.splitlines()
    assert [it.split()[0] for it in lines] == ["ID", "1199", "1197"]
    call_command(
        "audit", "list", "--mission", "INC-1", "--limit", "1", "--cursor", more.split()[-1]
    )
    assert capsys.readouterr().out.splitlines()[1].split()[0] == "1195"


def test_concerns_are_opened_listed_and_closed(capsys: pytest.CaptureFixture[str]) -> None:
    call_command("audit", "open-concern", "--actor", "ann", "--reference", "HR-1")
    number = capsys.readouterr().out.split()[1]
    call_command("audit", "concerns", "--state", "open")
    assert "HR-1" in capsys.readouterr().out
    call_command("audit", "close-concern", number)
    call_command("audit", "concerns", "--state", "open")
    assert "HR-1" not in capsys.readouterr().out
