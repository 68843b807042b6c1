"""Read what was handed over by its digest, hashed again, and which versions hand it over (HO-01, HO-05)."""

from __future__ import annotations

from dataclasses import dataclass

from events.keys import checking_keys
from handoffs.content import Content
from handoffs.errors import SnapshotUnknown
from handoffs.judge import flaw_of_content, flaw_of_version, versions_to_judge
from handoffs.models import Version
from handoffs.stored import content_under

MOST_NAMED = 50
OF_NO_VERSION = "no version hands it over: one was taken away, or this was never handed over"


@dataclass(frozen=True, slots=True, kw_only=True)
class Naming:
    """A version that hands it over; `flaw` is why its row does not verify, "" where it does."""

    version: Version
    flaw: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotTold:
    """What is stored under a digest, None where it is gone; `flaw` is why it does not verify, "" where it does.

    `versions` are the first that hand it over, `has_more` where there are more of them.
    """

    digest: str
    content: Content | None
    flaw: str
    versions: list[Naming]
    has_more: bool


def read_snapshot(digest: str) -> SnapshotTold:
    """Return what is stored under a digest, verified now. Raises `SnapshotUnknown` where nothing names it."""
    rows = versions_to_judge().filter(snapshot_id=digest).order_by("id")
    versions = list(rows[: MOST_NAMED + 1])
    content = content_under(digest)
    if content is None and not versions:
        raise SnapshotUnknown(f"nothing was handed over that has the digest {digest}")
    keys = checking_keys()
    return SnapshotTold(
        digest=digest,
        content=content,
        flaw=flaw_of_content(digest, content) or ("" if versions else OF_NO_VERSION),
        versions=[
            Naming(version=it, flaw=flaw_of_version(it, keys)) for it in versions[:MOST_NAMED]
        ],
        has_more=len(versions) > MOST_NAMED,
    )
