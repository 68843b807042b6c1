"""Say that somebody read a version, by the digest that they read. Once each."""

from __future__ import annotations

from uuid import UUID

from django.db import connection, transaction

from events.keys import tagging_key
from handoffs.errors import HandoffUnknown, OtherDigest
from handoffs.heads import head_of
from handoffs.models import Reading, Version
from handoffs.tags import Read, tag_of
from liyagent.audit.record import record

NOTE = """
INSERT INTO handoffs_reading (thread, number, digest, reader, tag) VALUES (%s, %s, %s, %s, %s) ON CONFLICT DO NOTHING RETURNING id
"""


def note_reading(*, thread: UUID, number: int, digest: str, reader: str) -> tuple[Reading, bool]:
    """Keep that `reader` read it, audited as `agent.handoff.read`; return it, and whether that is new.

    Raises `HandoffUnknown`, and `OtherDigest` where `digest` is not that of the version.
    """
    head = head_of(thread)
    version = Version.objects.filter(thread=thread, number=number).first()
    if version is None:
        raise HandoffUnknown(f"there is no version {number} of it; the newest is {head.number}")
    if version.snapshot_id != digest:
        raise OtherDigest(thread=thread, version=number, digest=version.snapshot_id)
    read = Read(thread=thread, number=number, digest=digest, reader=reader, run_id=None)
    with transaction.atomic(durable=True):
        with connection.cursor() as cursor:
            cursor.execute(NOTE, [thread, number, digest, reader, tag_of(read, tagging_key())])
            is_new = cursor.fetchone() is not None
        if is_new:
            detail = {"thread": str(thread), "version": number, "digest": digest}
            record("agent.handoff.read", actor=reader, mission=version.mission, detail=detail)
        named = Reading.objects.filter(thread=thread, number=number, digest=digest)
        return named.get(reader=reader, run_id=None), is_new
