"""What a mission's timeline tells of the audit log."""

from __future__ import annotations

from typing import Any

from liyagent.audit.detail import short_detail
from liyagent.audit.models import AuditRow
from missions.places import number_in
from missions.timeline import Entry, Source, register

VIEW_AUDIT = "audit.view_auditrow"


def audit_of(mission: str, before: str, limit: int) -> list[Entry]:
    """Return the audit rows of a mission, the newest first."""
    rows = AuditRow.objects.filter(mission=mission).order_by("-id")
    if before:
        rows = rows.filter(id__lt=number_in(before))
    return [
        _entry(row, row.short)
        for row in rows.defer("detail").annotate(short=short_detail())[:limit]
    ]


def _entry(row: AuditRow, detail: dict[str, Any] | None) -> Entry:
    return Entry(
        at=row.at,
        place=str(row.id),
        kind=row.action,
        told=f"{row.action} by {row.actor}" if row.actor else row.action,
        by=row.actor,
        run_id=row.run_id,
        facts={
            "id": row.id,
            "request_id": row.request_id,
            "detail": detail,
            "is_cut": detail is None,
        },
    )


register(Source(name="audit", needs=VIEW_AUDIT, entries=audit_of))
