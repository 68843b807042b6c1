"""Revise a hand-off: a new version whose parent is the digest that it replaces; nothing is ever changed (HO-02)."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.db import transaction

from events.keys import checking_keys
from handoffs.content import Content
from handoffs.errors import BadHandoff, NotVerified, StaleVersion, StillWritten, ThreadFull
from handoffs.given import DELEGATION, checked_body, checked_content, refuse_kinds_of_runs
from handoffs.heads import MOST_REVISED, head_of
from handoffs.judge import flaw_of_content, flaw_of_version, versions_to_judge
from handoffs.models import Version
from handoffs.open_thread import Written
from handoffs.stored import content_under
from handoffs.write_version import write_version


def revise(
    *,
    thread: UUID,
    expected_version: int,
    body: Any,
    actor: str,
    sender: str | None = None,
    recipient: str | None = None,
    kind: str | None = None,
) -> Written:
    """Put a version after `expected_version`, audited, in one commit. What is not given is as in that one.

    Only the head can be revised, and of two at once one wins. A revise whose answer was lost and that is asked again is the
    version that it wrote. Raises `HandoffUnknown`, `BadHandoff`, `StaleVersion`, `StillWritten`, `ThreadFull`, and
    `NotVerified` where the head was changed after it was handed over.
    """
    checked_body(body)
    head = head_of(thread)
    if expected_version < 1 or head.number not in {expected_version, expected_version + 1}:
        raise _stale(head, expected_version)
    base = _version(thread, expected_version)
    before = _verified(base)
    content = checked_content(
        sender=before.sender if sender is None else sender,
        recipient=before.recipient if recipient is None else recipient,
        kind=before.kind if kind is None else kind,
        body=body,
    )
    if content.kind != before.kind:
        refuse_kinds_of_runs(content.kind)
    if head.number != expected_version:
        return _again(head, expected_version, content, actor)
    _check(head, before, content)
    with transaction.atomic(durable=True):
        is_new = write_version(
            thread=thread,
            number=head.number + 1,
            parent=head.snapshot_id,
            content=content,
            author=actor,
            mission=head.mission,
        )
    if not is_new:
        return _again(head_of(thread), expected_version, content, actor)
    return Written(version=_version(thread, head.number + 1), is_new=True)


def _check(head: Version, before: Content, content: Content) -> None:
    if before.kind == DELEGATION and head.number == 1:
        raise StillWritten(thread=head.thread)
    if content.digest() == head.snapshot_id:
        raise BadHandoff(path="body", why=f"version {head.number} says this already")
    if head.number >= MOST_REVISED:
        raise ThreadFull(f"this thread has {head.number} versions, and takes no more; open another")


def _again(head: Version, expected: int, content: Content, actor: str) -> Written:
    """The version that this very revise wrote before, where the head is that one (FL-96). Raises `StaleVersion`."""
    is_ours = head.author == actor and head.snapshot_id == content.digest()
    if head.number != expected + 1 or not is_ours:
        raise _stale(head, expected)
    return Written(version=head, is_new=False)


def _stale(head: Version, expected: int) -> StaleVersion:
    told = f"the thread stands at version {head.number}, and not at {expected}"
    return StaleVersion(
        told, thread=head.thread, expected=expected, head=head.number, head_digest=head.snapshot_id
    )


def _version(thread: UUID, number: int) -> Version:
    found = versions_to_judge().filter(thread=thread, number=number).first()
    if found is None:
        raise NotVerified(f"version {number} is gone", thread=thread)
    return found


def _verified(version: Version) -> Content:
    """What a version handed over: nothing of one that was changed is taken over into a new one."""
    content = content_under(version.snapshot_id)
    flaw = flaw_of_content(version.snapshot_id, content) or flaw_of_version(
        version, checking_keys()
    )
    if flaw or content is None:
        raise NotVerified(
            f"version {version.number} does not verify: {flaw}", thread=version.thread
        )
    return content
