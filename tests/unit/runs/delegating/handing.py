"""What was handed over, as its room shows it, and as events, audit and readings tell of it."""

from __future__ import annotations

import json
from typing import Any
from uuid import UUID

from events.content import content_of
from events.kinds import misfit
from events.models import RunEvent
from handoffs.models import Reading, Version
from handoffs.read_thread import ThreadTold, read_thread
from liyagent.audit.models import AuditRow
from runs.models import Run

Told = tuple[int, str]


def threads() -> list[UUID]:
    """All threads, the one that began first first."""
    return list(Version.objects.filter(number=1).order_by("id").values_list("thread", flat=True))


def shown(thread: UUID) -> ThreadTold:
    """A thread that holds: whatever happened, this has to."""
    told = read_thread(thread)
    assert told.problems == []
    assert [it.flaw for it in told.versions] == ["" for _ in told.versions]
    return told


def bodies(thread: UUID) -> list[Any]:
    """What was handed over, version by version."""
    found = [it.content for it in shown(thread).versions]
    return [json.loads(it.body) for it in found if it is not None]


def sides(thread: UUID) -> list[tuple[str, str]]:
    """From whom to whom, version by version."""
    found = [it.content for it in shown(thread).versions]
    return [(it.sender, it.recipient) for it in found if it is not None]


def readers(thread: UUID) -> list[tuple[int, str, UUID | None]]:
    """Who read which, by whose run."""
    rows = Reading.objects.filter(thread=thread).order_by("number", "reader")
    return list(rows.values_list("number", "reader", "run_id"))


def told(run: Run) -> list[tuple[str, int]]:
    """What the run's events tell of hand-offs, in order; each fits its kind and names a version that there is."""
    found = []
    for it in RunEvent.objects.filter(run_id=run.id, kind="handoff").order_by("number"):
        content = content_of(it.content)
        assert misfit(it.kind, content) == ""
        named = {"thread": content["thread"], "number": content["version"]}
        assert Version.objects.get(**named).snapshot_id == content["digest"]
        found.append((str(content["direction"]), int(content["version"])))
    return found


def audited(thread: UUID) -> list[tuple[int, str]]:
    """The versions that the audit log tells of, each with its author."""
    rows = AuditRow.objects.filter(action="agent.handoff", detail__thread=str(thread))
    return [(it.detail["version"], it.actor) for it in rows.order_by("id")]


def is_handed_once(parent: Run, child: Run, *, task: Any, back: dict[str, Any]) -> UUID:
    """What has to hold of a delegation, whoever died: both versions once, told, audited and read once; its thread."""
    key = f"{child.agent_key}"
    (thread,) = Version.objects.filter(number=2, run_id=child.id).values_list("thread", flat=True)
    above, below = f"agent:{parent.agent_key}", f"agent:{key}"
    assert bodies(thread) == [{"task": task}, back]
    assert sides(thread) == [(above, below), (below, above)]
    assert readers(thread) == [(1, below, child.id), (2, above, parent.id)]
    assert audited(thread) == [(1, above), (2, below)]
    return thread
