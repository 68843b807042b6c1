"""The dashboard's figures. Each statement is bounded by rows that an index leads to, however many runs there are."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from django.db import connection

from runs.head import RESUMED
from runs.models import RunStatus

WINDOW = timedelta(days=1)
# Of a day's runs, ends and takeovers the newest are looked at.
MOST_OF_A_DAY = 10_000
MOST_COUNTED = 1000
MOST_FAILING = 10
MOST_PROCESSES = 20
ENDED = "agent.run.ended"
OPEN = (RunStatus.RUNNING, RunStatus.QUEUED, RunStatus.WAITING, RunStatus.PAUSED)
AT_REST = (RunStatus.QUEUED, RunStatus.WAITING, RunStatus.PAUSED)

OPEN_NOW = """
SELECT s.status, (SELECT count(*) FROM (SELECT 1 FROM runs_run r
        WHERE r.status = s.status AND r.status <> 'answered' LIMIT %s) AS counted)
    FROM unnest(%s::text[]) AS s(status)
"""
# An end has no index by time of its own; the audit log tells of each, in order.
OF_THE_DAY = """
SELECT 'started', status, count(*) FROM (SELECT status FROM runs_run WHERE created_at >= %(since)s
        ORDER BY created_at DESC, id DESC LIMIT %(most)s) AS newest GROUP BY status
UNION ALL
SELECT 'ended', detail->>'status', count(*) FROM (SELECT at, detail FROM audit_auditrow WHERE action = %(ended)s
        ORDER BY id DESC LIMIT %(most)s) AS newest WHERE at >= %(since)s GROUP BY 2
UNION ALL
SELECT 'taken over', detail->>'cause', count(*) FROM (SELECT at, detail FROM audit_auditrow WHERE action = %(resumed)s
        ORDER BY id DESC LIMIT %(most)s) AS newest WHERE at >= %(since)s GROUP BY 2
UNION ALL
SELECT 'given up', 'lost', count(*) FROM (SELECT ended_at FROM runs_run WHERE error = 'lost'
        ORDER BY created_at DESC, id DESC LIMIT %(most)s) AS newest WHERE ended_at >= %(since)s
"""
OLDEST = """
SELECT o.id, o.status, o.agent_key, o.created_at, o.not_before FROM unnest(%s::text[]) AS s(status),
    LATERAL (SELECT * FROM runs_run r WHERE r.status = s.status AND r.status <> 'answered'
        ORDER BY r.created_at, r.id LIMIT 1) AS o ORDER BY o.created_at
"""
FAILING = """
SELECT agent_key, error, count(*) AS number, max(created_at) FROM (SELECT agent_key, error, created_at FROM runs_run
        WHERE status = 'failed' AND created_at >= %s ORDER BY created_at DESC, id DESC LIMIT %s) AS newest
    GROUP BY agent_key, error ORDER BY number DESC, agent_key, error LIMIT %s
"""
PROCESSES = """
SELECT h.id, h.name, h.renew_by, h.is_draining, h.created_at, (SELECT count(*) FROM (SELECT 1 FROM runs_run r
        WHERE r.status = 'running' AND r.holder = h.id LIMIT %s) AS counted)
    FROM leases_holder h ORDER BY h.renew_by DESC LIMIT %s
"""
SETTINGS = """
SELECT current_user, (SELECT rolsuper FROM pg_roles WHERE rolname = current_user), current_setting('fsync'),
    current_setting('full_page_writes'), current_setting('synchronous_commit'),
    EXISTS (SELECT 1 FROM gateway_policy WHERE is_active)
"""


def open_now() -> dict[str, int]:
    """Return how many runs stand in each status that is no end, at most 1001 of each."""
    return dict(_rows(OPEN_NOW, [MOST_COUNTED + 1, [it.value for it in OPEN]]))


def of_the_day(since: datetime) -> dict[str, dict[str, int]]:
    """Return the numbers of `started` and `ended` by status, of `taken over` by cause, and of `given up`."""
    asked = {"since": since, "most": MOST_OF_A_DAY, "ended": ENDED, "resumed": RESUMED}
    told: dict[str, dict[str, int]] = {
        "started": {}, "ended": {}, "taken over": {}, "given up": {},
    }  # fmt: skip
    for what, name, number in _rows(OF_THE_DAY, asked):
        if number:
            told[what][name or ""] = number
    return told


def oldest_at_rest() -> list[dict[str, Any]]:
    """Return the oldest run of each status in which it waits for something, the oldest of all first."""
    names = ("id", "status", "agent", "created_at", "not_before")
    return [_named(names, row) for row in _rows(OLDEST, [[it.value for it in AT_REST]])]


def failing_agents(since: datetime) -> list[dict[str, Any]]:
    """Return the agents whose runs failed, by the code of why, the most first, at most ten lines."""
    names = ("agent", "error", "number", "last")
    asked = [since, MOST_OF_A_DAY, MOST_FAILING]
    return [_named(names, row) for row in _rows(FAILING, asked)]


def processes() -> list[dict[str, Any]]:
    """Return the holders, those whose lease reaches furthest first, at most twenty, with the runs they carry."""
    names = ("id", "name", "renew_by", "is_draining", "since", "runs")
    return [_named(names, row) for row in _rows(PROCESSES, [MOST_COUNTED + 1, MOST_PROCESSES])]


def database_warnings() -> list[str]:
    """Return what is not as it should be of the database, in sentences."""
    ((role, is_superuser, fsync, pages, commit, has_policy),) = _rows(SETTINGS, [])
    warnings = []
    off = [
        name
        for name, value in (("fsync", fsync), ("full_page_writes", pages), ("synchronous_commit", commit))
        if value == "off"
    ]  # fmt: skip
    if off:
        warnings.append(
            f"PostgreSQL runs with {', '.join(off)} off: a confirmed write can be forgotten, and then be done twice."
        )
    if is_superuser:
        warnings.append(
            f"The database role {role} is a superuser: it can change what is append-only. docs/database-roles.md shows the two roles."
        )
    if not has_policy:
        warnings.append("No policy is in force: every tool call is refused.")
    return warnings


def _rows(statement: str, asked: Any) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(statement, asked)
        return list(cursor.fetchall())


def _named(names: tuple[str, ...], row: tuple[Any, ...]) -> dict[str, Any]:
    return dict(zip(names, row, strict=True))
