"""`/api/audit` and `/api/concerns`: who may, what is told, and an export that can be cut at any place."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from django.contrib.auth.models import Permission, User

from liyagent.access import audit_export
from liyagent.audit.export import settled_until
from liyagent.audit.models import AuditRow
from liyagent.audit.record import record
from tests.databases import FreshDatabase
from tests.flows.conftest import Api, api_of, make_user
from tests.flows.serving import serving

AUDITOR = ("audit.view_auditrow", "audit.view_concern", "audit.handle_concern")
OLD = """
INSERT INTO audit_auditrow (at, action, actor, agent, mission, run_id, request_id, detail)
SELECT liyagent_now() - interval '1 hour' + n * interval '1 ms', 'thing.done', 'ann', 'triage', 'INC-' || n %% 2, NULL, 'r', '{"n": 1}'
FROM generate_series(1, %s) AS n
"""


@pytest.fixture
def auditor(fresh_db: FreshDatabase) -> Api:
    return api_of(make_user("kim", *AUDITOR))


@pytest.fixture
def port(fresh_db: FreshDatabase) -> Iterator[int]:
    with serving() as number:
        yield number


@pytest.fixture
def filled(fresh_db: FreshDatabase) -> None:
    with psycopg.connect(fresh_db.url, autocommit=True) as connection:
        connection.execute(OLD, [2_500])


def exported(port: int, auditor: Api, query: str = "") -> tuple[int, list[dict[str, Any]]]:
    """The status and the lines of an export."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    headers = {"Authorization": f"Bearer {auditor.token}"}
    connection.request("GET", f"/api/audit/export{query}", headers=headers)
    answer = connection.getresponse()
    return answer.status, [json.loads(it) for it in answer.read().splitlines()]


@pytest.mark.promise("MI-03")
def test_each_row_is_shown_with_all_its_stamps_by_its_mission(auditor: Api) -> None:
    asked = {"X-Liyagent-Mission": "INC-7", "X-Request-ID": "r-1"}
    concern = auditor.post("/api/concerns", {"actor": "bob"}, **asked).data["id"]
    told = auditor.get("/api/audit?mission=INC-7").data
    assert told["next"] is None
    (row,) = told["rows"]
    assert row.pop("at")
    assert row == {
        "id": AuditRow.objects.get(action="concern.opened").pk,
        "action": "concern.opened",
        "actor": "kim",
        "agent": "",
        "mission": "INC-7",
        "request_id": "r-1",
        "address": "127.0.0.1",
        "correlation_id": None,
        "run_id": None,
        "is_confidential": False,
        "detail": {"concern": concern},
    }
    assert auditor.get("/api/audit?mission=INC-8").data["rows"] == []


def test_a_concern_is_opened_shown_and_closed_once(auditor: Api) -> None:
    opened = auditor.post("/api/concerns", {"reference": "HR-1"})
    assert (opened.status, opened.data["about"], opened.data["subject"]) == (201, "actor", "kim")
    again = auditor.post("/api/concerns", {"actor": "kim"})
    assert (again.status, again.data["code"]) == (409, "concern.already_open")
    one = f"/api/concerns/{opened.data['id']}"
    assert auditor.get(one).data == opened.data
    assert auditor.get("/api/concerns?state=open").data["concerns"] == [opened.data]
    closed = auditor.post(f"{one}/close", {})
    assert (closed.status, closed.data["closed_by"]) == (200, "kim")
    again = auditor.post(f"{one}/close", {})
    assert (again.status, again.data["code"]) == (409, "concern.already_closed")
    for missing in (0, 9, 2**63, 10**400):
        assert auditor.post(f"/api/concerns/{missing}/close", {}).status == 404


