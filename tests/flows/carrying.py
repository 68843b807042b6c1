"""A runner in this process, for flows that need a run to be carried."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from django.conf import settings
from django.db import connection

from liyagent.leases.holding import register_holder
from liyagent.leases.identity import own_identity
from runs.runner import FORMATS, Runner


@contextmanager
def carrying(name: str = "test") -> Iterator[Runner]:
    """Carry queued runs until the block ends."""
    holder = register_holder(
        own_identity(),
        name=name,
        lease_seconds=60,
        formats=FORMATS,
        key_ids=[key_id for key_id, _ in settings.LIYAGENT.seal_keys],
    )
    runner = Runner(holder, name=name)

    def take() -> None:
        try:
            runner.take_until_drained()
        finally:
            connection.close()

    thread = threading.Thread(target=take)
    thread.start()
    try:
        yield runner
    finally:
        runner.drain(seconds=5)
        thread.join()
