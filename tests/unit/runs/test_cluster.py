"""The cluster with real processes: it lives and dies as one, with the `serve` that started it."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from uuid import uuid4

import psutil
import pytest
from django.conf import settings
from django.core import signing
from django.db.models.functions import Now
from django_q.conf import Conf
from django_q.models import OrmQ
from django_q.signing import PickleSerializer
from django_q.tasks import async_task

from runs.cluster import STOP_SECONDS
from runs.cluster_child import ClusterChild
from runs.jobs import ring_sweep
from tests.databases import FreshDatabase
from tests.unit.runs.sql import Server, add_holder, head, lapse, start_run

MANAGE = str(settings.BASE_DIR / "manage.py")
# The sentinel, its two workers, its monitor and its pusher.
BELOW_THE_CLUSTER = 5


def wait_for(condition: Callable[[], bool], *, seconds: float = 20.0) -> None:
    """Return once the condition holds; fail after `seconds`."""
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until, "waited in vain"
        time.sleep(0.02)


def is_alive(process: psutil.Process) -> bool:
    """Say whether it runs; a zombie does not."""
    try:
        return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def below(process: psutil.Process) -> list[psutil.Process]:
    """Return what runs below it."""
    with suppress(psutil.NoSuchProcess):
        return [it for it in process.children(recursive=True) if is_alive(it)]
    return []


def clusters_of(process: psutil.Process) -> list[psutil.Process]:
    """Return its children that are the first process of a cluster."""
    found = []
    with suppress(psutil.NoSuchProcess):
        for it in process.children():
            with suppress(psutil.NoSuchProcess, psutil.ZombieProcess):
                if "cluster" in it.cmdline():
                    found.append(it)
    return found


def whole_clusters_of(process: psutil.Process) -> list[psutil.Process]:
    """Return those of which all processes run."""
    return [it for it in clusters_of(process) if len(below(it)) == BELOW_THE_CLUSTER]


def none_alive(processes: list[psutil.Process]) -> bool:
    """Say whether all of them are dead."""
    return not any(is_alive(it) for it in processes)


class Kept:
    """A cluster kept by this very process, as `serve` keeps its own."""

    def __init__(self) -> None:
        """Nothing runs yet."""
        self.child = ClusterChild()
        self.us = psutil.Process()

    def whole(self) -> psutil.Process:
        """Look until a cluster is whole; return its first process."""

        def look() -> bool:
            self.child.look()
            return bool(whole_clusters_of(self.us))

        wait_for(look)
        return whole_clusters_of(self.us)[0]


@pytest.fixture
def kept(fresh_db: FreshDatabase) -> Iterator[Kept]:
    """Keep a cluster; it is ended with the test."""
    it = Kept()
    try:
        yield it
    finally:
        it.child.end(seconds=5)


def queue(function: str, *values: object) -> int:
    """Queue a job; return its row."""
    name = async_task(function, *values, save=False)
    return next(int(it.pk) for it in OrmQ.objects.order_by("-pk") if it.task_id() == name)


def is_taken(job: int) -> bool:
    """Say whether a cluster works at a job."""
    return bool(OrmQ.objects.filter(pk=job, lock__gt=Now()).exists())


def is_done(job: int) -> bool:
    """Say whether a job was carried out, or thrown away."""
    return not bool(OrmQ.objects.filter(pk=job).exists())


@contextmanager
def serving(*options: str) -> Iterator[psutil.Process]:
    """Run `serve` on the test's database."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, MANAGE, "serve", "--port", str(port), *options]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LIYAGENT_ALLOW_UNSAFE_DURABILITY", "true")
        started = subprocess.Popen(command, stdin=subprocess.DEVNULL)
    process = psutil.Process(started.pid)
    try:
        wait_for(lambda: any(it.laddr.port == port for it in process.net_connections()))
        yield process
    finally:
        started.kill()
        started.wait()


def test_a_killed_serve_leaves_nothing_of_its_cluster_behind(fresh_db: FreshDatabase) -> None:
    with serving() as process:
        wait_for(lambda: bool(whole_clusters_of(process)))
        family = below(process)

        process.kill()

        wait_for(lambda: none_alive(family), seconds=1)


