"""A long log: what each list and page asks of the database behind 20,000 events, and behind a hundred times as many.

Then, behind all of them: a flush, a round that seals many heads, a purge of what rested long enough, as much of
`events verify --all` as some minutes allow, and the disk that it takes.
"""

from __future__ import annotations

import json
import resource
import statistics
import sys
import time
from collections.abc import Callable
from itertools import pairwise
from typing import Any
from uuid import UUID

import psycopg
from django.conf import settings
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from events.checking import Asked, Finding, Looked
from events.purge import Purged, purge_events, purgeable_events
from events.seal_heads import DUE, due_values, seal_due
from events.verify_chains import check_chains
from liyagent.operation.questions import QUESTIONS
from runs.rounds import Round, due_of
from tests.bench.asking import asked, blocks_of
from tests.bench.filling import WRITERS, write_audit, write_chains
from tests.bench.flushing import APPEND, Flusher
from tests.bench.telling import AGENT, MISSION

EVENTS, STEPS = 2_000_000, (20_000, 200_000, 2_000_000)
OF_A_RUN, OF_A_LONG_RUN = 20, 2_000
MOST_AUDIT = 2_000_000
FLUSHES = 100
HEADS_SEALED, EVENTS_PURGED, VERIFY_SECONDS = 100_000, 200_000, 400
# The oldest: what is purged afterwards has to be sealed.
SOME_HEADS = "UPDATE events_eventhead SET is_unsealed = true WHERE correlation_id IN (SELECT correlation_id FROM events_eventhead WHERE NOT is_unsealed ORDER BY correlation_id LIMIT %s)"
TABLES = (
    "events_runevent",
    "events_eventhead",
    "events_root",
    "runs_run",
    "audit_auditrow",
    "missions_mission",
)
INDEXES = "SELECT indexrelid::regclass::text, pg_relation_size(indexrelid) / 1e6 FROM pg_index WHERE indrelid = 'events_runevent'::regclass"


def measure_log(events: int) -> dict[str, Any]:
    """Fill the log in steps up to so many events and return what was asked at each."""
    User.objects.create_superuser("bench")
    sizes = sorted({*(it for it in STEPS if it < events), events})
    with psycopg.connect(settings.LIYAGENT.database_url, autocommit=True) as database:
        long_run = _long_run(database)
        at_each = []
        for before, size in pairwise([0, *sizes]):
            began = time.monotonic()
            _grow(database, before, size)
            filled = time.monotonic() - began
            at_each.append(
                {"events": size, "filled_s": filled, "asked": _ask_all(database, long_run)}
            )
            _say(f"{size} events: filled in {filled:.0f} s; {json.dumps(at_each[-1])}")
        told: dict[str, Any] = {"sizes": at_each, "disk": _disk(database)}
        for name, act in (("sealing", _sealing), ("purge", _purge), ("verify", _verify)):
            told[name] = act(database)
            _say(f"{name}: {told[name]}")
        return told


def _long_run(database: psycopg.Connection[Any]) -> UUID:
    write_chains(settings.LIYAGENT.database_url, 1, length=OF_A_LONG_RUN)
    return database.execute("SELECT id FROM runs_run").fetchall()[0][0]  # type: ignore[no-any-return]


