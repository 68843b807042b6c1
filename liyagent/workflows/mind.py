"""A definition decides: which step comes next, by what came of those before. Carried as any run is."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from liyagent.agents import sub_agents
from liyagent.approvals.models import Approval, ApprovalStatus
from liyagent.core.plain import json_bytes
from liyagent.providers.types import Finish, ModelAnswer, ToolCall
from liyagent.workflows.asks import APPROVE, PARALLEL, SIGNAL
from liyagent.workflows.branches import BEFORE, BRANCH, PINNED
from liyagent.workflows.context import text_of
from liyagent.workflows.course import Ask, Came, Course, Over
from liyagent.workflows.kept import result_of
from liyagent.workflows.manner import WorkflowManner
from liyagent.workflows.steps import definition_of
from liyagent.workflows.waits import until_of
from runs.attempt import Attempt
from runs.authority import AgentNow
from runs.checkpoint import stored_rows
from runs.conversation import messages_of
from runs.ending import Ending, MayNotGoOn, failed
from runs.endings import EndError
from runs.family import family_of
from runs.mind import Mind
from runs.models import ROOT_LOOP, RunStatus
from runs.rest import rest_call
from runs.step import count_step
from runs.tell_start import tell_start

ENDINGS = {Came.UNKNOWN: EndError.WORKFLOW_UNKNOWN}


class WorkflowMind(Mind):
    """Goes the course of the definition that is pinned in the run's first part; a branch of a parallel step is one too."""

    def __init__(self, attempt: Attempt) -> None:
        self._attempt, self._checkpoint = attempt, attempt.checkpoint
        self._pinned: dict[str, Any] = attempt.checkpoint.parts[0][PINNED]
        run = attempt.run
        self.course = Course(
            definition=definition_of(self._pinned["definition"]),
            input=self._pinned["input"],
            run={"id": str(run.correlation_id), "mission": run.mission, "agent": run.agent_key},
            before=self._pinned.get(BEFORE, {}),
        )
        self._asked: Ask | None = None
        self._manner = WorkflowManner(attempt, self.course, self._pinned)
        attempt.manner = self._manner

    def begin(self, agent: AgentNow) -> None:
        """Go through what was written, and stand where the attempt before stood.

        Raises `MayNotGoOn` where what was written is not the course of the definition.
        """
        checkpoint, attempt = self._checkpoint, self._attempt
        if not checkpoint.is_start_told:
            tell_start(checkpoint, holder=attempt.carrier.holder)
            self._tell_started()
        attempt.messages = messages_of(checkpoint.parts, instructions="")
        attempt.kept = len(attempt.messages)
        for number, part in enumerate(checkpoint.parts[1:], 1):
            if part["results"]:
                self.course.took(result_of(part["results"][-1]["text"]))
            asked = self.course.next()
            if isinstance(asked, Over) or part["calls"][-1]["id"] != _id_of(asked):
                told = f"part {number} of the checkpoint is not the next step of its definition"
                raise MayNotGoOn(failed(EndError.CHECKPOINT_BROKEN, told))
            self._stand_at(asked)
        # What those before told of was written with the last part.
        self.course.told.clear()

    def next(self) -> ModelAnswer | Ending:
        """Return the next step, with one call; or how the workflow ended."""
        if self._asked is not None:
            self._took(self._attempt.messages[-1].text)
        self._refresh()
        self._attempt.may_go_on()
        asked = self.course.next()
        self._tell_steps()
        if isinstance(asked, Over):
            return self._ended(asked)
        self._stand_at(asked)
        answer = ModelAnswer(text="", calls=self._calls(asked), finish=Finish.CALLS)
        count_step(self._checkpoint, answer, model="")
        return answer

    def _stand_at(self, asked: Ask) -> None:
        self._asked = self._manner.asked = asked

    def _took(self, text: str) -> None:
        """Hear what came of the step that was asked for; a retry is told of."""
        result, asked = result_of(text), self._asked
        self.course.took(result)
        self._asked = None
        again = self.course.next()
        if asked is not None and isinstance(again, Ask) and again.number == asked.number:
            self._checkpoint.events.add(
                "retry",
                name=asked.step.id,
                attempt=again.attempt,
                why=self._checkpoint.events.words(result.error),
            )

    def _refresh(self) -> None:
        """Branches are at it together: what all of them used is read anew, so that the root's caps hold for them too."""
        parts = self._checkpoint.parts[1:]
        if BRANCH in self._pinned or any(it["calls"][-1]["name"] == PARALLEL for it in parts):
            self._attempt.family = family_of(self._checkpoint)

    def _calls(self, asked: Ask) -> tuple[ToolCall, ...]:
        """The step's call, and before a further try the rest that comes first."""
        name, args = self._asked_of(asked)
        call = ToolCall(id=_id_of(asked), name=name, arguments_text="", args=args)
        if not asked.delay_seconds:
            return (call,)
        until = self._now() + timedelta(seconds=asked.delay_seconds)
        return (rest_call(f"rest.{_id_of(asked)}", until), call)

    def _asked_of(self, asked: Ask) -> tuple[str, dict[str, Any]]:
        step, body = asked.step, asked.body
        match step.type:
            case "tool":
                return f"{body['server']}/{body['tool']}", body.get("args", {})
            case "agent":
                return f"{sub_agents.SERVER}/{body['agent']}", {"task": text_of(body["task"])}
            case "approve":
                return APPROVE, {"question": text_of(body["question"])}
            case "parallel":
                return PARALLEL, {"branches": sorted(body["branches"])}
            case _:
                return self._wait(asked)

    def _wait(self, asked: Ask) -> tuple[str, dict[str, Any]]:
        body, step, now = asked.body, asked.step, self._now()
        if "signal" in body:
            until = None
            if step.timeout_seconds is not None:
                until = (now + timedelta(seconds=step.timeout_seconds)).isoformat()
            self._tell_waiting(asked, f"signal {text_of(body['signal'])}", until)
            return SIGNAL, {"name": text_of(body["signal"]), "until": until}
        until_time = until_of(body, now)
        self._tell_waiting(asked, "time", until_time.isoformat())
        call = rest_call("", until_time)
        return call.name, call.args or {}

    def _now(self) -> datetime:
        return self._checkpoint.database_time()

    def _ended(self, over: Over) -> Ending:
        events = self._checkpoint.events
        more = {"failed_step": over.step} if over.step else {}
        events.add("workflow.ended", fate=over.came.value, steps=self.course.executed, **more)
        if over.came is Came.DONE:
            is_root = self._attempt.run.loop == ROOT_LOOP
            text = text_of(over.output) if is_root else json_bytes(over.output).decode()
            return Ending(status=RunStatus.ANSWERED, answer=text)
        error = (
            EndError.CAP_STEPS if over.is_cap else ENDINGS.get(over.came, EndError.WORKFLOW_STEP)
        )
        if over.came is Came.REFUSED and self._was_rejected():
            error = EndError.REJECTED
        reason = f"step {over.step}: {over.error}" if over.step else over.error
        return Ending(status=RunStatus.FAILED, reason=reason, error=error, step=over.step)

    def _was_rejected(self) -> bool:
        """Whether a person said no to the last step's call."""
        checkpoint = self._checkpoint
        values = (checkpoint.run_id, checkpoint.counters.steps, ApprovalStatus.REJECTED.value)
        where = "run_id = %s AND step = %s AND status = %s"
        return bool(stored_rows(Approval, where, values, give_up=checkpoint.give_up))

    def _tell_started(self) -> None:
        events, pinned = self._checkpoint.events, self._pinned
        events.add(
            "workflow.started",
            workflow=pinned["key"],
            version=pinned["version"],
            digest=pinned["digest"],
            input=events.words(pinned["input"]),
        )

    def _tell_steps(self) -> None:
        """Tell of the steps that came to their end; the next write takes it along."""
        events = self._checkpoint.events
        for it in self.course.told:
            more = {"why": events.words(it.result.error)} if it.result.error else {}
            events.add(
                "workflow.step",
                name=it.step.id,
                type=it.step.type,
                fate=it.result.came.value,
                attempt=it.attempt,
                output=events.words(it.result.output),
                **more,
            )
        self.course.told.clear()

    def _tell_waiting(self, asked: Ask, waits_for: str, until: str | None) -> None:
        more = {"until": until} if until else {}
        self._checkpoint.events.add(
            "workflow.waiting", name=asked.step.id, waits_for=waits_for, **more
        )


def _id_of(asked: Ask) -> str:
    return f"{asked.step.id}#{asked.number}.{asked.attempt}"
