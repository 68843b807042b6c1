"""Whether a version is what was handed over: what is stored hashes to its digest, its tag is one of ours, and it stands behind
the one that it replaced (HO-01, HO-02).
"""

from __future__ import annotations

from collections.abc import Sequence

from django.db.models import F, OuterRef, QuerySet, Subquery

from events.tags import RecordKey
from handoffs.content import Content
from handoffs.models import Reading, Version
from handoffs.tags import Read, Stated, is_of

GONE = "what it handed over is gone"
CHANGED = "what is stored does not hash to its digest"
KEY_MISSING = "the key that it was tagged with is not in LIYAGENT_SEAL_KEYS"
NOT_OURS = "its tag does not fit it: it was changed, or nobody with a key of ours wrote it"
OTHER_PARENT = "its parent is not the digest of the version before it"


def versions_to_judge() -> QuerySet[Version]:
    """Return versions, each with the digest of the one `before` it, None where there is none."""
    before = Version.objects.filter(thread=OuterRef("thread"), number=OuterRef("earlier"))
    return Version.objects.annotate(earlier=F("number") - 1).annotate(
        before=Subquery(before.values("snapshot_id")[:1])
    )


def flaw_of_content(digest: str, content: Content | None) -> str:
    """Return why what is stored under a digest is not what was handed over, "" where it is."""
    if content is None:
        return GONE
    return "" if content.digest() == digest else CHANGED


def flaw_of_version(version: Version, keys: Sequence[RecordKey]) -> str:
    """Return why the row of a version, of `versions_to_judge`, is not as it was written, "" where it is."""
    stated = Stated(
        thread=version.thread,
        number=version.number,
        digest=version.snapshot_id,
        author=version.author,
        run_id=version.run_id,
        correlation_id=version.correlation_id,
        mission=version.mission,
    )
    fits = is_of(version.tag, stated, keys)
    if fits is None:
        return KEY_MISSING
    before: str | None = version.before  # type: ignore[attr-defined]  # by versions_to_judge
    if not fits:
        return NOT_OURS
    return "" if version.parent == (before or "") else OTHER_PARENT


def flaw_of_reading(reading: Reading, keys: Sequence[RecordKey]) -> str:
    """Return why the row of a reading is not as it was written, "" where it is."""
    read = Read(
        thread=reading.thread,
        number=reading.number,
        digest=reading.digest,
        reader=reading.reader,
        run_id=reading.run_id,
    )
    fits = is_of(reading.tag, read, keys)
    if fits is None:
        return KEY_MISSING
    return "" if fits else NOT_OURS
