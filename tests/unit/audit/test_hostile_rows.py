"""Rows that only whoever edits tables can make: each page shows them, and with them all the others."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.test import Client

from liyagent.audit.export import begin_export
from liyagent.audit.models import AuditRow, Concern
from liyagent.audit.record import record
from tests.databases import FreshDatabase
from tests.flows.conftest import Api, api_of

MISSION = "INC-1"
NO_TIMES = ("infinity", "-infinity", "20000-01-01", "4000-01-01 BC", "9999-12-31 23:59:59Z")
NO_DETAILS = (
    "null", "[]", '"x"', "7", "true", '[{"a":1},7,null]', '{"n":' + "9" * 5000 + "}", "[" * 3000 + "]" * 3000,
    '{"a":' * 900 + "1" + "}" * 900, '{"n":1e400}', '{"":{"":[{"":null}]}}', '{"a":"<script>alert(1)</script>\\u202e"}',
)  # fmt: skip
WORDS = "<script>alert(1)</script>\x01\r\n\u202e"
AUDIT = """
INSERT INTO audit_auditrow (at, action, actor, agent, mission, request_id, address, detail) VALUES (%s, %s, %s, %s, %s, %s, %s, %s)
"""
CONCERN = """
INSERT INTO audit_concern (about, subject, reference, opened_by, opened_at, closed_by, closed_at) VALUES ('actor', %s, %s, %s, %s, %s, %s)
"""
SEEN = "INSERT INTO missions_mission (id, first_seen, first_by, last_seen) VALUES (%s, %s, %s, %s)"
API = ("/api/audit", "/api/audit?limit=1", "/api/audit?since=2020-01-01T00:00:00Z&actor=ann", "/api/audit?action=thing", "/api/concerns",
    "/api/missions", "/api/missions?limit=2", f"/api/missions/{MISSION}")  # fmt: skip
PAGES = ("audit/auditrow/", "audit/auditrow/?when=24h&actor=ann", f"audit/auditrow/?q={MISSION}", "audit/concern/", "audit/concern/?state=open",
    "missions/mission/", f"mission/{MISSION}/", "")  # fmt: skip


@pytest.fixture
def root(fresh_db: FreshDatabase) -> User:
    """Who sees everything; and beside a row that is well, one for each thing that somebody can make of one."""
    record("thing.done", actor="ann", mission=MISSION)
    with psycopg.connect(fresh_db.url, autocommit=True) as session:
        session.execute("ALTER TABLE audit_auditrow DISABLE TRIGGER USER")
        now = "2026-01-01T00:00:00Z"
        rows: list[list[Any]] = [
            [now, "thing.done", "ann", "", MISSION, "", "", it] for it in NO_DETAILS
        ]
        rows += [[it, "thing.done", "ann", "", MISSION, "", "", "{}"] for it in NO_TIMES]
        rows += [[now, *[WORDS] * 6, "{}"], [now, WORDS, WORDS, "", MISSION, "", "", "{}"]]
        for row in rows:
            session.execute(AUDIT, row)
        session.execute(SEEN, [MISSION, now, "ann", now])
        for number, it in enumerate(NO_TIMES):
            session.execute(CONCERN, [f"{number} {WORDS}", WORDS, WORDS, it, WORDS, it])
            session.execute(SEEN, [f"{number} {WORDS}", it, WORDS, it])
    return User.objects.create_superuser("root")


def status_of(console: Client, page: str) -> int:
    """The status of a page, 0 where a word is shown as HTML."""
    response = console.get(f"/admin/{page}")
    return 0 if b"<script>alert" in response.content else response.status_code


@pytest.mark.promise("EV-02")
def test_no_row_that_was_edited_keeps_anybody_from_a_page(root: User) -> None:
    api, console = api_of(root), Client(raise_request_exception=False)
    console.force_login(root)
    answers = {it: api.get(it).status for it in API}
    own = [f"audit/auditrow/{it}/change/" for it in AuditRow.objects.values_list("pk", flat=True)]
    own += [f"audit/concern/{it}/change/" for it in Concern.objects.values_list("pk", flat=True)]
    answers |= {it: status_of(console, it) for it in (*PAGES, *own)}
    assert {it: status for it, status in answers.items() if status != 200} == {}
    told = api.get("/api/audit").data["rows"]
    assert len(told) == AuditRow.objects.count()
    assert sum("not_written_here" in it["detail"] for it in told) == 9


def test_pages_of_times_that_no_calendar_has_lead_on_to_an_end(root: User) -> None:
    api = api_of(root)
    rows = [it["id"] for it in paged(api, "/api/audit?limit=2", "rows")]
    assert rows == [it["id"] for it in api.get("/api/audit").data["rows"]]
    for limit in (1, 2, 5):
        seen = [it["id"] for it in paged(api, f"/api/missions?limit={limit}", "missions")]
        assert MISSION in seen
        assert len(seen) == len(set(seen))


def paged(api: Api, address: str, name: str) -> list[dict[str, Any]]:
    """All of a list, however many pages it has."""
    found: list[dict[str, Any]] = []
    while address:
        page = api.get(address)
        assert page.status == 200, address
        found += page.data[name]
        address = page.data["next"]
        assert len(found) < 100
    return found


def test_an_export_tells_of_what_was_edited(root: User) -> None:
    export = begin_export({}, actor="root")
    export.upto = newest = AuditRow.objects.latest("pk").pk
    told = b"".join(export.lines()).splitlines()
    assert len(told) == AuditRow.objects.filter(pk__lte=newest).count() + 1


def test_the_shell_lists_what_was_edited_a_line_each(
    root: User, capsys: pytest.CaptureFixture[str]
) -> None:
    call_command("audit", "list", "--limit", "100")
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == AuditRow.objects.count() + 1
    assert all(it.isprintable() for it in lines)
