"""W5: what one process costs that has nothing to do, its cluster included; and with 10,000 waiting for approval.

Beside these as many wait for a time.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import psutil
import psycopg

from liyagent.core.errors import LiyagentError
from liyagent.demo.vendors.process import ROOT, free_port
from liyagent.launcher.service import Service
from tests.bench.counts import Counter

SETTLE_SECONDS = 8.0
LOOK_SECONDS = 30.0
READY_SECONDS = 60.0
WAITING = 10_000
# Half wait for a time, half for a person.
ADD_WAITING = """
    INSERT INTO runs_run (id, correlation_id, loop, agent_key, agent_version, entry, mission, request_id, started_by,
        recording, status, reason, format, key_id, attempt, losses, last_loss, handovers, resumes_recorded, sequence,
        wakes, events_missing, timeline, model_steps, calls_made, input_tokens, output_tokens, parts, seal,
        stop_requested, stopped_by, created_at, not_before)
    SELECT gen_random_uuid(), gen_random_uuid(), 'root', 'waiting', 1, 'bench', 'waiting', '', '', 'metadata',
        CASE WHEN n %% 2 = 0 THEN 'queued' ELSE 'waiting' END, '', 1, %(key)s, 1, 0, '', 0, 0, 1,
        0, 0, 0, 1, 1, 1, 1, 2, '\\x00', false, '', liyagent_now(),
        CASE WHEN n %% 2 = 0 THEN liyagent_now() + interval '1 day' END
    FROM generate_series(1, 2 * %(count)s) AS n
"""
ADD_REQUESTS = """
    INSERT INTO approvals_approval (id, kind, status, run_id, correlation_id, step, index, run_waits, mission, agent_key,
        entry, requested_by, run_as, server, tool, gate, held_reason, digest, policy_fingerprint, ceiling,
        ceiling_digest, sealed, key_id, created_at, expires_at, remind_at, decided_by, decision_reason, settled_reason)
    SELECT gen_random_uuid(), 'call', 'pending', r.id, r.correlation_id, 1, 0, true, r.mission, r.agent_key, r.entry, '',
        '', 'v', 'keyed', 'write_posture', 'held', md5(r.id::text), '', '{}', '', '\\x00', r.key_id, r.created_at,
        r.created_at + interval '7 days', r.created_at + interval '1 day', '', '', ''
    FROM runs_run r WHERE r.status = 'waiting' AND r.entry = 'bench'
"""
# Without its mark a run would not wait: the leader would wake it.
ADD_MARKS = """
    INSERT INTO runs_call (run_id, correlation_id, step, index, provider_call_id, server, tool, intent, approval_id,
        step_key, has_identity, key_window_seconds, intent_digest, attempt, holder, marked_at, deadline, sealed, fate,
        settlement, late_finding)
    SELECT a.run_id, a.correlation_id, 1, 0, 'call', a.server, a.tool, 'held', a.id, md5(a.id::text), true, 0,
        md5(a.run_id::text), 1, gen_random_uuid(), a.created_at, a.created_at, '\\x00', '', '', ''
    FROM approvals_approval a WHERE a.entry = 'bench'
"""


class IdleFailed(LiyagentError):
    """The process that was to be idle did not start."""

    code = "bench.idle_failed"


def measure_idle(env: dict[str, str], *, log: Path, has_statements: bool) -> list[dict[str, Any]]:
    """Start one `serve`, watch it do nothing, let 10,000 runs wait for people, watch again. Raises `IdleFailed`."""
    port = free_port()
    service = Service(
        name="idle",
        command=[sys.executable, "manage.py", "serve", "--port", str(port)],
        log=log,
        env=env,
        cwd=ROOT,
        ready_port=port,
    )
    service.start()
    try:
        _wait_ready(service)
        told = [_look(service, env["DATABASE_URL"], has_statements=has_statements, waiting=0)]
        with psycopg.connect(env["DATABASE_URL"], autocommit=True) as connection:
            key = env["LIYAGENT_SEAL_KEYS"].partition(":")[0]
            connection.execute(ADD_WAITING, {"key": key, "count": WAITING})
            connection.execute(ADD_REQUESTS)
            connection.execute(ADD_MARKS)
            connection.execute("VACUUM ANALYZE runs_run, approvals_approval")
        told.append(
            _look(service, env["DATABASE_URL"], has_statements=has_statements, waiting=WAITING)
        )
        return told
    finally:
        service.ask_to_stop()
        service.end()


def _wait_ready(service: Service) -> None:
    until = time.monotonic() + READY_SECONDS
    while not service.is_ready():
        if service.pid is None or time.monotonic() > until:
            raise IdleFailed(f"the process is not ready: {service.tail()}")
        time.sleep(LOOK_SECONDS / 100)


def _look(service: Service, url: str, *, has_statements: bool, waiting: int) -> dict[str, Any]:
    assert service.pid is not None
    time.sleep(SETTLE_SECONDS)
    counter = Counter(url, has_statements=has_statements)
    root = psutil.Process(service.pid)
    family = [root, *root.children(recursive=True)]
    before, cpu_before, began = counter.read(), _cpu(family), time.monotonic()
    time.sleep(LOOK_SECONDS)
    seconds = time.monotonic() - began
    counts = counter.read().since(before)
    return {
        "waiting": waiting,
        "cpu_percent": 100 * (_cpu(family) - cpu_before) / seconds,
        "statements_per_second": counts.statements / seconds,
        "commits_per_second": counts.commits / seconds,
        "processes": len(family),
        "memory_mb": sum(it.memory_info().rss for it in family) / 1e6,
        "seconds": seconds,
    }


def _cpu(family: list[psutil.Process]) -> float:
    return float(sum(sum(it.cpu_times()[:2]) for it in family))
