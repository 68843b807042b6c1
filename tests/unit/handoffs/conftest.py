"""Hand-offs as runs and people write them."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import orjson
from django.db import connection

from handoffs.models import Version
from handoffs.open_thread import open_thread
from handoffs.revise import revise
from handoffs.ride import ride_of


def handed(*bodies: Any, sender: str = "agent:triage", recipient: str = "ann", kind: str = "note", actor: str = "olga") -> Version:  # fmt: skip
    """Open a thread with the first body, and revise it with each other; return its newest version."""
    first, *others = bodies
    version = open_thread(
        sender=sender, recipient=recipient, kind=kind, body=first, actor=actor
    ).version
    for body in others:
        version = revise(
            thread=version.thread, expected_version=version.number, body=body, actor=actor
        ).version
    return version


def delegated(
    thread: UUID, run_id: UUID, task: Any, answer: Any = None, *, mission: str = "INC-1"
) -> None:
    """Put down what a run handed an agent, and what came back and was read, as runs do."""
    names: dict[str, Any] = {"thread": thread, "kind": "delegation", "run_id": run_id, "correlation_id": run_id, "mission": mission}  # fmt: skip
    rides: list[dict[str, Any]] = [ride_of(**names, number=1, sender="agent:a", recipient="agent:b", body=task, author="agent:a")]  # fmt: skip
    if answer is not None:
        rides.append(
            ride_of(
                **names,
                number=2,
                sender="agent:b",
                recipient="agent:a",
                body=answer,
                author="agent:b",
                reader="agent:a",
                reader_run=run_id,
            )
        )
    with connection.cursor() as cursor:
        cursor.execute("SELECT liyagent_hand(%s::jsonb)", [orjson.dumps(rides).decode()])
