"""What our database shows of trials, while they go on and at the end; read from outside, asked by what their senders named."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from uuid import UUID

from tests.kills.begin import Begun
from tests.trials.watch import Row, Watch

RECORDS = """
WITH named AS (
    SELECT delivery_id AS name, run_id FROM entry_arrival WHERE delivery_id = ANY(%s)
    UNION SELECT activity, run_id FROM teams_teamsturn WHERE activity = ANY(%s)
    UNION SELECT message_id, run_id FROM a2a_task WHERE message_id = ANY(%s)
)
SELECT n.name, n.run_id, a.state, a.outcome, a.reason, a.claimed_by AS arrival_claimed_by, extract(epoch FROM a.ended_at)::float8 AS ended_at,
        r.status, r.holder, r.losses, r.last_loss, r.handovers,
        ARRAY(SELECT d.claimed_by FROM entry_delivery d WHERE d.run_id = n.run_id AND d.state = 'pending' AND d.claimed_by IS NOT NULL) AS sent_by,
        (SELECT count(*)::int FROM entry_delivery d WHERE d.run_id = n.run_id AND d.state IN ('waiting', 'pending')) AS owed,
        (SELECT count(*)::int FROM entry_delivery d WHERE d.run_id = n.run_id AND d.state <> 'delivered') AS not_delivered
    FROM named n JOIN entry_arrival a ON a.run_id = n.run_id LEFT JOIN runs_run r ON r.id = n.run_id
"""
# A saga's record ends with its hand-off. It came to what it should where its run failed as it must, each undo is done or of unknown
# outcome (or its write was found too late for the round), and nothing else is called compensated than what is; one request is owed to
# a person. `asked`: effects that have to be there, of the writes that are to be undone, and of the undos that were made.
SAGAS = """
SELECT k.key AS name, k.run_id, '' AS reason, NULL::uuid AS arrival_claimed_by, ARRAY[]::uuid[] AS sent_by, 0 AS owed,
        CASE WHEN s.handed_off_at IS NULL THEN 'begun' ELSE 'ended' END AS state, extract(epoch FROM s.handed_off_at)::float8 AS ended_at,
        CASE WHEN s.handed_off_at IS NULL THEN f.status WHEN it.is_well THEN 'answered' ELSE s.status END AS status,
        CASE WHEN it.is_well THEN 'answered' ELSE COALESCE(s.status, '') || ' ' || r.reason END AS outcome,
        f.holder, f.handovers, it.losses, it.last_loss, it.asked,
        (SELECT abs(1 - count(*))::int FROM approvals_approval a WHERE a.correlation_id = k.run_id AND a.kind = 'saga') AS not_delivered
    FROM runs_startkey k JOIN runs_run r ON r.id = k.run_id LEFT JOIN sagas_saga s ON s.id = k.run_id
    CROSS JOIN LATERAL (SELECT * FROM runs_run o WHERE o.correlation_id = k.run_id ORDER BY o.created_at DESC LIMIT 1) f
    CROSS JOIN LATERAL (SELECT
        r.error IN ('workflow.step', 'workflow.unknown')
        AND NOT EXISTS (SELECT 1 FROM sagas_undo u JOIN runs_call c USING (run_id, step, index)
            WHERE u.saga_id = k.run_id AND u.fate NOT IN ('done', 'unknown') AND c.late_finding <> 'found')
        AND (s.status = 'compensated') = (NOT liyagent_has_unknown(k.run_id)
            AND NOT EXISTS (SELECT 1 FROM sagas_undo u WHERE u.saga_id = k.run_id AND u.fate <> 'done')) AS is_well,
        (SELECT sum(o.losses)::int FROM runs_run o WHERE o.correlation_id = k.run_id) AS losses,
        (SELECT max(o.last_loss) FROM runs_run o WHERE o.correlation_id = k.run_id) AS last_loss,
        (SELECT (count(*) + count(*) FILTER (WHERE u.fate = 'done'))::int FROM sagas_undo u WHERE u.saga_id = k.run_id) AS asked) it
    WHERE k.key = ANY(%s)
"""
HOLDERS = "SELECT id FROM leases_holder"
LOOKS_DUE = "SELECT count(*)::int AS n FROM runs_call WHERE late_look_at IS NOT NULL"
ALL_RUNS = """
    SELECT id FROM runs_run WHERE entry IN ('cron', 'teams', 'webhook', 'ticket', 'copilot', 'a2a', 'mcp')
    UNION SELECT run_id FROM entry_arrival UNION SELECT run_id FROM entry_delivery UNION SELECT id FROM sagas_saga
"""
FAMILIES = "SELECT id FROM runs_run WHERE correlation_id = ANY(%s)"
OVER = frozenset({"ended", "refused", "skipped"})
QUEUED, HAND_ON = "queued", "answer handed on"
ARRIVAL, SENT_AGAIN, UNTOUCHED = "begun by another", "sent again", "carried elsewhere"
NOT_YET, OVER_BEFORE = "not begun", "over"


@dataclass(frozen=True, slots=True, kw_only=True)
class Caught:
    """How a trial stood at the kill: what of it the victim had in hand, or that it had nothing."""

    what: str
    is_in_flight: bool


def records(watch: Watch, begun: Collection[Begun]) -> dict[str, Row]:
    """Return what is kept of these trials, by the name that their senders gave."""
    names = [it.name for it in begun]
    rows = [*watch.rows(RECORDS, [names, names, names]), *watch.rows(SAGAS, [names])]
    return {row["name"]: row for row in rows}


def holders(watch: Watch) -> set[UUID]:
    """Return all lives of processes that are known."""
    return {row["id"] for row in watch.rows(HOLDERS)}


def is_over(row: Row | None) -> bool:
    """Whether a trial's record reached its end and nothing is owed of it."""
    return row is not None and row["state"] in OVER and not row["owed"]


def caught(begun: Begun, row: Row | None, victims: Collection[UUID]) -> Caught:
    """Tell what the victim had of a trial as it was killed."""
    if row is None:
        what = SENT_AGAIN if begun.was_tried and not begun.had_answer else NOT_YET
        return Caught(what=what, is_in_flight=what == SENT_AGAIN)
    if is_over(row):
        return Caught(what=OVER_BEFORE, is_in_flight=False)
    if row["state"] == "received" and row["status"] is None:
        return _of(ARRIVAL, row["arrival_claimed_by"], victims)
    if row["state"] in OVER:
        by_others = [it for it in row["sent_by"] if it not in victims]
        return _of(HAND_ON, by_others[0] if by_others else None, victims)
    if row["status"] == "running":
        return _of("", row["holder"], victims)
    return Caught(what=QUEUED, is_in_flight=True)


def _of(what: str, who: UUID | None, victims: Collection[UUID]) -> Caught:
    """What nobody has in hand waits for whoever lives: it was caught in flight as well."""
    is_victims = who is None or who in victims
    return Caught(what=what if is_victims else UNTOUCHED, is_in_flight=is_victims)


def all_runs(watch: Watch) -> list[str]:
    """Return every run that came in by a way of the trials, begun or not."""
    return [str(row["id"]) for row in watch.rows(ALL_RUNS)]


def late_looks_due(watch: Watch) -> int:
    """Return how many late looks are still to come."""
    (row,) = watch.rows(LOOKS_DUE)
    return int(row["n"])


def run_ids(watch: Watch, rows: Sequence[Row]) -> list[UUID]:
    """Return the runs of these records, and those below them."""
    roots = [row["run_id"] for row in rows]
    return [row["id"] for row in watch.rows(FAMILIES, [roots])]
