"""What the database does for timelines of missions, over 20,000 rows of each kind: never a walk through all of them."""

from __future__ import annotations

import psycopg
import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from liyagent.console.missions.listing import list_missions
from missions.models import Mission
from missions.timeline import SOURCES, page_of
from runs.timeline import LOOKED_AT_ONCE
from tests.databases import FreshDatabase
from tests.flows.test_console_plans import explained, touched

MANY, PAGE = 20_000, 50
# Half of all is of one mission; the oldest have one of their own, and every tenth has none but its correlation id.
ID = "('00000000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid"
MISSION = f"CASE WHEN n <= 30 THEN 'M-rare' WHEN n %% 10 = 0 THEN ({ID})::text WHEN n %% 2 = 0 THEN 'M-large' ELSE 'M-' || n / 5 END"
AT = "timestamptz '2026-01-01T00:00:00Z' + n * interval '10 seconds'"
UNNAMED = "00000000-0000-7000-8000-000000004e20"
FILLED = (
    f"""INSERT INTO runs_run (id, correlation_id, loop, agent_key, agent_version, entry, mission, request_id, started_by, recording, status,
        reason, error, format, key_id, attempt, losses, last_loss, handovers, resumes_recorded, sequence, wakes, events_missing, timeline,
        model_steps, calls_made, input_tokens, output_tokens, parts, seal, stop_requested, stopped_by, created_at)
        SELECT {ID}, {ID}, 'root', 'a', 1, 'api', {MISSION}, '', '', 'metadata', 'answered', '', '', 1, 'k', 1, 0, '', 0, 0, 0, 0, 0, 0,
        0, 0, 0, 0, 1, '\\x00', false, '', {AT} FROM generate_series(1, %s) AS n""",
    f"""INSERT INTO runs_call (run_id, correlation_id, step, index, provider_call_id, server, tool, intent, step_key, has_identity,
        key_window_seconds, intent_digest, attempt, holder, marked_at, deadline, sealed, fate, settlement, late_finding)
        SELECT {ID}, {ID}, 1, 0, '', 'jira', 'create', 'sending', n::text, true, 0, '', 1, gen_random_uuid(), {AT}, {AT}, '\\x00',
        CASE WHEN n %% 20 = 0 THEN 'unknown' ELSE 'done' END, '', '' FROM generate_series(1, %s) AS n""",
    f"""INSERT INTO events_runevent (correlation_id, number, run_id, at, kind, mission, recording, content, hash)
        SELECT {ID}, k, {ID}, {AT} + k * interval '1 ms', 'step', {MISSION}, 'metadata', '{{"step":1}}', '\\x00'
        FROM generate_series(1, %s) AS n, generate_series(0, 1) AS k""",
    f"""INSERT INTO audit_auditrow (at, action, actor, mission, correlation_id, run_id, request_id, detail)
        SELECT {AT}, 'agent.run.ended', 'a', {MISSION}, {ID}, {ID}, '', '{{}}' FROM generate_series(1, %s) AS n""",
    f"""INSERT INTO approvals_approval (id, kind, status, run_id, correlation_id, step, index, run_waits, mission, agent_key, entry,
        requested_by, run_as, server, tool, gate, held_reason, digest, policy_fingerprint, ceiling, ceiling_digest, sealed, key_id,
        created_at, expires_at, decided_by, decision_reason, settled_reason)
        SELECT {ID}, 'call', 'consumed', {ID}, {ID}, 1, 0, true, {MISSION}, 'a', 'api', '', '', 'jira', 'create', 'g', '', '', 'p', '{{}}',
        'c', '\\x00', 'k', {AT}, {AT}, '', '', '' FROM generate_series(1, %s) AS n""",
    f"""INSERT INTO entry_arrival (run_id, way, source, delivery_id, body_digest, agent_key, started_by, mission, request_id, key_id, state,
        reason, outcome, received_at, next_at, give_up_at, attempts, ended_at)
        SELECT {ID}, 'teams', 'desk', 'd-' || n, '', 'a', 'ann', CASE WHEN n %% 10 = 0 THEN '' ELSE {MISSION} END, '', 'k', 'ended', '',
        'answered', {AT}, {AT}, {AT}, 1, {AT} FROM generate_series(1, %s) AS n""",
    f"""INSERT INTO jobs_job (id, kind, subject, params, cursor, status, done, words, attempt, losses, losses_here, next_at, asked_by,
        mission, request_id, reason, created_at, ended_at)
        SELECT {ID}, 'k', 's' || n, '{{}}', '{{}}', 'done', 0, '', 1, 0, 0, {AT}, 'ann', {MISSION}, '', '', {AT}, {AT}
        FROM generate_series(1, %s) AS n""",
    f"""INSERT INTO tickets_ticket (id, serial, state, priority, queue, subject, sealed, key_id, source_kind, source_id, mission, agent_key,
        created_by, changed_by, revision, comments, created_at, changed_at)
        SELECT {ID}, n, 'open', 'P2', 'q', 's', '\\x00', 'k', 'saga', n::text, {MISSION}, '', 'system', '', 0, 0, {AT}, {AT}
        FROM generate_series(1, %s) AS n""",
)  # fmt: skip
TABLES = "runs_run, runs_call, events_runevent, audit_auditrow, approvals_approval, entry_arrival, jobs_job, tickets_ticket, missions_mission"


@pytest.mark.timeout(240)  # for the filling
def test_no_page_of_a_timeline_walks_through_all_there_is(fresh_db: FreshDatabase) -> None:
    with psycopg.connect(fresh_db.url, autocommit=True) as filling:
        for statement in FILLED:
            filling.execute(statement, [MANY])
        filling.execute(f"VACUUM ANALYZE {TABLES}")
    sources = list(SOURCES.values())
    with CaptureQueriesContext(connection) as queries:
        for mission in ("M-large", "M-rare", UNNAMED, "M-7", "M-nowhere"):
            page = page_of(mission, sources, limit=PAGE)
            for _ in range(3):
                if page.next_cursor:
                    page = page_of(mission, sources, limit=PAGE, cursor=page.next_cursor)
        missions = list_missions({})
        assert missions.next_cursor
        list_missions({"cursor": missions.next_cursor})
    looked = {it["sql"] for it in queries if it["sql"].lstrip().startswith("SELECT")}
    of_doubts = {it for it in looked if "runs_call" in it or "runs_run" in it}
    wrong = [
        (sql[:300], it)
        for sql in looked
        if touched(it := explained(sql)) > (LOOKED_AT_ONCE if sql in of_doubts else 2 * PAGE)
    ]
    assert wrong == [], "\n".join(map(str, wrong))
    found = page_of("M-rare", sources, limit=150)
    rest = page_of("M-rare", sources, limit=150, cursor=found.next_cursor)
    # Each room's thirty, two events each, and a write in doubt; three came in without naming it.
    assert (len(found.lines), len(rest.lines), rest.next_cursor) == (150, 30 * 7 + 27 + 1 - 150, "")
    assert Mission.objects.count() > MANY // 10
