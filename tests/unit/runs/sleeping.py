"""The hot functions by which an attempt files a held call, hands work down and goes to sleep; as `sql.py` has the others."""

from __future__ import annotations

from uuid import UUID, uuid4, uuid5

from psycopg.types.json import Jsonb

from tests.unit.runs.sql import (
    ONE_EVENT,
    Connection,
    Events,
    Fence,
    Row,
    Writer,
    arrays,
    config,
    fenced,
)

REQUEST = {
    "run_as": "", "server": "v", "tool": "keyed", "gate": "write_posture", "reason": "held", "digest": "d",
    "policy_fingerprint": "p", "ceiling": {}, "ceiling_digest": "c", "key_id": "k1", "key_window_seconds": 0,
}  # fmt: skip
KEY = "the-delegation-key"
# A child's format.
CASTS = {14: "%s::smallint"}


def hold(
    connection: Connection,
    fence: Fence,
    sequence: int,
    *,
    index: int = 1,
    waits: bool = True,
    replaces: UUID | None = None,
    events: Events = ONE_EVENT,
) -> Row | None:
    """File the call `index` of step 1; the request's id follows from the fence, so that it is the same asked again."""
    request = uuid5(fence.run, f"{fence.attempt} {sequence}")
    filed = {**REQUEST, "holder": str(fence.holder)}
    outcome = None if waits else b"outcome"
    values = (
        waits, 1, index, f"call-{index}", f"key-{index}", "digest", b"sealed", outcome, request, replaces, "changed",
        Jsonb(filed), b"words", 60.0, 0.0, *arrays(events),
    )  # fmt: skip
    return fenced(connection, "hold", fence, sequence, values)


def hold_and_go_on(connection: Connection, fence: Fence, sequence: int) -> Row | None:
    """File a call of a run that does not wait."""
    return hold(connection, fence, sequence, waits=False)


def sleep(
    connection: Connection,
    fence: Fence,
    sequence: int,
    *,
    wakes: int = 0,
    events: Events = ONE_EVENT,
) -> Row | None:
    """Go on waiting for a person."""
    return fenced(connection, "wait", fence, sequence, (wakes, *arrays(events)))


def sleep_on(
    connection: Connection,
    fence: Fence,
    sequence: int,
    *,
    wakes: int = 0,
    events: Events = ONE_EVENT,
) -> Row | None:
    """Go on waiting for the child."""
    return fenced(connection, "wait_for_child", fence, sequence, (wakes, *arrays(events)))


def hand_down(
    connection: Connection,
    fence: Fence,
    sequence: int,
    *,
    index: int = 1,
    child: UUID | None = None,
    key: str = KEY,
    version: int | None = None,
    approval: UUID | None = None,
) -> Row | None:
    """Hand down the call `index` of step 1; the config it was judged by is today's unless told."""
    judged_by = config(connection) if version is None else version
    values = (
        1, index, "toolu_1", "agents", "reader", key, True, "digest", b"sealed", judged_by, approval,
        child or uuid4(), 1,
        "full", 1, "k1", b"child seal", b"start", Jsonb([]), *arrays(()),
    )  # fmt: skip
    return fenced(connection, "delegate", fence, sequence, values, casts=CASTS)


# Each fits as the third write after `begin`; all but one of them leave the run asleep.
SLEEPERS: tuple[Writer, ...] = (hold, sleep, sleep_on, hand_down)
