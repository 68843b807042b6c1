"""How the calls of an attempt are asked for, made and told: as a model's are, unless a mind has a manner of its own."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from liyagent.gateway.outcome import Call, Contract, Outcome
from liyagent.providers.types import Message
from runs.checkpoint import Checkpoint
from runs.conversation import Pending, result_message
from runs.ending import Ending
from runs.models import Call as MarkedCall
from runs.scope import RunScope


class Manner:
    """That of a run that asks a model."""

    # Whether a call that is held is waited for; None: as the agent says.
    may_wait: bool | None = None
    # Calls that are none of any server: looks at what this house keeps, answered by `look`.
    own: Mapping[str, Contract] = MappingProxyType({})
    # Those of them that look at runs below: a Stop comes behind them, since a family ends from below.
    below: frozenset[str] = frozenset()

    def scope(self, checkpoint: Checkpoint, pending: Pending) -> RunScope:
        """Return the scope of a step's calls."""
        return RunScope(checkpoint, step=pending.step, step_ids=[it.id for it in pending.calls])

    def contract(self, contract: Contract | None) -> Contract | None:
        """Return the contract that the step's call is made under, given the tool's."""
        return contract

    def told(self, call: Call, outcome: Outcome) -> Message:
        """Return what is kept of a call's outcome: what the mind will know of it, here and on another process."""
        return result_message(call.provider_call_id, outcome)

    def look(self, scope: RunScope, call: Call, row: MarkedCall | None) -> Outcome:
        """Answer a call of our own, settled; asked again after a crash, it answers the same. Raises `HandedBack` while it waits."""
        raise LookupError(f"{call.name} is no call of our own")

    def context(self, checkpoint: Checkpoint, ending: Ending) -> dict[str, Any]:
        """Return what a person who takes the failed run over has to know, in words."""
        start = checkpoint.parts[0]
        return {
            "task": start["task"],
            "error": ending.reason,
            "failed_step": ending.step or f"step {checkpoint.counters.steps}",
            "attempts": checkpoint.run.attempt,
        }
