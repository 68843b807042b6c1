"""What can go wrong with a hand-off, each with its code."""

from __future__ import annotations

from liyagent.core.errors import BadInput, Conflict, NotFound


class HandoffUnknown(NotFound):
    """There is no thread with this id."""

    code = "handoff.not_found"


class SnapshotUnknown(NotFound):
    """Nothing was handed over that has this digest."""

    code = "handoff.snapshot_not_found"


class BadHandoff(BadInput):
    """What was given of a hand-off cannot be used."""

    code = "handoff.bad"

    def __init__(self, *, path: str, why: str) -> None:
        """`path`: where in what was given, dotted; `why`: what is wrong there."""
        self.errors = [{"field": path, "detail": why}]
        super().__init__(f"{path}: {why}")


class StaleVersion(Conflict):
    """This is not the version that the thread stands at: look at it again."""

    code = "handoff.stale"


class StillWritten(Conflict):
    """A run writes this thread: what comes back of a delegation is its second version."""

    code = "handoff.still_written"


class ThreadFull(Conflict):
    """This thread has as many versions as it can; open another."""

    code = "handoff.full"


class NotVerified(Conflict):
    """What is revised does not verify: it was changed after it was handed over."""

    code = "handoff.not_verified"


class KeyReused(Conflict):
    """This Idempotency-Key was used before for another hand-off."""

    code = "handoff.key_reused"


class OtherDigest(Conflict):
    """This is not the digest of that version: something else was read."""

    code = "handoff.other_digest"
