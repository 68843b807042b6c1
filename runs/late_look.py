"""Look once more for writes of unknown outcome; a late finding is added to the audit, nothing is sent (ruling 7)."""

from __future__ import annotations

import logging
from typing import Any

from django.core.exceptions import ObjectDoesNotExist
from django.db import connection

from liyagent.core.seal import KeyMissing, SealBroken
from liyagent.gateway.contracts import contracts_for
from runs import hot
from runs.checkpoint import sealer_of
from runs.errors import CheckpointBroken
from runs.hot import NO_UNDO
from runs.marks import open_mark
from runs.models import Call, Run
from runs.read_back import find_records
from runs.undo_found import undo_found

logger = logging.getLogger(__name__)

MOST_LOOKS = 20
LOOK_SECONDS = 60
FOUND, NOT_FOUND, NO_READER, NOT_ASKED = "found", "not_found", "no_reader", "not_asked"
# A vendor that is away while its write becomes unknown is mostly back some time later.
GIVE_UP_SECONDS = 86_400

# A look that dies half way is due again after a minute: reads may be made twice.
DUE = """
UPDATE runs_call SET late_look_at = liyagent_now() + make_interval(secs => %s)
    WHERE id IN (SELECT id FROM runs_call WHERE late_look_at <= liyagent_now()
        ORDER BY late_look_at LIMIT %s FOR UPDATE SKIP LOCKED)
    RETURNING id
"""
FOUND_OUT = """
WITH looked AS (
    UPDATE runs_call SET late_look_at = NULL, late_finding = %s
        WHERE id = %s AND late_finding = '' AND fate = 'unknown' RETURNING run_id, correlation_id, server, tool, step, index
)
SELECT liyagent_audit('agent.call.late_look', 'liyagent', r.mission, l.correlation_id, l.run_id, r.request_id,
        jsonb_build_object('call', l.server || '/' || l.tool, 'step', l.step, 'index', l.index, 'finding', %s::text)),
        liyagent_found_late(l.correlation_id, l.run_id, l.step, l.index, %s, %s)
    FROM looked l JOIN runs_run r ON r.id = l.run_id
"""

# One whose vendor is away is due again when it is half as old again, for a day. No row: it is given up.
AGAIN = """
UPDATE runs_call SET late_look_at = liyagent_now() + GREATEST(make_interval(secs => %s), (liyagent_now() - settled_at) / 2)
    WHERE id = %s AND fate = 'unknown' AND settled_at > liyagent_now() - make_interval(secs => %s) RETURNING id
"""


def look_late() -> int:
    """Look for the calls that are due, at most 20, and say how many were looked for."""
    due = hot.ask(DUE, (LOOK_SECONDS, MOST_LOOKS), give_up=_never)
    away: set[str] = set()
    try:
        for (call_id,) in due:
            _look_for(call_id, away)
    finally:
        connection.close()
    return len(due)


def _look_for(call_id: int, away: set[str]) -> None:
    """One that cannot be looked for is due again in a minute, and keeps nobody else from it.

    A server that is `away` is asked once a look, however many wait for it.
    """
    try:
        call = Call.objects.get(id=call_id)
        finding, found = _look(call, away)
    except KeyMissing as error:
        logger.warning("call %s is left to a process that has its key: %s", call_id, error)
    except (ObjectDoesNotExist, LookupError, TypeError, ValueError, RuntimeError):
        logger.exception("call %s cannot be looked for", call_id)
    else:
        again = (LOOK_SECONDS, call_id, GIVE_UP_SECONDS)
        if finding != NOT_ASKED or not hot.ask(AGAIN, again, give_up=_never):
            undo = NO_UNDO
            if finding == FOUND:
                undo = undo_found(call, Run.objects.get(id=call.run_id), found)
            hot.ask(FOUND_OUT, (finding, call_id, finding, *undo.values()), give_up=_never)


def _look(call: Call, away: set[str]) -> tuple[str, Any]:
    """What came of a look, and the record where there is exactly one."""
    name = f"{call.server}/{call.tool}"
    contract = contracts_for((name,), version=hot.config_version(_never)).get(name)
    if contract is None or contract.reader is None:
        return NO_READER, None
    try:
        mark = open_mark(sealer_of(Run.objects.get(id=call.run_id)), call)
    except (SealBroken, CheckpointBroken) as error:
        logger.warning("call %s cannot be looked for: %s", call.id, error)
        return NOT_FOUND, None
    server = contract.reader.tool.partition("/")[0]
    found = None if server in away else find_records(mark.payload, contract.reader)
    if found is None:
        away.add(server)
        return NOT_ASKED, None
    return (FOUND, found[0]) if len(found) == 1 else (NOT_FOUND, None)


def _never() -> bool:
    return False