def _grow(database: psycopg.Connection[Any], before: int, size: int) -> None:
    more = size - (before or OF_A_LONG_RUN)
    write_chains(settings.LIYAGENT.database_url, more // OF_A_RUN, length=OF_A_RUN, writers=WRITERS)
    rows = min(size, MOST_AUDIT) - min(before, MOST_AUDIT)
    if rows:
        write_audit(database, rows)
    database.execute("VACUUM (ANALYZE, PARALLEL 0)")


def _ask_all(database: psycopg.Connection[Any], long_run: UUID) -> dict[str, dict[str, float]]:
    client = Client(SERVER_NAME="localhost")
    client.force_login(User.objects.get())

    def get(address: str) -> Callable[[], object]:
        def ask() -> None:
            answer = client.get(address)
            assert answer.status_code == 200, (address, answer.status_code, answer.content[:500])

        return ask

    told = {name: asked(get(it)) for name, it in _pages(database, client, long_run).items()}
    return {
        **told,
        "metrics": _scrape(),
        "flush of 2": _flushes(database),
        "purge, 1 look": _one_look(),
        "nothing to seal": _probe(),
    }


def _pages(
    database: psycopg.Connection[Any], client: Client, long_run: UUID
) -> dict[str, str]:  # fmt: skip
    """The addresses, by name: each filter that is offered is among them."""
    unnamed, some_run = database.execute(
        "SELECT mission, id FROM runs_run WHERE mission = correlation_id::text ORDER BY id OFFSET 50 LIMIT 1"
    ).fetchall()[0]
    audited = database.execute("SELECT run_id FROM audit_auditrow ORDER BY id OFFSET 500 LIMIT 1")
    run_id = audited.fetchall()[0][0]
    api, admin = f"/api/run-events/{long_run}?limit=200", "/admin/audit/auditrow/"
    later = client.get(api).json()["next"]
    mission_later = client.get(f"/api/missions/{MISSION}?limit=200").json()["next"]
    audit_later = client.get("/api/audit?limit=200").json()["next"]
    return {
        "run of 2,000: events": api,
        "  later": later,
        "run of 20: events": f"/api/run-events/{some_run}",
        "agent's runs": f"/api/agents/{AGENT}/run-events?limit=200",
        "console: events": "/admin/events/",
        "  of a run of 2,000": f"/admin/events/?q={long_run}&from=1500",
        "console: runs": "/admin/runs/run/",
        "  of an agent": f"/admin/runs/run/?agent_key={AGENT}",
        "  searched for a mission": f"/admin/runs/run/?q={MISSION}",
        "console: run of 2,000": f"/admin/runs/run/{long_run}/change/",
        "  step 900": f"/admin/runs/run/{long_run}/change/?steps=18",
        "  failed only": f"/admin/runs/run/{long_run}/change/?only=failed",
        "  checked": f"/admin/runs/run/{long_run}/change/?check=yes",
        "console: run of 20": f"/admin/runs/run/{some_run}/change/",
        "mission: large": f"/api/missions/{MISSION}?limit=200",
        "  its later page": mission_later,
        "  its events": f"/api/missions/{MISSION}?source=events",
        "mission: of one run": f"/api/missions/{unnamed}",
        "missions": "/api/missions?limit=200",
        "console: missions": "/admin/missions/mission/",
        "  page 40": "/admin/missions/mission/?p=40",
        "console: mission": f"/admin/mission/{MISSION}/",
        "audit": "/api/audit?limit=200",
        "  the next page": audit_later,
        "  of a time": "/api/audit?since=2026-01-01T00:00:00Z&until=2026-06-01T00:00:00Z",
        "  of a rare actor's action": "/api/audit?actor=rare&action=policy",
        "  of an agent's action": "/api/audit?agent=agent-3&action=approval",
        "  of a mission": f"/api/audit?mission={MISSION}",
        "  of an action": "/api/audit?action=agent.run&limit=200",
        "  of an action, until a day": "/api/audit?action=agent.run&until=2026-06-01T00:00:00Z",
        "  of an actor, until a day": "/api/audit?actor=user-3&until=2026-06-01T00:00:00Z",
        "console: audit": admin,
        "  last page": f"{admin}?p=100",
        "  by action": f"{admin}?action=agent.run",
        "  by rare action, time": f"{admin}?action=policy&when=30d",
        "  by actor": f"{admin}?actor=rare",
        "  by actor, time": f"{admin}?actor=user-3&when=30d",
        "  by agent": f"{admin}?agent=agent-3",
        "  by mission": f"{admin}?mission={MISSION}",
        "  by run": f"{admin}?run={run_id}",
        "  by time": f"{admin}?when=24h",
        "  searched, nothing there": f"{admin}?q=nobody.at.all",
        "console: first page": "/admin/",
    }


def _flushes(database: psycopg.Connection[Any]) -> dict[str, float]:
    flusher = Flusher(database)
    took = [flusher.milliseconds() for _ in range(FLUSHES)]
    blocks = blocks_of(APPEND, flusher.values())
    flusher.leave()
    return {"ms": statistics.median(took), "statements": 1, "blocks": blocks}


def _scrape() -> dict[str, float]:
    conf = settings.LIYAGENT
    values = {"lease": conf.lease_seconds, "sweep": conf.sweep_seconds}
    began = time.monotonic()
    blocks = [blocks_of(it, values) for it in QUESTIONS]
    return {
        "ms": (time.monotonic() - began) * 1000,
        "statements": len(blocks),
        "blocks": sum(blocks),
    }


def _one_look() -> dict[str, float]:
    """The first look of a purge that changes nothing."""

    def look() -> None:
        looks: list[Purged] = []
        purgeable_events(give_up=lambda: bool(looks), tell=looks.append)

    return asked(look)


def _probe() -> dict[str, float]:
    """What each process asks twice a second, where nothing was appended since the last seal."""
    rounds = {"seals": Round(look=seal_due, due=DUE, values=due_values)}
    return asked(lambda: due_of(rounds))


def _disk(database: psycopg.Connection[Any]) -> dict[str, float]:
    told = {
        it: float(database.execute("SELECT pg_total_relation_size(%s::regclass) / 1e6", [it]).fetchall()[0][0])
        for it in TABLES
    }  # fmt: skip
    return {**told, **{name: float(size) for name, size in database.execute(INDEXES).fetchall()}}


def _sealing(database: psycopg.Connection[Any]) -> dict[str, float]:
    heads = database.execute(SOME_HEADS, [HEADS_SEALED]).rowcount
    memory, began = _peak(), time.monotonic()
    with CaptureQueriesContext(connection) as queries:
        roots = seal_due(lambda: False)
    seconds = time.monotonic() - began
    began = time.monotonic()
    with CaptureQueriesContext(connection) as again:
        seal_due(lambda: False)
    return {
        "heads": heads,
        "roots": roots,
        "seconds": seconds,
        "statements": len(queries),
        "memory_mb": _peak() - memory,
        "again_statements": len(again),
        "again_ms": (time.monotonic() - began) * 1000,
    }


def _purge(_database: psycopg.Connection[Any]) -> dict[str, float]:
    began = time.monotonic()
    due = purgeable_events()
    dry = time.monotonic() - began
    done = [Purged()]
    began = time.monotonic()
    with CaptureQueriesContext(connection) as queries:
        purge_events(
            actor="bench", give_up=lambda: done[-1].events >= EVENTS_PURGED, tell=done.append
        )
    return {
        "due_chains": due.chains,
        "due_events": due.events,
        "dry_s": dry,
        "purged": done[-1].events,
        "seconds": time.monotonic() - began,
        "statements": len(queries),
        "commits": len(done) - 1,
    }


def _verify(_database: psycopg.Connection[Any]) -> dict[str, float]:
    """As many chains as can be verified in some minutes, from the first on."""
    memory, began = _peak(), time.monotonic()
    cpu = time.process_time()
    looked, broken = Looked(check="chains"), 0
    for it in check_chains(Asked()):
        if isinstance(it, Finding):
            broken += it.is_break
        else:
            looked = it
        if time.monotonic() - began > VERIFY_SECONDS:
            break
    return {
        "events": looked.events,
        "chains": looked.chains,
        "broken": broken,
        "seconds": time.monotonic() - began,
        "cpu_s": time.process_time() - cpu,
        "memory_mb": _peak() - memory,
    }


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _say(line: str) -> None:
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()
