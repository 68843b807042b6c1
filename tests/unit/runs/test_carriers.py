"""Runs that were lost twice, each carried by a real process of its own (ruling 11)."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event
from typing import Any
from uuid import UUID

import psutil
import pytest
import yaml
from django.conf import settings

from liyagent.agents.models import Agent
from liyagent.leases.identity import own_identity
from liyagent.leases.models import Holder
from runs.carriers import MOST_CARRIERS, Carriers
from runs.models import Run
from runs.runner import Runner
from runs.start import start_run
from runs.stop import stop_run
from runs.watch import Watch
from tests.databases import FreshDatabase

# Several processes start in each test; a busy machine takes its time.
pytestmark = pytest.mark.timeout(120)
MANAGE = str(settings.BASE_DIR / "manage.py")
NEVER = Event()


@dataclass(slots=True)
class Twice:
    """Runs that were lost twice, and the process that has them carried: this one."""

    carriers: Carriers = field(default_factory=Carriers)

    def run(self, agent: str) -> UUID:
        """Start a run and let it have been lost twice."""
        started = start_run(
            agent_key=agent, task="look", entry="api", started_by="", mission="", request_id=""
        )
        Run.objects.filter(id=started.run_id).update(losses=2, attempt=2, resumes_recorded=2)
        return started.run_id

    def until(self, holds: Callable[[], bool], *, looks: bool = True, seconds: float = 60) -> None:
        """Look, as `serve` does at each poll, until it holds."""
        give_up = time.monotonic() + seconds
        while not holds():
            assert time.monotonic() < give_up, "waited in vain"
            if looks:
                self.carriers.look(NEVER)
            time.sleep(0.05)


def heads(*runs: UUID, of: str = "status") -> list[Any]:
    """Return a column of these runs."""
    found = dict(Run.objects.filter(id__in=runs).values_list("id", of))
    return [found[run] for run in runs]


def carried() -> list[Run]:
    return list(Run.objects.filter(status="running"))


@pytest.fixture
def twice(
    fresh_db: FreshDatabase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Twice]:
    """An agent that answers at once and one that thinks for a minute."""
    for name, delay in (("quick", 0), ("slow", 60)):
        steps = [{"delay": delay, "text": "done"}]
        (tmp_path / f"{name}.yaml").write_text(yaml.safe_dump({"steps": steps}))
        Agent.objects.create(key=name, name=name, provider="scripted", model=name)
    monkeypatch.setenv("LIYAGENT_SCRIPTS_DIR", str(tmp_path))
    monkeypatch.setenv("LIYAGENT_DRAIN_SECONDS", "0.2")
    monkeypatch.setenv("LIYAGENT_LEASE_SECONDS", "8")
    monkeypatch.setenv("LIYAGENT_ALLOW_UNSAFE_DURABILITY", "true")
    it = Twice()
    try:
        yield it
    finally:
        it.carriers.end(seconds=30)


@pytest.mark.field("FL-21")
def test_a_run_that_was_lost_twice_is_carried_alone_to_its_end(twice: Twice) -> None:
    run = twice.run("quick")
    twice.until(lambda: heads(run) == ["answered"])
    twice.until(lambda: twice.carriers.running() == [])
    assert heads(run, of="losses") == [2]
    assert Holder.objects.count() == 0


def test_a_stopped_run_has_the_first_place_however_many_wait(twice: Twice) -> None:
    slow = [twice.run("slow") for _ in range(3 * MOST_CARRIERS)]
    run = twice.run("slow")
    stop_run(run_id=run, actor="olga", reason="no longer wanted")
    twice.carriers.look(NEVER)
    twice.until(lambda: heads(run) == ["stopped"], looks=False)
    assert "queued" in heads(*slow)


@pytest.mark.field("FL-21")
def test_four_are_carried_at_once_each_by_a_holder_of_its_own_and_the_rest_stay_queued(
    twice: Twice,
) -> None:
    """One of them dies, which costs no other a loss; told to end, they hand over without one."""
    runs = [twice.run("slow") for _ in range(MOST_CARRIERS + 2)]
    twice.until(lambda: len(carried()) == MOST_CARRIERS)
    for _ in range(10):
        twice.carriers.look(NEVER)
    pids = twice.carriers.running()
    assert len(pids) == MOST_CARRIERS == len(carried())
    holders = {it.id: it.pid for it in Holder.objects.all()}
    assert {holders[it.holder] for it in carried() if it.holder} == set(pids)
    assert {os.getsid(pid) for pid in pids} == set(pids)
    victim = next(it for it in carried() if it.holder and holders[it.holder] == pids[0])
    os.kill(pids[0], signal.SIGKILL)
    watch = Watch(Runner(UUID(int=0), name="neighbour"), identity=own_identity())

    def is_claimed() -> bool:
        watch.look_once()
        return bool(heads(victim.id) == ["queued"])

    twice.until(is_claimed, looks=False)
    assert Run.objects.get(id=victim.id).last_loss == "proof"
    twice.carriers.end(seconds=30)
    assert carried() == []
    assert sorted(heads(*runs, of="losses")) == [2] * (len(runs) - 1) + [3]
    assert sorted(heads(*runs, of="handovers")) == [0] * 3 + [1] * (MOST_CARRIERS - 1)
    assert Holder.objects.count() == 0


@pytest.mark.promise("CR-12")
def test_it_ends_when_it_loses_its_lease_and_takes_nothing_else(twice: Twice) -> None:
    run, other = twice.run("slow"), twice.run("slow")
    started = subprocess.Popen([sys.executable, MANAGE, "carry", str(run)])
    try:
        twice.until(lambda: heads(run) == ["running"], looks=False)
        Run.objects.filter(id=run).update(status="queued", holder=None)
        assert started.wait(30) == 0
    finally:
        started.kill()
        started.wait()
    assert heads(run, other) == ["queued", "queued"]
    assert heads(run, other, of="losses") == [2, 2]


def test_a_process_that_cannot_be_started_is_no_loss_and_no_tight_loop(
    twice: Twice, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    run = twice.run("quick")
    with monkeypatch.context() as patch:
        patch.setattr(sys, "executable", "/nowhere/python")
        for _ in range(20):
            twice.carriers.look(NEVER)
    assert sum("no process to carry" in it.message for it in caplog.records) == 1
    assert (heads(run), heads(run, of="losses")) == (["queued"], [2])
    twice.until(lambda: heads(run) == ["answered"])


def test_one_that_ends_before_it_takes_its_run_is_started_again_later_and_later(
    twice: Twice, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = twice.run("quick")
    starts: list[float] = []

    def note(*_arguments: object, **options: Any) -> subprocess.Popen[bytes]:
        starts.append(time.monotonic())
        return really("/bin/false", **options)

    really = subprocess.Popen
    with monkeypatch.context() as patch:
        patch.setattr(subprocess, "Popen", note)
        twice.until(lambda: len(starts) == 3)
    first, second, third = starts
    assert second - first >= 0.5
    assert third - second >= 1.0
    assert (heads(run), heads(run, of="losses")) == (["queued"], [2])


def test_none_is_started_once_they_are_told_to_end(twice: Twice) -> None:
    twice.run("slow")
    twice.carriers.ask_to_end()
    twice.carriers.look(NEVER)
    assert twice.carriers.running() == []


def carry_by_hand(run: str) -> tuple[int, str]:
    ended = subprocess.run(
        [sys.executable, MANAGE, "carry", run], capture_output=True, text=True, check=False
    )
    return ended.returncode, ended.stderr.strip()


def test_who_comes_second_ends_quietly_and_what_is_no_run_is_one_line(twice: Twice) -> None:
    run = twice.run("quick")
    Run.objects.filter(id=run).update(status="answered")
    code, said = carry_by_hand(str(run))
    assert (code, "not carried here" in said) == (0, True)
    assert (heads(run, of="attempt"), Holder.objects.count()) == ([2], 0)
    code, said = carry_by_hand(str(UUID(int=7)))
    assert (code, said) == (1, f"CommandError: there is no run {UUID(int=7)}")
    code, said = carry_by_hand("seven")
    assert (code, said) == (1, "CommandError: run 'seven': it wants the id of a run")


GREEDY = """
from runs.carry import OOM_SCORE, die_alone
die_alone(400)
print(OOM_SCORE.read_text().strip(), flush=True)
kept = bytearray(300 << 20)
try:
    more = bytearray(300 << 20)
