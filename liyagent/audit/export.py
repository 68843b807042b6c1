"""The audit log as JSON lines, oldest first, to be taken elsewhere: bounded in memory, and gone on with by number."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from django.db import connection, transaction

from liyagent.audit.listing import SELECTED, Selection, find_rows, rows_within, selection_of
from liyagent.audit.models import AuditRow
from liyagent.audit.record import record
from liyagent.core.errors import BadInput
from liyagent.core.paging import check_names
from liyagent.core.plain import json_bytes

PAGE = 500
# A row is seen when its transaction ends, not in the order of its number. Whatever may still appear was told the time no
# earlier than its transaction began; two seconds are for one that has not shown yet that it writes.
SETTLED = """
SELECT id FROM audit_auditrow
    WHERE at < LEAST(liyagent_now(), (SELECT min(a.xact_start) FROM pg_stat_activity a
        WHERE a.datname = current_database() AND a.backend_xid IS NOT NULL)) - interval '2 s'
    ORDER BY at DESC LIMIT 1
"""


@dataclass(slots=True, kw_only=True)
class Export:
    """One export on its way: `after` is the number that the next one goes on behind, `rows` how many were told."""

    wanted: Selection
    upto: int
    after: int
    rows: int = 0
    is_complete: bool = field(default=False)

    def lines(self) -> Iterator[bytes]:
        """Yield a page of lines at a time, in one statement or two, and at the end the line that says it is whole."""
        while not self.is_complete:
            yield self._page()

    def _page(self) -> bytes:
        found = find_rows(
            self.wanted, limit=PAGE, above=self.after, below=self.upto + 1, newest_first=False
        )
        rows, last = rows_within(found, newest_first=False)
        told = b"".join(json_bytes(facts_of(row)) + b"\n" for row in rows)
        self.rows += len(rows)
        if last is not None:
            self.after = last
            return told
        self.after, self.is_complete = max(self.after, self.upto), True
        return told + json_bytes(self.told()) + b"\n"

    def told(self) -> dict[str, Any]:
        """Return the last line: without it, an export was cut."""
        return {"is_complete": self.is_complete, "rows": self.rows, "after": self.after}


def begin_export(asked: Mapping[str, str], *, actor: str, after: int = 0) -> Export:
    """Begin to export what `asked` (of `SELECTED`) selects, behind the row numbered `after`; it is audited who did.

    It ends before what may not be whole yet, some seconds ago: the next one goes on from there and misses nothing.
    Raises `BadInput`.
    """
    check_names(asked, SELECTED)
    if after < 0:
        raise BadInput("after wants the number of a row, or 0")
    wanted, upto = selection_of(asked), settled_until()
    with transaction.atomic(durable=True):
        record("audit.exported", actor=actor, detail={"by": sorted(asked), "after": after})
    return Export(wanted=wanted, upto=upto, after=after)


def settled_until() -> int:
    """Return the greatest number that no row will appear below any more; 0 where there is none."""
    with connection.cursor() as cursor:
        cursor.execute(SETTLED)
        return next((row[0] for row in cursor.fetchall()), 0)


def facts_of(row: AuditRow) -> dict[str, Any]:
    """Return a row as plain JSON, as the API and an export tell it."""
    return {
        "id": row.pk,
        "at": row.at.isoformat(),
        "action": row.action,
        "actor": row.actor,
        "agent": row.agent,
        "mission": row.mission,
        "request_id": row.request_id,
        "address": row.address,
        "correlation_id": str(row.correlation_id) if row.correlation_id else None,
        "run_id": str(row.run_id) if row.run_id else None,
        "is_confidential": row.is_confidential,
        "detail": row.detail,
    }
