"""How a workflow's calls are made: the step's own key and undo, and looks at what this house keeps."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from liyagent.gateway.outcome import Call, Contract, Outcome
from liyagent.providers.types import Message
from liyagent.workflows.ask_person import ask_person
from liyagent.workflows.asks import APPROVE, OWN, PARALLEL, SIGNAL
from liyagent.workflows.branches import look_at_branches
from liyagent.workflows.context import context_of
from liyagent.workflows.course import Ask, Course
from liyagent.workflows.kept import message_of
from liyagent.workflows.scope import WorkflowScope
from liyagent.workflows.take_signal import take_signal
from runs.attempt import Attempt
from runs.checkpoint import Checkpoint
from runs.conversation import Pending
from runs.ending import Ending
from runs.manner import Manner
from runs.models import Call as MarkedCall
from runs.rest import REST_NAME, rest
from runs.scope import RunScope
from sagas.declare import Declared, declare

Look = Callable[[RunScope, Call, MarkedCall | None], Outcome]


class WorkflowManner(Manner):
    """A workflow waits for people whatever its agent does: a step that is held has nothing to go on with."""

    may_wait = True
    own = OWN
    below = frozenset({PARALLEL})

    def __init__(self, attempt: Attempt, course: Course, pinned: dict[str, Any]) -> None:
        self._attempt, self._course, self._pinned = attempt, course, pinned
        self.asked: Ask | None = None
        self._looks: dict[str, Look] = {
            REST_NAME: lambda scope, call, _row: rest(scope, call),
            SIGNAL: lambda scope, call, _row: take_signal(scope, call),
            APPROVE: self._ask_person,
            PARALLEL: self._look_at_branches,
        }

    def scope(self, checkpoint: Checkpoint, pending: Pending) -> RunScope:
        """Return the scope of the step that is asked for."""
        step_ids = [it.id for it in pending.calls]
        return WorkflowScope(
            checkpoint,
            self._step(),
            self._undo,
            undo_as_agent=self._course.definition.on_failure.undo_as_agent,
            step=pending.step,
            step_ids=step_ids,
        )

    def contract(self, contract: Contract | None) -> Contract | None:
        """Return the tool's contract, with the step's timeout where that is shorter."""
        timeout = self._step().step.timeout_seconds
        if contract is None or timeout is None or timeout >= contract.timeout_seconds:
            return contract
        return replace(contract, timeout_seconds=timeout)

    def told(self, call: Call, outcome: Outcome) -> Message:
        """Keep the outcome exactly."""
        return message_of(call.provider_call_id, outcome)

    def look(self, scope: RunScope, call: Call, row: MarkedCall | None) -> Outcome:
        """Answer a wait, a signal, a person's word or the branches of a parallel step."""
        return self._looks[call.name](scope, call, row)

    def context(self, checkpoint: Checkpoint, ending: Ending) -> dict[str, Any]:
        """Return the run's input, variables and attempts."""
        return context_of(self._course, self._pinned, ending)

    def _step(self) -> Ask:
        if self.asked is None:
            raise LookupError("no step of the workflow is asked for")
        return self.asked

    def _undo(self, call: Call) -> Declared | None:
        """How the step's write is undone: its own output aside, all that is read is read now (SG-01, SG-03)."""
        asked = self._step()
        undo = asked.body.get("compensate")
        if undo is None:
            return None
        own, scope = f"steps.{asked.step.id}.output", self._course.scope()
        # Here a tool's name is the whole of it, as the schema says: nothing in it names a server.
        named = {"server": call.server, **undo}
        return declare(named, server=call.server, own=own, scope=scope)

    def _ask_person(self, scope: RunScope, call: Call, row: MarkedCall | None) -> Outcome:
        return ask_person(scope, call, row, expires_in=self._step().step.timeout_seconds)

    def _look_at_branches(self, scope: RunScope, call: Call, _row: MarkedCall | None) -> Outcome:
        return look_at_branches(
            self._attempt, scope, call, asked=self._step(), course=self._course, pinned=self._pinned
        )
