"""A process that works on fine-tunings until it is killed: `python -m tests.unit.training.fine_tunes.working KILL_AT`.

`KILL_AT` names where it kills itself: `collect`, `file` or `job` (marked, and about to leave), `watch`, or nothing.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import django

from tests.unit.jobs.working import LEASE_SECONDS, LOOK_SECONDS, _renew


def main(kill_at: str) -> None:
    """Be a holder, renew, and look for jobs."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "liyagent.settings")
    django.setup()

    from liyagent.jobs.work import work_due  # noqa: PLC0415 - wants the settings
    from liyagent.leases.holding import register_holder  # noqa: PLC0415
    from liyagent.leases.identity import own_identity  # noqa: PLC0415
    from liyagent.leases.own import OWN  # noqa: PLC0415
    from liyagent.training.fine_tunes import collect, tune  # noqa: PLC0415
    from liyagent.training.fine_tunes.vendor import Vendor  # noqa: PLC0415

    collect.TOGETHER = 5
    tune.POLL_SECONDS = tune.LOOK_SECONDS = 0.05

    def dying(act: Callable[..., Any], is_due: Callable[..., bool]) -> Callable[..., Any]:
        def instead(*given: Any) -> Any:
            if is_due(*given):
                os.kill(os.getpid(), signal.SIGKILL)
            return act(*given)

        return instead

    tune.Tuning._may_leave = dying(tune.Tuning._may_leave, lambda it: it.at.sending == kill_at)  # type: ignore[method-assign]
    Vendor.job = dying(Vendor.job, lambda *_: kill_at == "watch")  # type: ignore[method-assign]
    tune._keep_lines = dying(tune._keep_lines, lambda _job, first, _made: kill_at == "collect" and first > 0)  # fmt: skip
    OWN.holder = register_holder(
        own_identity(), name=str(os.getpid()), lease_seconds=LEASE_SECONDS, formats=[1], key_ids=["k"]
    )  # fmt: skip
    threading.Thread(target=_renew, args=[OWN.holder], daemon=True).start()
    while True:
        work_due(lambda: False)
        time.sleep(LOOK_SECONDS)


if __name__ == "__main__":
    main(sys.argv[1])
