"""Find a write again at its vendor, by the key that the vendor stored (ruling 7)."""

from __future__ import annotations

from typing import Any

from liyagent.core.errors import LiyagentError
from liyagent.core.templates import lookup, render
from liyagent.gateway.outcome import Contract, Fate, NotSent, Outcome, Payload, Reader
from liyagent.gateway.wire import send
from runs.in_doubt import UNKNOWN_TEXT, Settlement

READ_TIMEOUT_SECONDS = 30.0


def read_back(payload: Payload, contract: Contract | None) -> Outcome:
    """Return the write's outcome where exactly one record bears its key; otherwise it is unknown.

    Absent proves nothing, several prove nothing, and a reader that fails proves nothing.
    """
    reader = contract.reader if contract is not None else None
    if reader is None:
        return unknown(Settlement.TOLD_UNKNOWN)
    found = find_records(payload, reader)
    if found is None or len(found) != 1:
        return unknown(Settlement.READ_BACK)
    return Outcome(
        fate=Fate.DONE, result=found[0], key=payload.key, settlement=Settlement.READ_BACK
    )


def find_records(payload: Payload, reader: Reader) -> list[Any] | None:
    """Return the vendor's records that bear the key; None where the reader could not be asked."""
    server, _, tool = reader.tool.partition("/")
    try:
        args = render(reader.args, {"key": payload.key, "args": payload.args})
        question = Payload(
            server=server,
            tool=tool,
            args=args,
            key=f"{payload.key}:read-back",
            mission=payload.mission,
            is_write=False,
            timeout_seconds=READ_TIMEOUT_SECONDS,
            limit_bytes=payload.limit_bytes,
        )
        answer = send(question, lambda: True)
        if answer.fate is not Fate.DONE:
            return None
        path = reader.match["records"]
        records = lookup(path, answer.result) if path else answer.result
    except (LiyagentError, NotSent):
        return None
    rows = records if isinstance(records, list) else [records]
    return [row for row in rows if _bears(row, reader.match["field"], payload.key)]


def _bears(record: Any, field: str, key: str) -> bool:
    try:
        return bool(lookup(field, record) == key)
    except LiyagentError:
        return False


def unknown(settlement: Settlement) -> Outcome:
    """Return what the model is told of a call whose outcome nobody can tell."""
    return Outcome(fate=Fate.UNKNOWN, error=UNKNOWN_TEXT, settlement=settlement)
