"""Hand something to an agent or a person: version 1 of a new thread (HO-05)."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db import transaction

from handoffs.errors import KeyReused
from handoffs.given import checked_content, refuse_kinds_of_runs
from handoffs.models import Version
from handoffs.write_version import write_version
from liyagent.core.canonical import canonical
from liyagent.core.ids import new_id
from missions.context import current_stamp

OPENED = "handoff opened over the API"


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """A version, and whether it was written just now: where it was before, nothing was."""

    version: Version
    is_new: bool


def open_thread(
    *, sender: str, recipient: str, kind: str, body: Any, actor: str, idempotency_key: str = ""
) -> Written:
    """Hand `body` over, audited, in one commit. With a key, the thread that this actor opened with it is found again.

    Raises `BadHandoff`, and `KeyReused` where that thread began with something else.
    """
    content = checked_content(sender=sender, recipient=recipient, kind=kind, body=body)
    refuse_kinds_of_runs(content.kind)
    thread = _named(actor, idempotency_key) if idempotency_key else new_id()
    with transaction.atomic(durable=True):
        is_new = write_version(
            thread=thread,
            number=1,
            parent="",
            content=content,
            author=actor,
            mission=current_stamp().mission_of_work or str(thread),
        )
        version = Version.objects.get(thread=thread, number=1)
    if version.snapshot_id != content.digest():
        raise KeyReused(thread=thread)
    return Written(version=version, is_new=is_new)


def _named(actor: str, key: str) -> UUID:
    """The thread that somebody's key stands for, the same each time, and none that a run could name."""
    named = hashlib.sha256(canonical([OPENED, actor, key])).digest()
    return UUID(bytes=named[:16])
