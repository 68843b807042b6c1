"""Whether a digest that the row of something else names is what its thread handed over: those rows can be changed (HO-03)."""

from __future__ import annotations

from uuid import UUID

from events.keys import checking_keys
from handoffs.judge import flaw_of_content, flaw_of_version, versions_to_judge
from handoffs.models import Version
from handoffs.stored import content_under

NONE_NAMED = "something was handed over, and its digest is not named here"
OTHER = "no version of its thread has this digest"


def flaw_of_named(thread: UUID, digest: str) -> str:
    """Return why `digest` does not verify as something that `thread` handed over, "" where it does, or nothing was kept."""
    if not digest:
        return NONE_NAMED if Version.objects.filter(thread=thread).exists() else ""
    version = versions_to_judge().filter(thread=thread, snapshot=digest).first()
    if version is None:
        return OTHER
    flaw = flaw_of_content(digest, content_under(digest))
    return flaw or flaw_of_version(version, checking_keys())
