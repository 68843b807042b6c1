"""The alert desk of the demo with its week of runs, and a hand that carries cohort replays: for flows, documents and the browser."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.core.management import call_command
from django.db import connection

from liyagent.demo import desk, seed
from liyagent.demo.vendors.process import VendorProcess
from liyagent.gateway import mcp
from liyagent.jobs.work import work_long
from liyagent.leases.holding import register_holder
from liyagent.leases.identity import own_identity
from liyagent.leases.own import OWN
from liyagent.replays.ask import ask_replay, wanted_replay
from liyagent.replays.models import CohortReplay
from runs.await_end import wait_for_end
from runs.models import Run
from tests.flows.carrying import carrying

PRICES = Path(seed.__file__).parent / "prices.yaml"
AGENT = desk.AGENT


@contextmanager
def desk_at_work(directory: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[VendorProcess]:
    """Seed the demo and have every alert looked after, really, by vendors that go on running."""
    monkeypatch.setattr(settings, "LIYAGENT", replace(settings.LIYAGENT, prices_file=PRICES))
    with VendorProcess(directory, before_ms=1, after_ms=1) as vendors:
        call_command("seed", f"--vendors={vendors.url}", "--no-runs")
        desk.start_desk(started_by="admin", start_key="test")
        with carrying():
            for run in Run.objects.order_by("id"):
                assert wait_for_end(run.id, seconds=30)
        yield vendors
        # A loop whose sessions are open keeps this process from ending.
        mcp.close_all()


def carry_jobs() -> None:
    """Work on what is due, as a process does."""
    OWN.holder = register_holder(own_identity(), name="w", lease_seconds=60, formats=[1], key_ids=["k"])  # fmt: skip
    try:
        work_long(lambda: False)
    finally:
        OWN.holder = None


@contextmanager
def jobs_carried() -> Iterator[None]:
    """Have what is asked for carried beside, as another process would, until the block ends."""
    OWN.holder = register_holder(own_identity(), name="w", lease_seconds=60, formats=[1], key_ids=["k"])  # fmt: skip
    over = threading.Event()

    def work() -> None:
        while not over.wait(0.05):
            work_long(over.is_set)
        connection.close()

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
        OWN.holder = None


def replayed(model: str = "alert-desk-small", **asked: Any) -> CohortReplay:
    """Replay past runs of the alert desk under a model, to the end."""
    wanted = wanted_replay(AGENT, override={"model": model}, **asked)
    replay = ask_replay(wanted, asked_by="admin").replay
    carry_jobs()
    replay.refresh_from_db()
    return replay
