"""Times as they are stored: also one that only whoever edits rows can write, and that no calendar of Python has."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.postgresql.psycopg_any import BaseTzLoader  # type: ignore[import-untyped]  # not in the stubs
from django.db.backends.signals import connection_created
from psycopg import DataError

FIRST, LAST = datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)


class AnyTime(BaseTzLoader):  # type: ignore[misc]  # it has no types
    """Reads what lies before the year 1 as `FIRST`, and what lies behind 9999 as `LAST`: in the order that they have."""

    timezone = UTC

    def load(self, data: Any) -> datetime:
        """Return the time."""
        try:
            found: datetime = super().load(data)
        except DataError:
            text = bytes(data)
            found = FIRST if text.startswith(b"-") or text.endswith(b"BC") else LAST
        return found


def read_any_time() -> None:
    """Let Django's connections of this process read each time that the database can hold.

    Else one row whose time was set to infinity would keep everybody from seeing the page that it stands on.
    """
    connection_created.connect(_set_loader, dispatch_uid="liyagent.stored_times")


def _set_loader(connection: BaseDatabaseWrapper, **_signal: Any) -> None:
    connection.connection.adapters.register_loader("timestamptz", AnyTime)
