"""`python -m tests.bench.saga_process`: at each line that it reads, carries all that is queued; answers with one line of JSON."""

from __future__ import annotations

import json
import logging
import math
import sys
import time
from typing import Any
from uuid import UUID

import django

django.setup()

from django.db import connections  # noqa: E402 - what follows wants the settings

from liyagent.core.database import close_hot_pool  # noqa: E402
from runs import hot  # noqa: E402
from runs.attempt import Carrier  # noqa: E402
from runs.checkpoint import keyring, load  # noqa: E402
from runs.loop import carry_run  # noqa: E402
from runs.runner import FORMATS  # noqa: E402
from tests.bench.saga_world import LEDGER, provide  # noqa: E402
from tests.bench.steps import new_holder  # noqa: E402


def main() -> None:
    """Carry until there is no further line."""
    logging.disable(logging.WARNING)
    provide()
    holder = new_holder()
    _tell({"is_ready": True})
    for _line in sys.stdin:
        began = time.monotonic()
        runs = carry(holder)
        ended = time.monotonic()
        # A session tells its counts when it ends.
        connections.close_all()
        close_hot_pool()
        _tell({"began": began, "ended": ended, "runs": runs, "made": LEDGER})
        for made in LEDGER.values():
            made.clear()


def carry(holder: UUID, *, most: float = math.inf) -> int:
    """Carry what is queued, the longest first, `most` runs at the most; return how many were."""
    runs = 0
    known: dict[str, Any] = {"formats": FORMATS, "key_ids": keyring().ids, "give_up": _never}
    carrier = Carrier(holder="bench", give_up=_never, hand_over=_never)
    while runs < most and (taken := hot.take(holder, again=0, fresh=1, **known)):
        ((run_id, attempt),) = taken
        carry_run(load(run_id, attempt=attempt, give_up=_never), carrier)
        runs += 1
    return runs


def _tell(told: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(told) + "\n")
    sys.stdout.flush()


def _never() -> bool:
    return False


if __name__ == "__main__":
    main()