def test_what_cannot_be_used_is_named(auditor: Api) -> None:
    for path in ("audit?mission=M 5", "audit?mision=x", "audit?since=now", "audit?run=1&run=2",
            "audit/export?after=-1", "audit/export?after=x", "audit/export?limit=1", "concerns?state=x"):  # fmt: skip
        answer = auditor.get(f"/api/{path.replace(' ', '%20')}")
        assert (answer.status, answer.headers["Content-Type"]) == (400, "application/problem+json")
    bodies: tuple[Any, ...] = (
        {"actor": "a", "mission": "m"},
        {"mission": "M 5"},
        {"actor": 1},
        {"who": "a"},
        {"actor": "a\nb"},
        {"reference": "r" * 121},
        [],
        {"actor": "a" * 201},
    )
    for body in bodies:
        assert auditor.post("/api/concerns", body).status == 400
    assert AuditRow.objects.filter(action="concern.opened").count() == 0


def test_each_right_opens_its_own_door(fresh_db: FreshDatabase) -> None:
    reads, sees, handles = (api_of(make_user(it, it)) for it in AUDITOR)
    assert reads.get("/api/audit").status == 200
    assert sees.get("/api/concerns").status == 200
    assert handles.post("/api/concerns", {}).status == 201
    for who, path in ((reads, "concerns"), (sees, "audit"), (handles, "audit/export")):
        assert who.get(f"/api/{path}").status == 403
    for who in (reads, sees):
        assert who.post("/api/concerns", {"actor": "x"}).status == 403
        assert who.post("/api/concerns/1/close", {}).status == 403


def test_an_export_tells_all_and_says_at_its_end_that_it_is_whole(
    port: int, auditor: Api, filled: None
) -> None:
    status, lines = exported(port, auditor, "?action=thing")
    assert (status, len(lines)) == (200, 2_501)
    numbers = [it["id"] for it in lines[:-1]]
    assert numbers == sorted(set(numbers))
    assert lines[-1].pop("after") >= max(numbers)
    assert lines[-1] == {"is_complete": True, "rows": 2_500}
    _, rest = exported(port, auditor, f"?action=thing&mission=INC-1&after={numbers[1_998]}")
    assert [it["id"] for it in rest[:-1]] == numbers[2_000::2]
    assert AuditRow.objects.filter(action="audit.exported", actor="kim").count() == 2


def test_an_export_ends_before_what_another_transaction_may_still_write(
    fresh_db: FreshDatabase, filled: None
) -> None:
    with psycopg.connect(fresh_db.url) as slow:
        slow.execute("SELECT liyagent_audit('slow.one', 'ann', '', NULL, NULL, '', '{}')")
        slow.execute("SELECT pg_sleep(0.01)")
        record("quick.one", actor="bob")
        # As if all of it were long ago for whoever exports.
        with psycopg.connect(fresh_db.url, autocommit=True) as clock:
            clock.execute(
                "CREATE OR REPLACE FUNCTION liyagent_now() RETURNS timestamptz LANGUAGE sql VOLATILE"
                " AS $$ SELECT clock_timestamp() + interval '1 hour' $$"
            )
        quick = AuditRow.objects.get(action="quick.one").pk
        assert settled_until() < quick - 1
        slow.commit()
    assert settled_until() == quick


def test_an_export_whose_right_is_taken_away_ends_without_its_last_line(
    port: int, auditor: Api, filled: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(audit_export, "CHECK_SECONDS", 0.0)
    assert exported(port, auditor)[1][-1]["is_complete"]
    took = AuditRow.objects.filter(action="audit.exported").count()

    real, pages = audit_export._page, []

    def page(*given: Any) -> bytes:
        pages.append(1)
        if len(pages) == 3:
            User.objects.get(username="kim").user_permissions.remove(
                Permission.objects.get(codename="view_auditrow")
            )
        return real(*given)

    monkeypatch.setattr(audit_export, "_page", page)
    status, lines = exported(port, auditor)
    assert (status, len(lines), "is_complete" in lines[-1]) == (200, 1_000, False)
    assert AuditRow.objects.filter(action="audit.exported").count() == took + 1


def test_a_process_takes_so_many_exports_and_no_more(
    port: int, auditor: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(audit_export, "MOST_EXPORTS", 0)
    assert exported(port, auditor)[0] == 503
