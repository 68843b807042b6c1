"""A run as a caller of MCP is told of it: its answer, or where it stands and how to ask for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from liyagent.entry.mcp_server.asked import Caller
from liyagent.entry.mcp_server.errors import NoSuchRun
from liyagent.entry.mcp_server.receive import WAY
from liyagent.entry.models import Arrival, ArrivalState
from runs.head import answer_of
from runs.models import ENDED, Run, RunStatus
from runs.waits import wait_of

RESULT_TOOL = "run_result"
REFUSED = "refused"
WITHHELD = "The answer is for whoever asked, or may read what runs say."


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """Where a run stands. `waits_for` names the request that a person has to decide; `refused`: nothing was started."""

    run_id: UUID
    status: str
    mission: str
    answer: str | None = None
    reason: str = ""
    waits_for: str = ""

    @property
    def is_over(self) -> bool:
        """Whether nothing more will come of it."""
        return self.status in ENDED or self.status == REFUSED

    @property
    def is_error(self) -> bool:
        """Whether it is over, and there is no answer to show."""
        return self.is_over and self.answer is None

    @property
    def text(self) -> str:
        """What a model is told."""
        if self.answer is not None:
            return self.answer
        if self.status == REFUSED:
            return f"Nothing was started: {self.reason}"
        if self.is_over:
            return f"Run {self.run_id} ended, {self.status}: {self.reason or 'no reason was given'}"
        ask = f"Ask for its answer by the tool {RESULT_TOOL}, run_id {self.run_id}."
        if self.waits_for:
            return f"Run {self.run_id} waits for a person to decide about {self.waits_for}. {ask}"
        return f"Run {self.run_id} goes on ({self.status}). {ask}"

    def facts(self) -> dict[str, Any]:
        """The same as plain data, for `structuredContent`."""
        told = {"run_id": str(self.run_id), "status": self.status, "mission": self.mission}
        more = {"reason": self.reason, "waits_for": self.waits_for}
        answer = {} if self.answer is None else {"answer": self.answer}
        return {**told, **answer, **{name: value for name, value in more.items() if value}}


def told_of(run_id: UUID, caller: Caller) -> Told:
    """Return where a run stands that came in by MCP: the caller's own, or anybody's for who may see runs.

    Raises `NoSuchRun`, alike for what is not there and for what is somebody else's. The answer is told to whoever asked, and
    to who may read words.
    """
    run = Run.objects.defer("seal").filter(id=run_id, entry=WAY).first()
    if run is None:
        return _told_of_arrival(run_id, caller)
    _check_may_see(run_id, caller, run.started_by)
    told = Told(run_id=run.id, status=run.status, mission=run.mission, reason=run.reason)
    if run.status == RunStatus.ANSWERED:
        return _with_answer(told, run, caller)
    wait = wait_of(run)
    if wait is None or wait.approval is None:
        return told
    return Told(
        run_id=run.id,
        status=run.status,
        mission=run.mission,
        waits_for=wait.told,
        reason=run.reason,
    )


def _told_of_arrival(run_id: UUID, caller: Caller) -> Told:
    """Of what came in and is no run yet, or never will be."""
    arrival = Arrival.objects.filter(run_id=run_id, way=WAY).defer("sealed").first()
    if arrival is None:
        raise NoSuchRun(run_id=run_id)
    _check_may_see(run_id, caller, arrival.started_by)
    is_refused = arrival.state == ArrivalState.REFUSED
    return Told(
        run_id=run_id,
        status=REFUSED if is_refused else RunStatus.QUEUED,
        mission=arrival.mission or str(run_id),
        reason=arrival.reason if is_refused else "",
    )


def _with_answer(told: Told, run: Run, caller: Caller) -> Told:
    found: dict[str, Any] = {"answer": None, "answer_missing": WITHHELD}
    if caller.reads_words or caller.username == run.started_by:
        found = answer_of(run)
    missing = str(found.get("answer_missing", ""))
    return Told(
        run_id=told.run_id,
        status=told.status,
        mission=told.mission,
        answer=found["answer"],
        reason=missing,
    )


def _check_may_see(run_id: UUID, caller: Caller, started_by: str) -> None:
    if not (caller.sees_all or caller.username == started_by):
        raise NoSuchRun(run_id=run_id)
