"""`manage.py migrate`: Django's own, one at a time over a database, however many hosts begin at once.

With LIYAGENT_OWNER_DATABASE_URL it migrates as that role, and then gives the one of DATABASE_URL its rights.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.conf import settings
from django.core.management.commands import migrate

from liyagent.core.database import direct_connection
from liyagent.core.operator import operator_name
from liyagent.operation.database_roles import as_owner, runtime_role, split_roles

# Of this product alone: a number that nobody else is likely to have chosen.
LOCK = 7_246_172_803_117
LOOK_SECONDS = 0.1
TRY = "SELECT pg_try_advisory_lock(%s)"


class Command(migrate.Command):
    """Waits while another one migrates; then there is nothing left to do."""

    def handle(self, *args: Any, **options: Any) -> None:
        """Migrate under the lock. It is of a session past the pooler, and goes with the process."""
        role = runtime_role()
        with as_owner():  # noqa: SIM117 - a guard of its own
            with self._alone():
                super().handle(*args, **options)
                if settings.LIYAGENT.owner_database_url and _brings_all(options):
                    split_roles(role, actor=operator_name())

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Try the lock again and again: a statement that waited would hold up an index that is built concurrently."""
        with direct_connection() as connection:
            is_told = False
            while connection.execute(TRY, (LOCK,)).fetchone() != (True,):
                if not is_told:
                    self.stderr.write("another migrate is under way: waiting for its end")
                is_told = True
                time.sleep(LOOK_SECONDS)
            yield


def _brings_all(options: dict[str, Any]) -> bool:
    """Whether the whole database is brought up to the code: not where a room is named, or only a plan is asked for."""
    return not any(options.get(it) for it in ("app_label", "plan", "check_unapplied"))
