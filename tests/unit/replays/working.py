"""A process that carries cohort replays until it is killed: `python -m tests.unit.replays.working`."""

from __future__ import annotations

import os
import sys
import threading
import time
from uuid import UUID

import django
from django.db import connection

# Whoever is killed is found by proof, not by its lease.
LEASE_SECONDS, RENEW_SECONDS, LOOK_SECONDS = 30.0, 1.0, 0.02


def main() -> None:
    """Be a holder, renew, and look for long jobs."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "liyagent.settings")
    django.setup()

    from liyagent.jobs.after_end import do_after_end  # noqa: PLC0415 - wants the settings
    from liyagent.jobs.work import work_long  # noqa: PLC0415
    from liyagent.leases.holding import register_holder  # noqa: PLC0415
    from liyagent.leases.identity import own_identity  # noqa: PLC0415
    from liyagent.leases.own import OWN  # noqa: PLC0415

    OWN.holder = register_holder(
        own_identity(), name=str(os.getpid()), lease_seconds=LEASE_SECONDS, formats=[1], key_ids=["k1"]
    )  # fmt: skip
    threading.Thread(target=_renew, args=[OWN.holder], daemon=True).start()
    os.write(sys.stdout.fileno(), b"up\n")
    while True:
        work_long(_never)
        do_after_end(_never)
        time.sleep(LOOK_SECONDS)


def _never() -> bool:
    return False


def _renew(holder: UUID) -> None:
    while True:
        with connection.cursor() as cursor:
            cursor.execute(
                "UPDATE leases_holder SET renew_by = liyagent_now() + make_interval(secs => %s) WHERE id = %s",
                [LEASE_SECONDS, holder],
            )
        time.sleep(RENEW_SECONDS)


if __name__ == "__main__":
    main()