except MemoryError:
    print("refused")
"""


@pytest.mark.field("FL-21")
def test_it_is_the_first_to_die_for_want_of_memory_and_gets_no_more_than_it_may() -> None:
    """More than is there is refused to it alone; what is only reserved does not count."""
    program = f"import django; django.setup(){GREEDY}"
    env = {**os.environ, "DJANGO_SETTINGS_MODULE": "liyagent.settings"}
    ended = subprocess.run(
        [sys.executable, "-c", program], cwd=settings.BASE_DIR, env=env, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert ended.stdout.split() == ["1000", "refused"], ended.stderr


def test_a_carrier_outlives_a_parent_that_died(twice: Twice) -> None:
    run = twice.run("slow")
    parent = (
        "import django; django.setup()\n"
        "from threading import Event\nimport time\n"
        "from runs.carriers import Carriers\n"
        "Carriers().look(Event())\ntime.sleep(60)"
    )
    env = {**os.environ, "DJANGO_SETTINGS_MODULE": "liyagent.settings"}
    started = subprocess.Popen([sys.executable, "-c", parent], cwd=settings.BASE_DIR, env=env)
    try:
        twice.until(lambda: heads(run) == ["running"], looks=False)
    finally:
        started.kill()
        started.wait()
    carrier = psutil.Process(Holder.objects.get().pid)
    time.sleep(0.1)
    assert carrier.is_running()
    carrier.terminate()
    twice.until(lambda: heads(run) == ["queued"], looks=False)
    assert (heads(run, of="losses"), heads(run, of="handovers")) == ([2], [1])
