"""A mark is read by the release before: a rolling deploy takes runs over in both directions (ruling 14)."""

from __future__ import annotations

import os
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from liyagent.core.seal import Keyring
from liyagent.gateway.outcome import Payload
from runs.marks import BYTES, SealedMark, open_mark, place_of
from runs.models import Call

RUN = UUID(int=7)
SEALER = Keyring((("k1", os.urandom(32)),)).sealer(key_id="k1", run_id=RUN, format_number=1)
PAYLOAD: dict[str, Any] = {
    "server": "v", "tool": "keyed", "args": {"n": 1}, "key": "key-1", "mission": "m", "is_write": True,
    "timeout_seconds": 30.0, "limit_bytes": 1024,
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class PayloadBefore:
    """The fields that the release before knows."""

    server: str
    tool: str
    args: dict[str, Any]
    key: str
    mission: str
    is_write: bool
    timeout_seconds: float
    limit_bytes: int


def mark(payload: Payload) -> SealedMark:
    now = datetime(2026, 1, 1, tzinfo=UTC)
    return SealedMark(payload=payload, has_identity=True, key_window_seconds=60, marked_after=now)


def test_the_release_before_reads_what_this_one_marks() -> None:
    sealed = mark(Payload(**PAYLOAD)).seal(SEALER, step=1, index=0)
    facts = SEALER.open(sealed, kind=BYTES, number=place_of(1, 0))
    assert PayloadBefore(**facts["payload"]) == PayloadBefore(**PAYLOAD)


def test_this_one_reads_what_either_marked() -> None:
    for payload in (Payload(**PAYLOAD), Payload(**PAYLOAD, agent="triage")):
        sealed = mark(payload).seal(SEALER, step=1, index=0)
        row = Call(
            step=1, index=0, server="v", tool="keyed", step_key="key-1", has_identity=True, key_window_seconds=60,
            intent="sending", sealed=sealed,
        )  # fmt: skip
        assert open_mark(SEALER, row).payload == payload
