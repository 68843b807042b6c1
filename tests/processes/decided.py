"""What came of decisions, judged from outside: the vendor's ledger, the rows of a second connection, what the run was told."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

import httpx2

from liyagent.demo.judge import read_requests
from runs.keys import approved_call_key
from tests.processes.asking import Request
from tests.processes.place import Place
from tests.processes.test_outages import assert_kept
from tests.trials.watch import Row

STAND = """
    SELECT id AS approval, status, decided_by AS by FROM approvals_approval WHERE run_id = ANY(%s) ORDER BY id
"""
EVENTS = """
    SELECT (content::jsonb->>'approval')::uuid AS approval, content::jsonb->>'decision' AS status,
        content::jsonb->>'by' AS by
    FROM events_runevent WHERE kind = 'approval.decided' AND run_id = ANY(%s) ORDER BY 1
"""
AUDIT = """
    SELECT (detail->>'approval')::uuid AS approval, replace(action, 'agent.approval.', '') AS status,
        detail->>'by' AS by
    FROM audit_auditrow WHERE run_id = ANY(%s) AND action LIKE 'agent.approval.%%'
        AND action <> 'agent.approval.requested' ORDER BY 1
"""
CHILDREN = "SELECT id, loop FROM runs_run WHERE parent_id = ANY(%s) ORDER BY id"
BLIND = "servicenow"
SLEPT = "run {run} slept on what had come already"
# What the agent is told of its call, by what was decided.
TOLD = {
    "approved": "disk 91%",
    "rejected": "{by} rejected this call: wrong host",
    "expired": "nobody decided about this call in time",
}
READERS = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What has to stand of a request: `status` is what was decided, `by` who did."""

    request: Request
    status: str
    by: str


def assert_decided_once(
    place: Place,
    outcomes: Sequence[Outcome],
    *,
    waits: bool = True,
    vendor: str = BLIND,
    too_old: Sequence[Outcome] = (),
) -> None:
    """Each request has its one decision, each approved call one effect, and each run ends and was told of that alone.

    One row, one event and one audit row a request; nobody slept on it. Where the runs went on (`waits` is false), each approved call was made
    by one run of its own. `too_old` were decided once, too, and their time was over before they were made: nothing was sent on them.
    """
    asked = sorted(it.request.run for it in outcomes)
    made = [] if waits else _runs_of_their_own(place, outcomes, asked)
    runs = [*asked, *made]
    place.wait_for_ends(runs, seconds=60)
    outcomes = sorted(outcomes, key=lambda it: it.request.id)
    every = sorted((*outcomes, *too_old), key=lambda it: it.request.id)
    decided = [{"approval": it.request.id, "status": it.status, "by": it.by} for it in every]
    made_on = {it.request.id for it in outcomes if it.status == "approved"}
    settled = [
        {**row, "status": "consumed" if row["approval"] in made_on else "stale"}
        if row["status"] == "approved"
        else row
        for row in decided
    ]
    assert place.watch.rows(STAND, [runs]) == settled
    assert place.watch.rows(EVENTS, [runs]) == decided
    assert place.watch.rows(AUDIT, [runs]) == decided
    assert _effects(place, vendor, asked) == {
        str(it.request.run): [approved_call_key(it.request.id)] * (it.status == "approved")
        for it in outcomes
    }
    if vendor == BLIND:
        assert place.effects(asked)[vendor] == sum(it.status == "approved" for it in outcomes)
    verdict = place.judged(runs)
    # A call that its run went on without stays held there, and is made under the same key by a run of its own.
    assert_kept(verdict if waits else replace(verdict, hidden=()))
    place.check_chains(runs)
    assert slept_on(place, runs) == []
    if waits:
        _assert_told(place, outcomes)


def slept_on(place: Place, runs: Sequence[UUID]) -> list[UUID]:
    """The runs of which a process told that they slept on a decision: each decision wakes, and none has to be found."""
    told = "".join(it.read_text() for it in place.stage.logs.glob("*.log"))
    return [run for run in runs if SLEPT.format(run=run) in told]


def _effects(place: Place, vendor: str, runs: Sequence[UUID]) -> dict[str, list[str]]:
    """The key of each thing that really happened at the vendor, by run; a request without effect is none."""
    found: dict[str, dict[int, str]] = {str(run): {} for run in runs}
    for it in read_requests({vendor: place.stage.vendors.ledger(vendor)}):
        run = it.marker.partition("/")[0]
        if run in found and it.effect is not None:
            found[run][it.effect] = it.step_key
    return {run: list(keys.values()) for run, keys in found.items()}


def _runs_of_their_own(
    place: Place, outcomes: Sequence[Outcome], asked: Sequence[UUID]
) -> list[UUID]:
    rows = place.watch.rows(CHILDREN, [list(asked)])
    wanted = [f"approved:{it.request.id}" for it in outcomes if it.status == "approved"]
    assert sorted(it["loop"] for it in rows) == sorted(wanted)
    return [it["id"] for it in rows]


def _assert_told(place: Place, outcomes: Sequence[Outcome]) -> None:
    """Each run answers with what it was told of its call: of the decision that stands, and of no other."""
    with ThreadPoolExecutor(READERS) as threads:
        told = list(threads.map(lambda it: shown(place, it.request.run)["answer"], outcomes))
    for answer, outcome in zip(told, outcomes, strict=True):
        heard = [status for status, words in TOLD.items() if words.format(by=outcome.by) in answer]
        assert heard == [outcome.status], answer


def shown(place: Place, run: UUID, *, at: str = "A", what: str = "") -> Row:
    """What the API tells of a run: its head, or `/transcript`."""
    headers = {"Authorization": f"Bearer {place.stage.token}"}
    answer = httpx2.get(f"{place.stage.url(at)}/api/runs/{run}{what}", headers=headers, timeout=30)
    assert answer.status_code == 200
    told: dict[str, Any] = answer.json()
    return told
