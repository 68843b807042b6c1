"""From what a model asked for to a call that may be judged: trusted, refused with its reason, never repaired (ruling 20)."""

from __future__ import annotations

from collections.abc import Mapping

from liyagent.gateway.misfit import misfit
from liyagent.gateway.outcome import Asker, Call, Contract
from liyagent.providers.types import ToolCall
from runs.conversation import Pending


def requested_call(
    asked: ToolCall,
    *,
    index: int,
    pending: Pending,
    contracts: Mapping[str, Contract],
    asker: Asker,
    was_write: bool,
) -> Call:
    """Return the call as the gates judge it; `problem` says why its arguments cannot be trusted."""
    server, _, tool = asked.name.partition("/")
    contract = contracts.get(asked.name)
    return Call(
        server=server,
        tool=tool,
        args=asked.args or {},
        index=index,
        provider_call_id=asked.id,
        contract=contract,
        asker=asker,
        problem=_problem(asked, pending=pending, contract=contract),
        was_write=was_write,
    )


def _problem(asked: ToolCall, *, pending: Pending, contract: Contract | None) -> str:
    if pending.was_cut:
        return "the model's answer was cut at its token limit, so none of its calls can be trusted"
    if asked.args is None:
        return "its arguments are no JSON object"
    if contract is None or not contract.schema:
        return ""
    return misfit(asked.args, contract.schema)
