"""A log of any length, written as quickly as may be: whole chains with hashes and tags as processes write them.

What the chains tell is made once (`told`); each chain gets ids, times, hashes and tags of its own. That they are those of
the product is seen where they are verified.
"""

from __future__ import annotations

import hashlib
import hmac
import multiprocessing
import os
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from uuid import UUID

import psycopg
from django.db import connection

from events.chain import DOMAIN, EPOCH, MICROSECOND, SEPARATOR, genesis_hash
from events.keys import tagging_key
from events.tags import DOMAIN as TAG_DOMAIN
from events.tags import MAC_BYTES, NUMBER_BYTES
from liyagent.core.canonical import canonical
from tests.bench.telling import AGENT, FULL, MISSION, steps_in, told

DAYS = 400
CHAINS_AT_ONCE = 500
SMALL_MISSION = 10
WRITERS = 2
COPY_EVENTS = "COPY events_runevent (correlation_id, number, run_id, at, kind, mission, recording, content, hash, tag) FROM STDIN"
COPY_HEADS = "COPY events_eventhead (correlation_id, count, hash) FROM STDIN"
RUN = {
    "loop": "root", "agent_key": AGENT, "agent_version": "1", "entry": "bench", "request_id": "", "started_by": "",
    "recording": FULL, "status": "answered", "reason": "", "format": "1", "key_id": "k", "attempt": "1", "losses": "0",
    "last_loss": "", "handovers": "0", "resumes_recorded": "0", "sequence": "1", "wakes": "0", "events_missing": "0",
    "timeline": "1", "output_tokens": "0", "parts": "2", "seal": "\\\\x00", "stop_requested": "f", "stopped_by": "",
}  # fmt: skip
OF_EACH = ("id", "correlation_id", "mission", "model_steps", "calls_made", "input_tokens", "created_at", "ended_at")  # fmt: skip
COPY_RUNS = f"COPY runs_run ({', '.join((*OF_EACH, *RUN))}) FROM STDIN"
SAME_OF_ALL = "\t".join(RUN.values())
AUDIT = """
INSERT INTO audit_auditrow (at, action, actor, agent, mission, correlation_id, run_id, request_id, detail)
SELECT liyagent_now() - interval '400 days' + n * (interval '400 days' / %(count)s),
    (ARRAY['agent.run.started', 'agent.run.ended', 'agent.call.made', 'approval.decided', 'policy.changed'])[1 + n %% 5],
    CASE WHEN n %% 50000 = 0 THEN 'rare' ELSE 'user-' || n %% 40 END, 'agent-' || n %% 30,
    CASE WHEN n %% 4 = 0 THEN %(mission)s ELSE 'A-' || n / 10 END, md5((n / 10)::text)::uuid, md5((n / 10)::text)::uuid, '',
    '{"status": "answered", "cause": "proof"}'
FROM generate_series(1, %(count)s) AS n
"""
MISSIONS = """
INSERT INTO missions_mission (id, first_seen, first_by, last_seen)
SELECT 'A-' || n, liyagent_now() - interval '400 days' + n * interval '1 second', 'ann', liyagent_now()
FROM generate_series(1, %s) AS n ON CONFLICT DO NOTHING
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """What one writer writes: chains `first` to `last` (without it) of `of`, each of so many events."""

    url: str
    first: int
    last: int
    of: int
    length: int


def write_chains(url: str, chains: int, *, length: int, writers: int = 1) -> None:
    """Write so many chains of one ended run each, which began one after the other within the last 400 days.

    A quarter of them is of the mission `MISSION`, a quarter of missions of ten runs each; nobody named those of the others.
    More than one of `writers` is a process of its own.
    """
    edges = [chains * it // writers for it in range(writers + 1)]
    shares = [
        Share(url=url, first=first, last=last, of=chains, length=length)
        for first, last in pairwise(edges)
    ]
    if writers == 1:
        _write(shares[0])
        return
    connection.close()
    with multiprocessing.get_context("fork").Pool(writers) as pool:
        pool.map(_write, shares)


def write_audit(database: psycopg.Connection[object], rows: int) -> None:
    """Write so many audit rows, and a mission for each ten."""
    # Each mission that is noted is locked until the commit: here are more of them than locks.
    database.execute("ALTER TABLE audit_auditrow DISABLE TRIGGER audit_notes_mission")
    database.execute(AUDIT, {"count": rows, "mission": MISSION})
    database.execute("ALTER TABLE audit_auditrow ENABLE TRIGGER audit_notes_mission")
    database.execute(MISSIONS, [rows // 10])


def _write(share: Share) -> None:
    contents = [(kind, canonical(facts).decode()) for kind, facts in told(share.length)]
    steps = steps_in(share.length)
    begun = datetime.now(UTC) - timedelta(days=DAYS)
    with psycopg.connect(share.url, autocommit=True) as database:
        for low in range(share.first, share.last, CHAINS_AT_ONCE):
            events: list[str] = []
            heads: list[str] = []
            runs: list[str] = []
            for index in range(low, min(low + CHAINS_AT_ONCE, share.last)):
                at = begun + timedelta(days=DAYS) * index / share.of
                chain, run = _id(at), _id(at)
                mission = _mission(index, chain)
                lines, last = _events(chain, run, mission, at, contents)
                events += lines
                heads.append(f"{chain}\t{len(contents)}\t\\\\x{last}\n")
                own = (run, chain, mission, steps, steps - 1, steps * 250, at, at + timedelta(minutes=1))  # fmt: skip
                runs.append("\t".join(map(str, own)) + f"\t{SAME_OF_ALL}\n")
            _copy(database, {COPY_EVENTS: events, COPY_HEADS: heads, COPY_RUNS: runs})


def _copy(database: psycopg.Connection[object], lines: dict[str, list[str]]) -> None:
    with database.transaction(), database.cursor() as cursor:
        for statement, rows in lines.items():
            with cursor.copy(statement) as copy:
                copy.write("".join(rows))


def _events(
    chain: UUID, run: UUID, mission: str, at: datetime, contents: Sequence[tuple[str, str]]
) -> tuple[list[str], str]:
    """The lines of a chain, and the hash of the last."""
    key = tagging_key()
    # Text of an id takes longer to make than a hash.
    chain_text, run_text = str(chain), str(run)
    of_tag = key.fingerprint + (1).to_bytes(NUMBER_BYTES, "big")
    previous = genesis_hash(chain)
    micros = (at - EPOCH) // MICROSECOND
    written, it = at.isoformat(), SEPARATOR
    lines: list[str] = []
    for number, (kind, content) in enumerate(contents, 1):
        ordinal = number - 1
        text = f"{DOMAIN}{it}{chain_text}{it}{number}{it}{run_text}{it}{micros}{it}{kind}{it}{mission}{it}{FULL}{it}{content}"
        previous = hashlib.sha256(previous + text.encode()).digest()
        text = f"{TAG_DOMAIN}{it}{chain_text}{it}{run_text}{it}1{it}{ordinal}{it}{kind}{it}{mission}{it}{content}"
        mac = hmac.digest(key.secret, text.encode(), "sha256")[:MAC_BYTES]
        tag = of_tag + ordinal.to_bytes(NUMBER_BYTES, "big") + mac
        lines.append(
            f"{chain_text}\t{number}\t{run_text}\t{written}\t{kind}\t{mission}\t{FULL}\t{content}\t\\\\x{previous.hex()}\t\\\\x{tag.hex()}\n"
        )
    return lines, previous.hex()


def _mission(index: int, chain: UUID) -> str:
    match index % 4:
        case 0:
            return MISSION
        case 1:
            return f"M-{index // (4 * SMALL_MISSION)}"
        case _:
            return str(chain)


def _id(at: datetime) -> UUID:
    """An id as it would have been made then (UUIDv7)."""
    value = (((at - EPOCH) // MICROSECOND // 1000) << 80) | int.from_bytes(os.urandom(10), "big")
    value = (value & ~(0xF << 76)) | (0x7 << 76)
    return UUID(int=(value & ~(0x3 << 62)) | (0x2 << 62))
