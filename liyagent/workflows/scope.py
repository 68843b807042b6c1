"""The scope of a workflow's calls: keyed by the step, undone as its definition says (CR-28, SG-01)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from liyagent.agents import sub_agents
from liyagent.core.canonical import digest
from liyagent.gateway.outcome import Call
from liyagent.workflows.course import Ask
from runs.checkpoint import Checkpoint
from runs.keys import workflow_step_key
from runs.scope import RunScope
from sagas.declare import Declared

Undo = Callable[[Call], Declared | None]


class WorkflowScope(RunScope):
    """One step's calls. A retry sends the same key, a loop back to the step a new one."""

    def __init__(
        self,
        checkpoint: Checkpoint,
        asked: Ask,
        undo: Undo,
        *,
        undo_as_agent: bool,
        step: int,
        step_ids: Sequence[str],
    ) -> None:
        """`undo` says how the step's write is undone, None where it does not: then as the agent does, `undo_as_agent`, or not."""
        super().__init__(checkpoint, step=step, step_ids=step_ids)
        self._step, self._undo_of, self._undo_as_agent = asked, undo, undo_as_agent

    def step_key(self, call: Call) -> str:
        """Return the key from the run, the step and the number of steps executed (CR-28)."""
        if call.index not in self.keys:
            self.keys[call.index] = self._key(call)
        return self.keys[call.index]

    def declare(self, call: Call) -> Declared | None:
        """Return what the step's `compensate` says, else, where the definition wants that, the agent's map."""
        undo = self._undo_of(call)
        return super().declare(call) if undo is None and self._undo_as_agent else undo

    def _key(self, call: Call) -> str:
        asked = self._step
        key = workflow_step_key(
            workflow_run_id=self.checkpoint.run_id,
            step_id=asked.step.id,
            steps_executed=asked.number,
        )
        if call.server == sub_agents.SERVER and asked.attempt > 1:
            # Asked by its first key, work that was handed down and failed would be found failed for ever.
            return digest([key, asked.attempt])
        # What rests before a further try is no call of the step.
        return key if call.index == len(self.step_ids) - 1 else digest([key, "rest", asked.attempt])

    def _has_identity(self, call: Call) -> bool:
        return True
