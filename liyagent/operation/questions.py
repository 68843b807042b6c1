"""The statements of a scrape, each (name, labels, value): bounded, and by indexes alone where tables grow.

Counts stop at a limit in the order of an index. What has ended is not counted: a million rows would be walked through.
"""

from __future__ import annotations

from liyagent.operation.readings import MOST_COUNTED
from runs.unsettled import UNSETTLED_SQL

NONE = "'{}'::text[]"

RUNS = " UNION ALL ".join(
    f"""SELECT 'runs', ARRAY['{status}', it.entry], count(*)::float FROM (
        SELECT r.entry FROM runs_run r WHERE r.status = '{status}'
        ORDER BY r.created_at DESC, r.id DESC LIMIT {MOST_COUNTED}) AS it GROUP BY it.entry"""  # noqa: S608 - constants
    for status in ("queued", "running", "waiting", "paused")
)
_KINDS = {
    "fresh": "r.attempt = 0 AND r.not_before IS NULL ORDER BY r.created_at",
    "again": "r.attempt > 0 AND r.not_before IS NULL AND NOT (r.losses = 2) ORDER BY r.created_at",
    "timed": "r.not_before IS NOT NULL AND NOT (r.losses = 2) ORDER BY r.not_before",
    "alone": "r.losses = 2 ORDER BY r.stop_requested, r.not_before, r.created_at",
}
QUEUE = " UNION ALL ".join(
    [
        *(
            f"""SELECT 'queued_runs', ARRAY['{kind}'], count(*)::float FROM (
                SELECT 1 FROM runs_run r WHERE r.status = 'queued' AND {which} LIMIT {MOST_COUNTED}) AS it"""  # noqa: S608 - constants
            for kind, which in _KINDS.items()
        ),
        *(
            f"""SELECT 'queue_oldest_seconds', ARRAY['{kind}'],
                coalesce(greatest(0, extract(epoch FROM liyagent_now() - (SELECT r.{since} FROM runs_run r
                    WHERE r.status = 'queued' AND {_KINDS[kind]} LIMIT 1))), 0)::float"""  # noqa: S608 - constants
            for kind, since in (("fresh", "created_at"), ("timed", "not_before"))
        ),
        *(
            f"""SELECT 'runs_oldest_seconds', ARRAY['{status}'],
                coalesce(extract(epoch FROM liyagent_now() - (SELECT r.created_at FROM runs_run r
                    WHERE r.status = '{status}' ORDER BY r.created_at, r.id LIMIT 1)), 0)::float"""  # noqa: S608 - constants
            for status in ("running", "waiting", "paused")
        ),
        f"""(SELECT 'paused_runs', ARRAY[it.key_id], count(*)::float FROM (
                SELECT r.key_id FROM runs_run r WHERE r.status = 'paused' AND r.status IN ('queued', 'paused')
                ORDER BY r.status, r.key_id LIMIT {MOST_COUNTED}) AS it GROUP BY it.key_id LIMIT 50)""",  # noqa: S608 - constants
    ]
)
# Running runs are as many as processes can carry: the partial index by holder is all of them.
RUNNING = f"""
WITH running AS MATERIALIZED (
    SELECT r.losses, r.events_missing FROM runs_run r WHERE r.status = 'running'
    ORDER BY r.holder LIMIT {MOST_COUNTED})
SELECT 'runs_carried_alone', {NONE}, count(*) FILTER (WHERE losses = 2)::float FROM running
UNION ALL SELECT 'events_missing', {NONE}, coalesce(sum(events_missing), 0)::float FROM running
UNION ALL (SELECT 'runs_resumed_15m', ARRAY[coalesce(it.cause, '')], count(*)::float FROM (
    SELECT left(a.detail->>'cause', 20) AS cause, a.at FROM audit_auditrow a
    WHERE a.action = 'agent.run.crash_resumed' ORDER BY a.id DESC LIMIT 1000) AS it
    WHERE it.at > liyagent_now() - interval '15 minutes' GROUP BY 1, 2 LIMIT 20)
"""  # noqa: S608 - constants
# Marks are open in runs that have not ended, and only in those that ran: their calls are found by run.
WRITES = f"""
WITH begun AS MATERIALIZED (
    (SELECT r.id FROM runs_run r WHERE r.status = 'running' ORDER BY r.holder LIMIT 2000)
    UNION ALL (SELECT r.id FROM runs_run r WHERE r.status = 'queued' AND {_KINDS["again"]} LIMIT 2000)
    UNION ALL (SELECT r.id FROM runs_run r WHERE r.status = 'queued' AND {_KINDS["timed"]} LIMIT 2000)
    UNION ALL (SELECT r.id FROM runs_run r WHERE r.status = 'queued' AND {_KINDS["alone"]} LIMIT 2000)
    UNION ALL (SELECT r.id FROM runs_run r WHERE r.status = 'paused' ORDER BY r.created_at DESC, r.id DESC LIMIT 2000)),
open AS MATERIALIZED (
    SELECT it.number, it.since FROM begun CROSS JOIN LATERAL (
        SELECT count(*) AS number, min(c.marked_at) AS since FROM runs_call c
        WHERE c.run_id = begun.id AND {UNSETTLED_SQL} OFFSET 0) AS it)
SELECT 'writes_in_doubt', {NONE}, coalesce(sum(number), 0)::float FROM open
UNION ALL SELECT 'write_in_doubt_oldest_seconds', {NONE},
    coalesce(extract(epoch FROM liyagent_now() - min(since)), 0)::float FROM open
UNION ALL SELECT 'unknown_writes', {NONE}, count(*) FILTER (WHERE it.late_finding <> 'found')::float FROM (
    SELECT c.late_finding FROM runs_call c WHERE c.fate = 'unknown'
    ORDER BY c.correlation_id DESC LIMIT {MOST_COUNTED}) AS it
UNION ALL SELECT 'unknown_write_oldest_seconds', {NONE},
    coalesce(extract(epoch FROM liyagent_now() - (SELECT c.marked_at FROM runs_call c
        WHERE c.fate = 'unknown' AND c.late_finding <> 'found' ORDER BY c.marked_at, c.id LIMIT 1)), 0)::float
UNION ALL SELECT 'late_looks_overdue', {NONE}, count(*)::float FROM (
    SELECT 1 FROM runs_call c WHERE c.late_look_at < liyagent_now() - interval '5 minutes'
    ORDER BY c.late_look_at LIMIT {MOST_COUNTED}) AS it
"""  # noqa: S608 - constants
# What a person has to look after, as `sagas.needing` has it: its index holds what was left alone.
SAGAS = f"""
WITH newest AS MATERIALIZED (
    SELECT s.id, s.status, s.handoff, s.changed_at FROM sagas_saga s WHERE s.status IN ('partial', 'handed_off')
    ORDER BY s.created_at DESC, s.id DESC LIMIT {MOST_COUNTED}),
needing AS MATERIALIZED (
    SELECT n.status, n.changed_at FROM newest n WHERE NOT (n.status = 'handed_off' AND n.handoff IN ('', 'none'))
        AND NOT EXISTS (SELECT 1 FROM approvals_approval a
            WHERE a.run_id = n.id AND a.kind = 'saga' AND a.status IN ('approved', 'consumed'))
        AND NOT EXISTS (SELECT 1 FROM tickets_ticket t
            WHERE t.source_kind = 'saga' AND t.source_id = n.id::text AND t.state IN ('resolved', 'closed')))
SELECT 'sagas_left', ARRAY['partial'], count(*) FILTER (WHERE status = 'partial')::float FROM needing
UNION ALL SELECT 'sagas_left', ARRAY['handed_off'], count(*) FILTER (WHERE status = 'handed_off')::float FROM needing
UNION ALL SELECT 'saga_left_oldest_seconds', {NONE},
    coalesce(extract(epoch FROM liyagent_now() - min(changed_at)), 0)::float FROM needing
"""  # noqa: S608 - constants
HOLDERS = f"""
WITH RECURSIVE held(holder) AS (
    (SELECT r.holder FROM runs_run r WHERE r.status = 'running' ORDER BY r.holder LIMIT 1)
    UNION ALL
    SELECT (SELECT r.holder FROM runs_run r WHERE r.status = 'running' AND r.holder > held.holder
        ORDER BY r.holder LIMIT 1) FROM held WHERE held.holder IS NOT NULL),
lapsed AS MATERIALIZED (
    SELECT extract(epoch FROM liyagent_now() - h.renew_by) AS seconds
        FROM held LEFT JOIN leases_holder h ON h.id = held.holder
        WHERE held.holder IS NOT NULL AND (h.id IS NULL OR h.renew_by < liyagent_now()) LIMIT {MOST_COUNTED}),
lives AS MATERIALIZED (
    SELECT h.is_draining, h.life_lock, extract(epoch FROM h.renew_by - liyagent_now()) AS left_seconds
        FROM leases_holder h LIMIT {MOST_COUNTED}),
leader AS (SELECT extract(epoch FROM l.until - liyagent_now()) AS left_seconds FROM leases_lease l WHERE l.name = 'leader')
SELECT 'holders', ARRAY['alive'], count(*) FILTER (WHERE left_seconds > 0 AND NOT is_draining)::float FROM lives
UNION ALL SELECT 'holders', ARRAY['draining'], count(*) FILTER (WHERE left_seconds > 0 AND is_draining)::float FROM lives
UNION ALL SELECT 'holders', ARRAY['lapsed'], count(*) FILTER (WHERE left_seconds <= 0)::float FROM lives
UNION ALL SELECT 'holders_unlocked', {NONE}, count(*) FILTER (WHERE left_seconds > 0 AND life_lock IS NULL)::float FROM lives
UNION ALL SELECT 'lease_renewal_oldest_seconds', {NONE},
    coalesce(greatest(0, %(lease)s - min(left_seconds) FILTER (WHERE left_seconds > 0)), 0)::float FROM lives
UNION ALL SELECT 'lapsed_holders', {NONE}, count(*)::float FROM lapsed
UNION ALL SELECT 'lapsed_oldest_seconds', {NONE}, coalesce(max(seconds), 0)::float FROM lapsed
UNION ALL SELECT 'leader_up', {NONE}, count(*) FILTER (WHERE left_seconds > 0)::float FROM leader
UNION ALL SELECT 'leader_tick_seconds', {NONE}, greatest(0, 2 * %(sweep)s - left_seconds)::float FROM leader
"""  # noqa: S608 - constants
CONFIGURATION = f"""
SELECT 'jobs_queued', {NONE}, count(*)::float FROM (SELECT 1 FROM django_q_ormq LIMIT 1000) AS it
UNION ALL (SELECT 'background_jobs', ARRAY[it.kind::text, it.status::text], count(*)::float FROM (
    SELECT j.kind, j.status FROM jobs_job j WHERE j.status IN ('queued', 'running')
    ORDER BY j.next_at LIMIT {MOST_COUNTED}) AS it GROUP BY it.kind, it.status LIMIT 100)
UNION ALL SELECT 'background_job_oldest_seconds', {NONE},
    coalesce(greatest(0, extract(epoch FROM liyagent_now() - (SELECT j.next_at FROM jobs_job j
        WHERE j.status IN ('queued', 'running') AND j.status = 'queued' ORDER BY j.next_at LIMIT 1))), 0)::float
UNION ALL SELECT 'tools_unapproved', {NONE}, count(*)::float FROM (
    SELECT 1 FROM gateway_tool t JOIN gateway_toolserver s ON s.id = t.server_id
    WHERE s.is_enabled AND t.is_offered AND t.fingerprint <> t.approved_fingerprint LIMIT {MOST_COUNTED}) AS it
UNION ALL SELECT 'servers_unreadable', {NONE}, count(*)::float FROM (
    SELECT 1 FROM gateway_toolserver s WHERE s.is_enabled AND s.catalogue_error <> '' LIMIT {MOST_COUNTED}) AS it
UNION ALL SELECT 'server_unreadable_oldest_seconds', {NONE},
    coalesce(extract(epoch FROM liyagent_now() - min(s.catalogue_error_since)), 0)::float
    FROM gateway_toolserver s WHERE s.is_enabled AND s.catalogue_error <> ''
UNION ALL SELECT 'agents_contained', {NONE}, count(*)::float FROM (
    SELECT 1 FROM agents_agent a WHERE a.is_contained LIMIT {MOST_COUNTED}) AS it
UNION ALL SELECT 'everything_contained', {NONE}, c.is_contained::int::float FROM agents_configversion c
UNION ALL SELECT 'undelivered_notices', ARRAY['failing'], count(*)::float FROM (
    SELECT 1 FROM approvals_notice n WHERE n.state = 'pending' AND n.failures > 0
    ORDER BY n.created_at LIMIT {MOST_COUNTED}) AS it
UNION ALL SELECT 'undelivered_notices', ARRAY['dead'], count(*)::float FROM (
    SELECT 1 FROM approvals_notice n WHERE n.state = 'dead' ORDER BY n.settled_at LIMIT {MOST_COUNTED}) AS it
UNION ALL SELECT 'approval_notice_oldest_seconds', {NONE},
    coalesce(extract(epoch FROM liyagent_now() - (SELECT n.created_at FROM approvals_notice n
        WHERE n.state = 'pending' AND n.failures > 0 ORDER BY n.created_at LIMIT 1)), 0)::float
"""  # noqa: S608 - constants

QUESTIONS = (RUNS, QUEUE, RUNNING, WRITES, SAGAS, HOLDERS, CONFIGURATION)
