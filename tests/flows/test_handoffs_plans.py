"""What the database does for hand-offs over 200,000 versions of them: no page walks through them all, or reads a body for a list."""

from __future__ import annotations

import psycopg
import pytest
from django.contrib.auth.models import User
from django.core.cache import cache
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from handoffs.timeline import handoffs_of
from tests.databases import FreshDatabase
from tests.flows.test_console_plans import MOST_TOUCHED, explained, touched

ID = "('00000000-0000-7000-8000-' || lpad(to_hex({}), 12, '0'))::uuid"
THREAD, DIGEST = ID.format("n / 2"), "encode(sha256(n::text::bytea), 'hex')"
AT = "timestamptz '2026-01-01T00:00:00Z' + n * interval '10 seconds'"
SNAPSHOTS = f"""INSERT INTO handoffs_snapshot (digest, sender, recipient, kind, body, created_at)
    SELECT {DIGEST}, 'agent:a', 'agent:b', 'delegation', '"x"', {AT} FROM generate_series(2, %s) AS n"""
# Two versions of each thread; one large mission, one of the oldest, and small ones.
VERSIONS = f"""INSERT INTO handoffs_version (thread, number, digest, parent, author, run_id, correlation_id, mission, tag, at)
    SELECT {THREAD}, n %% 2 + 1, {DIGEST}, CASE WHEN n %% 2 = 0 THEN '' ELSE 'p' END, 'agent:a', {THREAD}, {THREAD},
        CASE WHEN n <= 30 THEN 'M-rare' WHEN n %% 3 = 0 THEN 'M-large' ELSE 'M-' || n / 10 END, '\\x00', {AT}
        FROM generate_series(2, %s) AS n"""
READINGS = f"""INSERT INTO handoffs_reading (thread, number, digest, reader, run_id, at)
    SELECT {THREAD}, n %% 2 + 1, {DIGEST}, 'agent:b', {THREAD}, {AT} FROM generate_series(2, %s) AS n"""
AUDIT = f"""INSERT INTO audit_auditrow (at, action, actor, mission, correlation_id, run_id, request_id, detail)
    SELECT {AT}, 'agent.handoff', 'agent:a', '', {THREAD}, {THREAD}, '', jsonb_build_object('thread', {THREAD}, 'version', n %% 2 + 1,
        'digest', {DIGEST}) FROM generate_series(2, %s) AS n"""
TABLES = "handoffs_snapshot, handoffs_version, handoffs_reading, audit_auditrow"
MANY = 200_000
ONE = "00000000-0000-7000-8000-000000000007"
LIST = "/admin/handoffs/version/"
PAGES = (
    "/api/handoffs", "/api/handoffs?limit=200", "/api/handoffs?mission=M-large", "/api/handoffs?mission=M-rare",
    "/api/handoffs?mission=M-77", "/api/handoffs?mission=none", f"/api/handoffs/{ONE}",
    LIST, f"{LIST}?p=50", f"{LIST}?q=M-large", f"{LIST}?q=M-rare", f"{LIST}?q=none", f"{LIST}?q={ONE}", f"{LIST}{ONE}/change/",
)  # fmt: skip


@pytest.mark.timeout(240)  # for the filling
def test_no_page_of_hand_offs_walks_through_them_all(fresh_db: FreshDatabase) -> None:
    with psycopg.connect(fresh_db.url, autocommit=True) as filling:
        for statement in (SNAPSHOTS, VERSIONS, READINGS, AUDIT):
            filling.execute(statement, [MANY])
        filling.execute(f"VACUUM ANALYZE {TABLES}")
        digest = filling.execute(f"SELECT digest FROM handoffs_version WHERE thread = '{ONE}' LIMIT 1").fetchone()  # fmt: skip
    client = Client()
    client.force_login(User.objects.create_superuser("root"))
    assert digest is not None
    pages = [*PAGES, f"/api/handoff-snapshots/{digest[0]}", f"{LIST}?q={digest[0]}"]
    wrong = []
    for address in pages:
        cache.clear()
        with CaptureQueriesContext(connection) as queries:
            answer = client.get(address)
        assert answer.status_code == 200, address
        wrong += _wrong(address, [it["sql"] for it in queries])
    for mission in ("M-large", "M-rare", "none"):
        for before in ("", "1767225700000000-7"):
            with CaptureQueriesContext(connection) as queries:
                handoffs_of(mission, before, 50)
            wrong += _wrong(f"timeline {mission} {before}", [it["sql"] for it in queries])
    assert wrong == [], "\n".join(map(str, wrong))


def _wrong(address: str, asked: list[str]) -> list[tuple[str, str, object]]:
    looked = [it for it in asked if "handoffs_" in it or "agent.handoff" in it]
    assert looked, address
    is_list = f"/{ONE}" not in address and "snapshots/" not in address
    if is_list:
        assert not [it for it in looked if '"body"' in it], address
    plans = [(address, sql[:400], explained(sql)) for sql in looked if sql.startswith("SELECT")]
    return [it for it in plans if touched(it[2]) > MOST_TOUCHED]
