"""Requests that wait for a person, with arguments that would like to be misread: sealed as the product seals them."""

from __future__ import annotations

import base64
import json
from hashlib import sha256
from typing import Any
from uuid import UUID, uuid4

import psycopg

from liyagent.approvals.digests import digest_of
from liyagent.approvals.words import FORMAT, WORDS
from liyagent.core.canonical import digest
from liyagent.core.seal import Keyring
from tests.processes.place import Place
from tests.trials.scripts import AGENTS

# Of no policies that ever were in force.
OTHER_POLICIES = "c" * 64
HELD = "UPDATE agents_agent SET write_posture = 'hold', may_wait = true WHERE key = %s"
FILED = """
INSERT INTO approvals_approval (id, kind, status, run_id, correlation_id, step, index, run_waits, mission, agent_key, entry,
    requested_by, run_as, server, tool, gate, held_reason, digest, policy_fingerprint, ceiling, ceiling_digest, sealed,
    key_id, created_at, expires_at, decided_by, decision_reason, settled_reason)
SELECT %(id)s, 'call', 'pending', r.id, r.correlation_id, 1, %(index)s, true, r.mission, r.agent_key, r.entry, 'rita',
    'svc-jira', 'jira', 'create_issue', 'write_posture', %(reason)s, %(digest)s, %(policy)s, %(ceiling)s, %(ceiling_digest)s,
    %(sealed)s, %(key)s, liyagent_now() - interval '100 minutes', liyagent_now() + %(left)s::interval, '', '', ''
FROM runs_run r WHERE r.id = %(run)s
"""
DECIDED = """
UPDATE approvals_approval SET status = 'approved', decided_at = liyagent_now(), decided_by = 'olga', decision_reason = 'looks right'
    WHERE id = %s
"""
STALE = "UPDATE approvals_approval SET status = 'stale', settled_reason = 'changed since it was approved: the policies' WHERE id = %s"
REPLACES = "UPDATE approvals_approval SET replaces = %s WHERE id = %s"
CEILING = {"patterns": ["jira/*"], "permission": "jira.write", "run_as": "svc-jira", "policies": ["let-writes-through"]}  # fmt: skip
DEEP = {"fields": {"project": {"key": "OPS"}, "labels": ["db", "urgent"], "watchers": [{"name": "rita", "notify": True}]}}  # fmt: skip
# The letters after U+202E are shown in the other direction by whatever obeys it.
HOSTILE: dict[str, Any] = {
    "host": "db-prod\u202e1-tset-bd",
    "summary": "<img src=x onerror=alert(1)><script>alert(2)</script>",
    "command": f"ls /tmp{' ' * 900}; rm -rf /srv",
    "note": 'all is well"\nreason: approved by the boss\npriority: 1',
    "account": "p\u0430ypal-ops",
    "na\u200bme": "zero\u200bwidth\ufeff and an escape \x1b[31m",
    "path": "/srv/אבג/12/דה",
    "imitated": "⟨U+202E⟩ ⟨34 characters not shown here⟩",
    "hidden": "ok\U000e0061\U000e0062\u3164",
    **DEEP,
    "count": 7,
    "dry_run": False,
    "parent": None,
    "options": {},
}
LONG: dict[str, Any] = {
    "description": "The disk of db-1 is full.\n" * 770 + "Then delete everything below /srv.",
    "rows": [{"id": it, "name": f"row {it}"} for it in range(120)],
    "deep": {"a": {"b": {"c": {"d": {"e": {"f": [[[["the bottom"]]]]}}}}}},
    "k" * 400: "a long name",
}


def file_requests(place: Place, *, unknown: UUID) -> dict[str, UUID]:
    """File them: `plain` by a run that sleeps on it; `hostile`, `twin` and `long` by a run with an unknown write.

    `long` was asked under other policies than those in force, in place of `stale`; `approved` is not made yet.
    """
    with psycopg.connect(place.stage.database_url, autocommit=True) as connection:
        connection.execute(HELD, [AGENTS["readable"]])
        (run,) = place.start_runs("readable", at="B")
        place.until(lambda: place.heads([run])[0]["status"] == "waiting", "a run that waits")
        plain = place.one("SELECT id FROM approvals_approval WHERE run_id = %s", run)
        ring = _ring(place.stage.env["LIYAGENT_SEAL_KEYS"])
        text = place.one("SELECT text FROM gateway_policy WHERE is_active AND id > %s", 0)
        now = sha256(text.encode()).hexdigest()
        filed = {
            name: _file(connection, ring, run_id=unknown, index=index, args=args, left=left, policy=policy)
            for index, (name, args, left, policy) in enumerate(
                (
                    ("hostile", HOSTILE, "40 minutes", now),
                    ("twin", HOSTILE, "6 days", now),
                    ("long", LONG, "6 days", OTHER_POLICIES),
                    ("stale", DEEP, "6 days", OTHER_POLICIES),
                    ("approved", DEEP, "6 days", now),
                ),
                5,
            )
        }  # fmt: skip
        for status in ("approved", "stale"):
            connection.execute(DECIDED, [filed[status]])
        connection.execute(STALE, [filed["stale"]])
        connection.execute(REPLACES, [filed["stale"], filed["long"]])
    return {"plain": plain, **filed}


def _ring(text: str) -> Keyring:
    pairs = (part.partition(":") for part in text.split(","))
    return Keyring(tuple((name, base64.b64decode(key)) for name, _, key in pairs))


def _file(connection: psycopg.Connection, ring: Keyring, *, run_id: UUID, index: int, args: dict[str, Any], left: str, policy: str) -> UUID:  # fmt: skip
    approval = uuid4()
    agent = connection.execute("SELECT agent_key FROM runs_run WHERE id = %s", [run_id]).fetchone()
    assert agent is not None
    sealer = ring.sealer(key_id=ring.newest, run_id=approval, format_number=FORMAT)
    facts = {
        "id": approval, "index": index, "run": run_id, "left": left, "policy": policy, "key": ring.newest,
        "reason": "Held (write posture): writes of this agent wait for a person; jira/create_issue is one. <b>\u202e",
        "digest": digest_of(server="jira", tool="create_issue", args=args, agent=agent[0], run_as="svc-jira", policy_fingerprint=policy),
        "ceiling": json.dumps(CEILING), "ceiling_digest": digest(CEILING),
        "sealed": sealer.seal({"args": args}, kind=WORDS, number=0),
    }  # fmt: skip
    connection.execute(FILED, facts)
    return approval
