"""Processes that die while they tell of approvals: what was not marked is told again, with the same id and words."""

from __future__ import annotations

import base64
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

import psutil
import pytest

from liyagent.approvals.models import Notice
from tests.fakes.webhook_receiver import Received, Receiver
from tests.unit.approvals.conftest import held, server, world
from tests.unit.approvals.telling import SECRET, deliver, notices, tell
from tests.unit.runs.carrying.conftest import World, calls, says

__all__ = ["held", "server", "world"]

pytestmark = [pytest.mark.timeout(180)]
ROOT = Path(__file__).resolve().parents[2]
DELIVER = """
import django
django.setup()
from liyagent.approvals.deliver import deliver_due
deliver_due(give_up=lambda: False)
"""
LEASE_OVER = (
    "UPDATE approvals_notice SET claimed_until = liyagent_now() WHERE claimed_until IS NOT NULL"
)


def environment(url: str) -> dict[str, str]:
    """What a process is told of the channel."""
    secret = base64.b64encode(SECRET).decode()
    return {
        **os.environ,
        "DJANGO_SETTINGS_MODULE": "liyagent.settings",
        "LIYAGENT_APPROVAL_WEBHOOK_URL": url,
        "LIYAGENT_APPROVAL_WEBHOOK_SECRETS": f"whsec_{secret}",
        "LIYAGENT_ALLOWED_PRIVATE_HOSTS": "127.0.0.1",
        "LIYAGENT_ALLOW_UNSAFE_DURABILITY": "true",
        "LIYAGENT_SWEEP_SECONDS": "0.2",
    }


@contextmanager
def started(url: str, *command: str) -> Iterator[psutil.Process]:
    """A process of ours, with this channel."""
    child = subprocess.Popen([sys.executable, *command], env=environment(url), cwd=ROOT)
    try:
        yield psutil.Process(child.pid)
    finally:
        child.kill()
        child.wait()


def until(holds: Callable[[], bool], what: str, *, seconds: float = 60) -> None:
    """Return once it holds."""
    give_up = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < give_up, f"{what}: not within {seconds} s"
        time.sleep(0.02)


@pytest.fixture
def asked(held: World) -> World:
    """A request waits, and nobody was told."""
    held.start(calls(("v/keyed", {"n": 1})), says("done"))
    held.process().carry()
    return held


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with Receiver() as receiver:
        yield receiver


def test_one_that_dies_between_claim_and_send_leaves_a_notice_that_is_told(
    asked: World, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is killed while the connection is made: TLS is never answered, so no byte of the notice leaves."""
    with closing(socket.create_server(("127.0.0.1", 0))) as silent:
        silent.settimeout(60)
        url = f"https://127.0.0.1:{silent.getsockname()[1]}/approvals"
        with started(url, "-c", DELIVER) as dying:
            connection, _ = silent.accept()
            dying.kill()
            dying.wait(10)
            with connection:
                assert b"webhook-id" not in connection.recv(65_536)
    claimed = Notice.objects.get()
    assert (claimed.state, claimed.attempts) == ("pending", 1)
    tell(receiver, monkeypatch)
    assert deliver() == 0
    asked.sql(LEASE_OVER)
    assert deliver() == 1
    assert receiver.ids() == [str(claimed.webhook_id)]
    assert notices() == [("filed", "delivered")]


def test_one_that_dies_between_send_and_mark_leads_to_a_second_with_the_same_id(
    asked: World, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The receiver has read all of it when its sender is killed."""
    with ExitStack() as stack:
        children: list[psutil.Process] = []
        receiver.on_request = lambda _request: children.pop().kill()
        children.append(stack.enter_context(started(receiver.url, "-c", DELIVER)))
        dying = children[0]
        dying.wait(60)
    receiver.on_request = lambda _request: None
    assert len(receiver.received) == 1
    assert (Notice.objects.get().state, Notice.objects.get().attempts) == ("pending", 1)
    tell(receiver, monkeypatch)
    assert deliver() == 0
    asked.sql(LEASE_OVER)
    assert deliver() == 1
    first, second = receiver.received
    assert (first.webhook_id, first.body) == (second.webhook_id, second.body)
    assert notices() == [("filed", "delivered")]


def test_of_two_app_processes_the_other_tells_what_the_killed_one_had_claimed(
    asked: World, receiver: Receiver
) -> None:
    with ExitStack() as stack:
        processes: list[psutil.Process] = []

        def kill_its_sender(request: Received) -> None:
            receiver.on_request = lambda _request: None
            for it in processes:
                if any(end.laddr.port == request.port for end in it.net_connections()):
                    it.kill()
                    it.wait(10)

        receiver.on_request = kill_its_sender
        for _ in range(2):
            serve = ("manage.py", "serve", "--no-cluster", "--port", str(free_port()))
            processes.append(stack.enter_context(started(receiver.url, *serve)))
        until(lambda: len(receiver.received) == 1, "the first notice")
        until(lambda: sum(it.is_running() for it in processes) == 1, "a death")
        assert notices() == [("filed", "pending")]
        asked.sql(LEASE_OVER)
        until(lambda: notices() == [("filed", "delivered")], "the second sending")
        asked.sql("UPDATE approvals_approval SET remind_at = liyagent_now()")
        until(lambda: notices()[1:] == [("reminder", "delivered")], "the reminder")
        survivor = next(it for it in processes if it.is_running())
        survivor.terminate()
        survivor.wait(30)
    assert receiver.types() == ["approval.filed", "approval.filed", "approval.reminder"]
    assert receiver.ids()[0] == receiver.ids()[1] != receiver.ids()[2]


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