def test_a_serve_that_drains_lets_its_cluster_finish_and_end(fresh_db: FreshDatabase) -> None:
    with serving() as process:
        wait_for(lambda: bool(whole_clusters_of(process)))
        family = below(process)
        job = queue("time.sleep", 1)
        wait_for(lambda: is_taken(job))

        process.terminate()

        assert process.wait(timeout=10) == 0
        assert none_alive(family)
        assert is_done(job), "it was cut off"


def test_a_serve_without_cluster_starts_none(fresh_db: FreshDatabase) -> None:
    with serving("--no-cluster") as process:
        wait_for(OrmQ.objects.exists)
        assert not below(process), "it leads and rings, and leaves the work to others"


def test_a_cluster_whose_parent_is_gone_before_it_asks_ends_at_once(
    fresh_db: FreshDatabase,
) -> None:
    command = [sys.executable, MANAGE, "cluster", "--parent", "1"]
    ended = subprocess.run(command, check=False, timeout=20)
    assert ended.returncode == -signal.SIGKILL


def test_a_cluster_whose_sentinel_was_killed_ends_as_a_whole_and_another_starts(kept: Kept) -> None:
    first = kept.whole()
    family = [first, *below(first)]

    first.children()[0].kill()

    wait_for(lambda: none_alive(family))
    assert kept.whole().pid != first.pid


def test_a_cluster_whose_idle_workers_were_killed_is_replaced_by_one_that_works(kept: Kept) -> None:
    first = kept.whole()
    before = queue("runs.jobs.sweep", str(uuid4()))
    wait_for(lambda: is_done(before))
    workers = sorted(first.children()[0].children(), key=lambda it: it.pid)[:2]
    for worker in workers:
        worker.kill()

    wait_for(lambda: none_alive([first]))
    kept.whole()
    job = queue("runs.jobs.sweep", str(uuid4()))
    wait_for(lambda: is_done(job))


def test_a_cluster_that_keeps_dying_is_started_after_longer_and_longer_pauses(
    kept: Kept, caplog: pytest.LogCaptureFixture
) -> None:
    for pause in ("0.5", "1.0", "2.0"):

        def killed(pause: str = pause) -> bool:
            kept.child.look()
            for it in clusters_of(kept.us):
                it.kill()
            return f"started again in {pause} s" in caplog.text

        wait_for(killed)


def test_a_cluster_ends_within_seconds_though_a_job_goes_on(kept: Kept) -> None:
    first = kept.whole()
    family = [first, *below(first)]
    job = queue("time.sleep", 50)
    wait_for(lambda: is_taken(job))

    begun = time.monotonic()
    kept.child.end(seconds=STOP_SECONDS + 5)

    assert time.monotonic() - begun < STOP_SECONDS + 2
    wait_for(lambda: none_alive(family), seconds=1)
    kept.child.look()
    assert not clusters_of(kept.us), "it is started no more"


def test_the_rung_clusters_claim_what_lapsed(kept: Kept, server: Server) -> None:
    fence = start_run(server.watcher)
    lapse(server.watcher, fence.holder)
    add_holder(server.watcher)
    kept.whole()

    def is_claimed() -> bool:
        ring_sweep(uuid4())
        return bool(head(server.watcher, fence.run, "status") == "queued")

    wait_for(is_claimed)
    assert head(server.watcher, fence.run, "losses") == 1


class Crafted:
    """Names a function to be called by whoever unpickles it."""

    def __init__(self, place: Path) -> None:
        """`place` is made when the trap springs."""
        self.place = place

    def __reduce__(self) -> tuple[object, ...]:
        """Return what pickle is to call."""
        return (Path.touch, (self.place,))


def test_a_signed_job_that_names_a_class_is_thrown_away_and_the_queue_goes_on(
    kept: Kept, tmp_path: Path
) -> None:
    place = tmp_path / "sprung"
    crafted = OrmQ.objects.create(
        key=Conf.CLUSTER_NAME,
        payload=signing.dumps(
            Crafted(place), key=Conf.SECRET_KEY, salt=Conf.PREFIX, serializer=PickleSerializer
        ),
        lock="2020-01-01T00:00:00Z",
    )
    kept.whole()

    wait_for(lambda: is_done(crafted.pk))
    job = queue("runs.jobs.sweep", str(uuid4()))
    wait_for(lambda: is_done(job))
    assert not place.exists()
