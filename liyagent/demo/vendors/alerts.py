"""The alerts that the incident manager of the demo knows: the same in every installation, so that runs can be told apart by them."""

from __future__ import annotations

from typing import Any

FIRST = 2001
# Host, what is wrong, whose it is, how bad.
ALERTS: tuple[tuple[str, str, str, str], ...] = (
    ("web-11", "/var is 91% full", "platform", "p3"),
    ("db-payments-1", "replication is 340 s behind", "database", "p1"),
    ("web-12", "certificate ends in 6 days", "platform", "p3"),
    ("mq-2", "12,400 messages wait in orders", "platform", "p2"),
    ("db-orders-1", "412 of 420 connections in use", "database", "p2"),
    ("web-14", "p99 of /checkout is 2.4 s", "platform", "p2"),
    ("cache-3", "evicts 900 keys a second", "platform", "p3"),
    ("db-stock-1", "longest query runs for 46 min", "database", "p2"),
    ("web-15", "5xx of /login are 3.1%", "platform", "p2"),
    ("backup-1", "last backup of orders is 31 h old", "database", "p2"),
    ("db-payments-2", "disk is full in 2 h", "database", "p1"),
    ("web-16", "/var is 88% full", "platform", "p3"),
    ("dns-1", "answers 4% of queries with SERVFAIL", "platform", "p2"),
    ("db-users-1", "214 deadlocks in an hour", "database", "p2"),
    ("web-18", "load is 41 on 8 cores", "platform", "p3"),
    ("mq-3", "disk alarm, producers are blocked", "platform", "p1"),
    ("web-19", "certificate ends in 2 days", "platform", "p2"),
    ("db-orders-2", "replication is stopped", "database", "p1"),
    ("cache-4", "memory is fragmented 2.9 times", "platform", "p3"),
    ("web-20", "/home is 97% full", "platform", "p3"),
    ("db-stock-2", "autovacuum is 9 days behind", "database", "p3"),
    ("vpn-1", "190 of 200 leases are taken", "platform", "p3"),
    ("db-users-2", "checkpoints every 40 s", "database", "p3"),
    ("web-21", "health check fails one time in five", "platform", "p2"),
)


def alert(alert_id: str) -> dict[str, Any] | None:
    """Return an alert by its id, ALR-2001 and on; None where there is none."""
    return KNOWN.get(alert_id)


def _told(number: int, host: str, what: str, team: str, severity: str) -> dict[str, Any]:
    return {
        "id": f"ALR-{number}",
        "title": f"{host}: {what}",
        "host": host,
        "team": team,
        "severity": severity,
        "runbook": f"https://runbooks.example.com/{host.rstrip('0123456789-')}",
    }


KNOWN = {
    told["id"]: told for told in (_told(FIRST + index, *row) for index, row in enumerate(ALERTS))
}
