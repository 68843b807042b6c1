"""What came of a cut of a way in: one arrival, one run, one answer handed on, nothing left to hand on (CR-02 to CR-08)."""

from __future__ import annotations

import dataclasses
import http.client
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from tests.trials.cuts.course import Cut
from tests.trials.cuts.ground import Ground
from tests.trials.cuts.judging import Judged, judged
from tests.trials.cuts.ways.visit import Visit
from tests.trials.watch import ENDED, Row, Watch

NOW = "SELECT clock_timestamp() AS at"
ARRIVALS = """
    SELECT run_id, way, source, delivery_id, state, reason, outcome, attempts,
        extract(epoch FROM ended_at)::float8 AS ended_at
    FROM entry_arrival WHERE received_at >= %s ORDER BY received_at
"""
RUNS = """
    SELECT id, correlation_id, agent_key, parent_id, status, reason, attempt, losses, last_loss, handovers,
        resumes_recorded, wakes, continues, extract(epoch FROM ended_at)::float8 AS ended_at
    FROM runs_run WHERE created_at >= %s ORDER BY created_at
"""
DELIVERIES = """
    SELECT d.id, d.run_id, d.kind, d.number, d.state, d.attempts, d.failures, d.marked_at, d.claimed_until, d.vendor_id,
        d.last_error, extract(epoch FROM d.settled_at)::float8 AS settled_at
    FROM entry_delivery d WHERE d.created_at >= %s ORDER BY d.id
"""
WITHOUT_ARRIVAL = frozenset({"playground", "resume"})
AT_REST = frozenset({"delivered"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What the database shows of all that came in since `at`."""

    watch: Watch
    at: datetime

    @classmethod
    def since_now(cls, watch: Watch) -> Facts:
        """Nothing has come in yet."""
        return cls(watch=watch, at=watch.rows(NOW)[0]["at"])

    def arrivals(self) -> list[Row]:
        """What was kept."""
        return self.watch.rows(ARRIVALS, [self.at])

    def runs(self) -> list[Row]:
        """What was begun."""
        return self.watch.rows(RUNS, [self.at])

    def deliveries(self) -> list[Row]:
        """What is owed, and was."""
        return self.watch.rows(DELIVERIES, [self.at])

    def ids(self) -> list[Any]:
        """The runs' ids."""
        return [it["id"] for it in self.runs()]

    def open(self) -> list[Row]:
        """What is owed and not settled."""
        return [it for it in self.deliveries() if it["state"] in {"waiting", "pending"}]

    def marked(self) -> int:
        """How many deliveries are in doubt: marked and not settled."""
        return sum(it["marked_at"] is not None for it in self.open())

    def settled_at(self) -> float:
        """When the last of it was over."""
        ends = [it["ended_at"] for it in self.runs()]
        ends += [it["settled_at"] for it in self.deliveries()]
        return max((it for it in ends if it is not None), default=0.0)


def judged_way(
    ground: Ground, visit: Visit, cut: Cut | None, facts: Facts, *, caught: int, is_left: bool
) -> Judged:
    """Judge what has ended, or whose time is up."""
    family = facts.runs()
    found = judged(ground, visit.kind, cut, family, caught=caught, is_left=is_left)
    broken = [*_received(visit, facts, family), *_handed_on(visit, facts)]
    has_answered = len(family) == 1 and family[0]["status"] == "answered"
    if has_answered:
        broken += _at_its_end(ground, visit, str(family[0]["id"]))
    if not broken and not found.broken:
        return dataclasses.replace(found, answers=visit.answers, orphans=visit.orphans)
    return dataclasses.replace(
        found,
        lost=found.lost + (not family),
        answers=visit.answers,
        orphans=visit.orphans,
        broken=(*found.broken, *broken),
        rows=(*found.rows, *facts.arrivals(), *family, *facts.deliveries()),
    )


def _at_its_end(ground: Ground, visit: Visit, run: str) -> list[str]:
    try:
        return visit.broken(ground.stage.url("survivor"), run)
    except (OSError, http.client.HTTPException, KeyError, ValueError) as error:
        return [f"what came of it cannot be asked: {error!r}"]


def _received(visit: Visit, facts: Facts, family: list[Row]) -> list[str]:
    """One arrival and one run a delivery, and whoever sent it knows."""
    broken = []
    if not family:
        broken.append("lost: nothing was begun of it")
    if len(family) > visit.kind.runs:
        broken.append(f"{len(family)} runs of one delivery")
    arrivals = facts.arrivals()
    wanted = 0 if visit.kind.way in WITHOUT_ARRIVAL else 1
    if len(arrivals) != wanted:
        broken.append(f"{len(arrivals)} arrivals instead of {wanted}")
    broken += [
        f"the arrival is {it['state']}, its outcome {it['outcome']!r}: {it['reason']}"
        for it in arrivals
        if (it["state"], it["outcome"]) != ("ended", "answered")
        and all(run["status"] in ENDED for run in family)
    ]
    broken += [
        f"the run of the arrival is {it['run_id']}" for it in arrivals
        if family and it["run_id"] != family[0]["id"]
    ]  # fmt: skip
    if not visit.is_answered and visit.resends:
        broken.append("nobody took it on, however often it was sent")
    return broken


def _handed_on(visit: Visit, facts: Facts) -> list[str]:
    """What is owed was handed on, and nothing is left claimed."""
    deliveries = facts.deliveries()
    broken = [
        f"{it['kind']} {it['number']} is {it['state']}: {it['last_error']}"
        for it in deliveries
        if it["state"] not in AT_REST or it["claimed_until"] is not None
    ]
    if len(deliveries) != visit.owed:
        broken.append(f"{len(deliveries)} deliveries instead of {visit.owed}")
    return broken
