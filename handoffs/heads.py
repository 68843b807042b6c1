"""Where a thread stands: its newest version."""

from __future__ import annotations

from uuid import UUID

from handoffs.errors import HandoffUnknown
from handoffs.models import Version

# No thread has more: all of one is verified on each read. People leave room for what runs may still add.
MOST_VERSIONS = 200
MOST_REVISED = 190


def head_of(thread: UUID) -> Version:
    """Return the newest version of a thread. Raises `HandoffUnknown`."""
    head = Version.objects.filter(thread=thread).order_by("-number").first()
    if head is None:
        raise no_thread(thread)
    return head


def no_thread(thread: UUID) -> HandoffUnknown:
    """Return the error for a thread that is not there, with what to do."""
    return HandoffUnknown(f"there is no hand-off {thread}; `/api/handoffs` lists those there are")
