"""A process that works on jobs until it is killed: `python -m tests.unit.jobs.working LOG`. It notes each file it reads."""

from __future__ import annotations

import os
import sys
import threading
import time
from uuid import UUID

import django
from django.db import connection

LEASE_SECONDS, RENEW_SECONDS, LOOK_SECONDS, READ_SECONDS = 0.5, 0.05, 0.02, 0.01


def main(log: str) -> None:
    """Be a holder, renew, and look for jobs."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "liyagent.settings")
    django.setup()

    from liyagent.jobs.sources.folder import Folder  # noqa: PLC0415 - wants the settings
    from liyagent.jobs.work import work_due  # noqa: PLC0415
    from liyagent.leases.holding import register_holder  # noqa: PLC0415
    from liyagent.leases.identity import own_identity  # noqa: PLC0415
    from liyagent.leases.own import OWN  # noqa: PLC0415

    as_it_is = Folder.read
    noted = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    def reading(self: Folder, path: str) -> object:
        os.write(noted, f"{path}\n".encode())
        time.sleep(READ_SECONDS)
        return as_it_is(self, path)

    Folder.read = reading  # type: ignore[method-assign, assignment]
    OWN.holder = register_holder(
        own_identity(), name=str(os.getpid()), lease_seconds=LEASE_SECONDS, formats=[1], key_ids=["k"]
    )  # fmt: skip
    threading.Thread(target=_renew, args=[OWN.holder], daemon=True).start()
    os.write(sys.stdout.fileno(), b"up\n")
    while True:
        work_due(lambda: False)
        time.sleep(LOOK_SECONDS)


def _renew(holder: UUID) -> None:
    while True:
        with connection.cursor() as cursor:
            cursor.execute(
                "UPDATE leases_holder SET renew_by = liyagent_now() + make_interval(secs => %s) WHERE id = %s",
                [LEASE_SECONDS, holder],
            )
        time.sleep(RENEW_SECONDS)


if __name__ == "__main__":
    main(sys.argv[1])
