"""What a run passes to `liyagent_hand`, so that a hand-off is kept in the commit of what it belongs to (HO-03)."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from events.keys import tagging_key
from handoffs.content import Content, body_text
from handoffs.tags import Read, Stated, tag_of


def ride_of(
    *,
    thread: UUID,
    number: int,
    sender: str,
    recipient: str,
    kind: str,
    body: Any,
    author: str,
    mission: str,
    run_id: UUID | None = None,
    correlation_id: UUID | None = None,
    request_id: str = "",
    reader: str = "",
    reader_run: UUID | None = None,
) -> dict[str, Any]:
    """Return version `number` of a thread as `liyagent_hand` takes it, plain; its digest stands in `digest`.

    `body` is plain JSON (`core.plain.to_plain`), already as it may be recorded. `reader`: who read it in the same commit.
    Raises `NotCanonical`.
    """
    content = Content(sender=sender, recipient=recipient, kind=kind, body=body_text(body))
    ride = ride_with(
        content,
        thread=thread,
        number=number,
        author=author,
        mission=mission,
        run_id=run_id,
        correlation_id=correlation_id,
        request_id=request_id,
    )
    if not reader:
        return ride
    known: dict[str, Any] = {"thread": thread, "number": number, "digest": ride["digest"]}
    return {**ride, **reading_of(**known, reader=reader, run_id=reader_run)}


def ride_with(
    content: Content,
    *,
    thread: UUID,
    number: int,
    author: str,
    mission: str,
    run_id: UUID | None = None,
    correlation_id: UUID | None = None,
    request_id: str = "",
) -> dict[str, Any]:
    """Return the version that hands `content` over, tagged with our key."""
    digest = content.digest()
    stated = Stated(
        thread=thread,
        number=number,
        digest=digest,
        author=author,
        run_id=run_id,
        correlation_id=correlation_id,
        mission=mission,
    )
    named = {"thread": str(thread), "number": number, "digest": digest, "author": author}
    return {
        **named,
        "sender": content.sender,
        "recipient": content.recipient,
        "kind": content.kind,
        "body": content.body,
        "run": _id(run_id),
        "correlation": _id(correlation_id),
        "mission": mission,
        "request": request_id,
        "tag": tag_of(stated, tagging_key()).hex(),
    }


def reading_of(
    *, thread: UUID, number: int, digest: str, reader: str, run_id: UUID | None
) -> dict[str, Any]:
    """Return, as `liyagent_hand` takes it, that `reader` read a version by the digest that it made of it; nothing is written else."""
    read = Read(thread=thread, number=number, digest=digest, reader=reader, run_id=run_id)
    return {
        "thread": str(thread),
        "number": number,
        "digest": digest,
        "reader": reader,
        "reader_run": _id(run_id),
        "reader_tag": tag_of(read, tagging_key()).hex(),
    }


def _id(value: UUID | None) -> str | None:
    return str(value) if value else None
