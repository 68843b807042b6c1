"""What the leader rings and what a cluster's worker then does (rulings 12 and 33)."""

from __future__ import annotations

import dataclasses
import os
import time
from collections.abc import Iterator
from datetime import timedelta
from uuid import UUID, uuid4

import pytest
from django.conf import settings
from django.db.models.functions import Now
from django_q.models import OrmQ
from django_q.signing import SignedPackage

from liyagent.leases.holding import register_holder
from liyagent.leases.identity import own_identity
from runs import jobs
from runs.sweep import sweep_lapsed
from tests.unit.runs.sql import Fence, Server, add_holder, head, lapse, start_run

GRACE_SECONDS = 0.2


@pytest.fixture(autouse=True)
def short_grace(server: Server, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Make the grace short, and begin and end without the connection that a worker keeps."""
    conf = settings.LIYAGENT
    half = GRACE_SECONDS / 2
    conf = dataclasses.replace(conf, lease_seconds=half, sweep_seconds=half)
    monkeypatch.setattr(settings, "LIYAGENT", conf)
    yield
    for kept in jobs._kept.values():
        kept.close()
    jobs._kept.clear()


def add_lapsed_run(server: Server, holder: UUID | None = None) -> Fence:
    """Add a run whose holder's lease ran out while another's did not."""
    add_holder(server.watcher)
    fence = start_run(server.watcher, holder=holder)
    lapse(server.watcher, fence.holder)
    return fence


def status(server: Server, fence: Fence) -> tuple[str, int]:
    """Return the run's status and losses."""
    return head(server.watcher, fence.run, "status"), head(server.watcher, fence.run, "losses")


def wait_out_the_grace() -> None:
    """Return when a connection that is open now is old enough."""
    until = time.monotonic() + GRACE_SECONDS + 0.05
    while time.monotonic() < until:
        time.sleep(0.02)


@pytest.mark.promise("CR-13")
def test_a_job_claims_a_lapsed_run_once_its_worker_has_been_connected_for_the_grace(
    server: Server,
) -> None:
    fence = add_lapsed_run(server)
    leader = str(uuid4())

    jobs.sweep(leader)
    assert status(server, fence) == ("running", 0), "a fresh connection proves nothing yet"
    wait_out_the_grace()
    jobs.sweep(leader)
    jobs.sweep(leader)

    assert status(server, fence) == ("queued", 1)


@pytest.mark.promise("CR-13")
@pytest.mark.field("FL-19")
def test_a_database_that_stood_still_is_nobody_s_loss(server: Server) -> None:
    """It was frozen for longer than a lease: no connection broke, and nobody could renew."""
    fences = [start_run(server.watcher) for _ in range(2)]
    kept = server.connect()
    wait_out_the_grace()
    for fence in fences:
        lapse(server.watcher, fence.holder)

    assert sweep_lapsed(kept, sweeper=uuid4()) == []

    back = "UPDATE leases_holder SET renew_by = liyagent_now() + interval '9 s' WHERE id = %s"
    server.watcher.execute(back, [fences[0].holder])
    assert sweep_lapsed(kept, sweeper=uuid4()) == [fences[1].run]


def test_a_fresh_connection_for_each_sweep_never_claims(server: Server) -> None:
    fence = add_lapsed_run(server)
    kept = server.connect()
    wait_out_the_grace()

    assert [sweep_lapsed(server.connect(), sweeper=uuid4()) for _ in range(3)] == [[], [], []]
    assert sweep_lapsed(kept, sweeper=uuid4()) == [fence.run]


def test_the_cluster_of_a_process_leaves_the_runs_of_that_process_alone(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = register_holder(
        own_identity(), name="one", lease_seconds=60, formats=(1,), key_ids=("k1",)
    )
    ours, other = add_lapsed_run(server, own), add_lapsed_run(server)
    monkeypatch.setenv(jobs.SERVED_BY, str(os.getpid()))

    jobs.sweep(str(other.holder))
    wait_out_the_grace()
    jobs.sweep(str(other.holder))

    assert status(server, ours) == ("running", 0)
    assert status(server, other) == ("queued", 1), "that its leader rang does not matter here"


def test_a_cluster_of_no_process_leaves_the_runs_of_the_leader_alone(server: Server) -> None:
    leader, other = add_lapsed_run(server), add_lapsed_run(server)

    jobs.sweep(str(leader.holder))
    wait_out_the_grace()
    jobs.sweep(str(leader.holder))

    assert status(server, leader) == ("running", 0)
    assert status(server, other) == ("queued", 1)


def test_a_sweep_never_raises_and_names_who_rang(
    server: Server, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    leader = str(uuid4())
    with monkeypatch.context() as patch:
        away = "postgresql://nobody:none@127.0.0.1:1/none"
        conf = dataclasses.replace(settings.LIYAGENT, direct_database_url=away)
        patch.setattr(settings, "LIYAGENT", conf)
        jobs.sweep(leader)
    assert f"not swept for {leader}" in caplog.text

    jobs.sweep("nonsense")
    assert "the sweep that nonsense rang for went wrong" in caplog.text


def test_a_connection_that_broke_is_replaced(server: Server) -> None:
    fence = add_lapsed_run(server)
    leader = str(uuid4())
    jobs.sweep(leader)
    broken = next(iter(jobs._kept.values())).info.backend_pid
    server.watcher.execute("SELECT pg_terminate_backend(%s, 5000)", [broken])

    jobs.sweep(leader)
    jobs.sweep(leader)
    wait_out_the_grace()
    jobs.sweep(leader)

    assert status(server, fence) == ("queued", 1)


def test_a_ring_carries_the_leaders_id_alone_and_its_result_is_not_kept(server: Server) -> None:
    leader = uuid4()

    assert jobs.ring_sweep(leader)

    job = SignedPackage.loads(OrmQ.objects.get().payload)
    assert (job["func"], job["args"], job["kwargs"]) == ("runs.jobs.sweep", (str(leader),), {})
    assert job["save"] is False


def test_the_leader_does_not_ring_while_a_ring_still_waits(server: Server) -> None:
    assert [jobs.ring_sweep(uuid4()) for _ in range(3)] == [True, False, False]

    take_all()
    assert jobs.ring_sweep(uuid4()), "a cluster has taken the one that waited"


def test_rings_that_clusters_took_and_died_of_are_bounded(server: Server) -> None:
    rang = 0
    while jobs.ring_sweep(uuid4()):
        rang += 1
        take_all()
        assert rang <= jobs.MOST_QUEUED

    assert rang == OrmQ.objects.count() == jobs.MOST_QUEUED


def take_all() -> None:
    """Lock what is queued, as a cluster does that takes it."""
    OrmQ.objects.update(lock=Now() + timedelta(minutes=2))
