"""W6: a sweep among 100,000 live and 100 lapsed leases, and what renewing costs beside them."""

from __future__ import annotations

import statistics
import time
import uuid
from typing import Any

import psycopg
from django.conf import settings

from runs.renewal import RENEW, RENEWALS_PER_LEASE
from runs.sweep import SWEEP

LIVE, LAPSED = 100_000, 100
HOLDERS = 50
MOST_CLAIMS = 200
CARRIED = 64
ROUNDS = 20
ADD_HOLDER = """
    INSERT INTO leases_holder (id, name, boot_id, pid_namespace, pid, started_ticks, renew_by, formats, key_ids,
        is_draining, created_at)
    VALUES (%s, 'bench', 'another', 'another', 1, 1, liyagent_now() + make_interval(secs => %s), '{1}', '{k}',
        false, liyagent_now())
"""
ADD_RUNS = """
    INSERT INTO runs_run (id, correlation_id, loop, agent_key, agent_version, entry, mission, request_id, started_by,
        recording, status, reason, format, key_id, attempt, holder, losses, last_loss, handovers, resumes_recorded,
        sequence, wakes, events_missing, timeline, model_steps, calls_made, input_tokens, output_tokens, parts, seal,
        stop_requested, stopped_by, created_at)
    SELECT gen_random_uuid(), gen_random_uuid(), 'root', 'swept', 1, 'bench', 'swept', '', '', 'metadata', 'running',
        '', 1, 'k', 1, %s, 0, '', 0, 0, 1, 0, 0, 0, 1, 1, 1, 1, 2, '\\x00', false, '', liyagent_now()
    FROM generate_series(1, %s)
"""
AGAIN = """
    UPDATE runs_run SET status = 'running', holder = %s, attempt = attempt + 1 WHERE agent_key = 'swept'
        AND status = 'queued'
"""


def measure_sweep() -> dict[str, Any]:
    """Return milliseconds of a sweep that claims 100, of one that finds nothing, and of a renewal."""
    with psycopg.connect(settings.LIYAGENT.database_url, autocommit=True) as connection:
        own, lapsed = uuid.uuid4(), uuid.uuid4()
        connection.execute(ADD_HOLDER, [own, 3600.0])
        for _ in range(HOLDERS):
            holder = uuid.uuid4()
            connection.execute(ADD_HOLDER, [holder, 3600.0])
            connection.execute(ADD_RUNS, [holder, LIVE // HOLDERS])
        connection.execute(ADD_HOLDER, [lapsed, -1.0])
        connection.execute(ADD_RUNS, [own, CARRIED])
        connection.execute(ADD_RUNS, [lapsed, LAPSED])
        connection.execute("VACUUM ANALYZE runs_run")
        mine = connection.execute(
            "SELECT id, attempt FROM runs_run WHERE holder = %s", [own]
        ).fetchall()
        claiming, idle = _sweeps(connection, own, lapsed)
        renewing = [
            _ms(
                connection,
                RENEW,
                [own, 3600.0, [it[0] for it in mine], [it[1] for it in mine]],
                rows=1,
            )
            for _ in range(ROUNDS)
        ]
        return {
            "live": LIVE,
            "lapsed": LAPSED,
            "claiming_ms": statistics.median(claiming),
            "idle_ms": statistics.median(idle),
            "renewal_ms": statistics.median(renewing),
            "renewals_per_second": RENEWALS_PER_LEASE / settings.LIYAGENT.lease_seconds,
        }


def _sweeps(
    connection: psycopg.Connection, own: uuid.UUID, lapsed: uuid.UUID
) -> tuple[list[float], list[float]]:
    claiming, idle = [], []
    for _ in range(ROUNDS):
        claiming.append(_ms(connection, SWEEP, [own, MOST_CLAIMS, 0.0], rows=LAPSED))
        idle.append(_ms(connection, SWEEP, [own, MOST_CLAIMS, 0.0], rows=0))
        connection.execute(AGAIN, [lapsed])
    return claiming, idle


def _ms(connection: psycopg.Connection, query: str, values: list[Any], *, rows: int) -> float:
    began = time.perf_counter()
    found = connection.execute(query, values).fetchall()
    milliseconds = (time.perf_counter() - began) * 1000
    assert len(found) == rows, f"{len(found)} rows instead of {rows}"
    return milliseconds
