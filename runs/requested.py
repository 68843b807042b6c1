"""From what a model asked for to a call that may be judged: trusted, refused with its reason, never repaired (ruling 20)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Protocol

import jsonschema
import orjson
from jsonschema.validators import validator_for

from liyagent.gateway.outcome import Asker, Call, Contract
from liyagent.providers.types import ToolCall
from runs.conversation import Pending

LONGEST_PROBLEM = 400


class _Validator(Protocol):
    def iter_errors(self, instance: Any) -> Any: ...


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
    try:
        validator = _validator(orjson.dumps(contract.schema))
        fault = next(iter(validator.iter_errors(asked.args)), None)
    except (jsonschema.SchemaError, RecursionError):
        return "the schema of this tool cannot be read; an operator has to sync its server"
    return f"its arguments do not fit the tool: {_told(fault)}" if fault is not None else ""


@lru_cache(maxsize=1024)
def _validator(schema_text: bytes) -> _Validator:
    schema = orjson.loads(schema_text)
    kind = validator_for(schema, default=jsonschema.Draft202012Validator)
    kind.check_schema(schema)
    validator: _Validator = kind(schema)
    return validator


def _told(fault: Any) -> str:
    where = ".".join(str(step) for step in fault.absolute_path)
    return f"{where + ': ' if where else ''}{fault.message}"[:LONGEST_PROBLEM]
