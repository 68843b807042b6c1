"""Decided while every process that carries runs is dead: nothing waits on what was in one of them (FL-51)."""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from uuid import UUID

import httpx2
import pytest

from liyagent.demo.vendors.process import ROOT, free_port
from liyagent.launcher.service import Service
from tests.processes.asking import ROUNDS, Asking, Request, asking, tokens
from tests.processes.decided import Outcome, assert_decided_once
from tests.processes.place import Place, make_whole
from tests.processes.test_waiting_for_people import STAND

__all__ = ["asking", "tokens"]

# The first test of this file waits for all that is set up.
pytestmark = [pytest.mark.timeout(180 + 2 * ROUNDS)]

WHOLE_ROUNDS = 1 + ROUNDS // 50
AT_THE_SHELL = 1
BY_HAND = {"args": {"short_description": "CHG-9"}, "agent": "triage-blind"}
CLOSE = "servicenow/close_change"


def kill_all(place: Place) -> None:
    """Kill A and B at once."""
    for name in ("A", "B"):
        place.stage.signal(name, signal.SIGKILL)
    for name in ("A", "B"):
        place.stage.wait_gone(name)


def at_the_shell(place: Place, request: Request) -> Outcome:
    """Approve by a command."""
    said = place.stage.manage(
        "approvals", "approve", str(request.id), "--reason=looks right", "--user=xena"
    )
    assert said.endswith("is approved")
    return Outcome(request=request, status="approved", by="xena")


@contextmanager
def web_alone(place: Place) -> Iterator[str]:
    """A fresh process that answers over HTTP and carries nothing; killed as the block ends. Give its address."""
    port = free_port()
    web = Service(
        name="web",
        command=[
            *(sys.executable, "-m", "uvicorn", "liyagent.asgi:application"),
            *("--port", str(port), "--lifespan", "off"),
        ],
        log=place.stage.logs / "web.log",
        env={**place.stage.env, "DJANGO_SETTINGS_MODULE": "liyagent.settings"},
        cwd=ROOT,
    )
    web.start()
    url = f"http://127.0.0.1:{port}"
    try:
        place.until(lambda: _is_live(url), "the web process")
        yield url
    finally:
        web.end()


def _is_live(url: str) -> bool:
    try:
        return httpx2.get(f"{url}/health/live", timeout=2).status_code == 200
    except httpx2.HTTPError:
        return False


def over_http(url: str, asking: Asking, requests: Sequence[Request]) -> list[Outcome]:
    """Approve three of four, and reject the fourth."""
    outcomes = []
    with httpx2.Client(base_url=url, timeout=30) as client:
        for number, request in enumerate(requests):
            verb, status, by, reason = (
                ("reject", "rejected", "yuri", "wrong host")
                if number % 4 == 3
                else ("approve", "approved", "xena", "looks right")
            )
            answer = client.post(
                f"/api/approvals/{request.id}/{verb}",
                json={"reason": reason, "digest": request.digest},
                headers={"Authorization": f"Bearer {asking.tokens[by]}"},
            )
            assert (answer.status_code, answer.json()["status"]) == (200, status)
            outcomes.append(Outcome(request=request, status=status, by=by))
    return outcomes


@pytest.mark.promise("CR-02")
@pytest.mark.promise("CR-29")
@pytest.mark.field("FL-51")
def test_what_is_decided_while_both_processes_are_down_is_done_once_by_the_next_that_starts(
    asking: Asking,
) -> None:
    """The first few at the shell, all others by a web process that is dead, too, when A starts."""
    place, requests = asking.place, asking.ask(ROUNDS)
    runs = [it.run for it in requests]
    kill_all(place)
    assert_asleep(place, runs)
    began = time.monotonic()
    outcomes = [at_the_shell(place, it) for it in requests[:AT_THE_SHELL]]
    with web_alone(place) as url:
        outcomes += over_http(url, asking, requests[AT_THE_SHELL:])
    decided_at = time.monotonic()
    queued = {it["status"]: it["n"] for it in place.watch.rows(STAND, [runs])}
    assert (queued, sum(place.effects(runs).values())) == ({"queued": ROUNDS}, 0)
    # With the lease of real use: all wait for the one process that begins, and a short one would measure how busy it is.
    lease = place.stage.env["LIYAGENT_LEASE_SECONDS"]
    place.stage.env["LIYAGENT_LEASE_SECONDS"] = "8"
    try:
        place.stage.start("A")
    finally:
        place.stage.env["LIYAGENT_LEASE_SECONDS"] = lease
    place.stage.wait_ready("A")
    assert_decided_once(place, outcomes)
    assert {(it["losses"], it["attempt"]) for it in place.heads(runs)} == {(0, 2)}
    print(  # noqa: T201 - the figures of this test
        f"decided while both are down: {ROUNDS} rounds, decided in {decided_at - began:.1f} s,"
        f" started and ended in {time.monotonic() - decided_at:.1f} s"
    )


@pytest.mark.promise("CR-29")
@pytest.mark.field("FL-51")
def test_round_after_round_both_are_killed_it_is_approved_and_one_is_started(
    asking: Asking,
) -> None:
    """The very case: `servicenow/close_change` waits, both processes are killed, a third decides, A is started."""
    place, began = asking.place, time.monotonic()
    for number in range(WHOLE_ROUNDS):
        make_whole(place.stage)
        asking.say(
            CLOSE, {"change_id": filed_change(place), "close_notes": "disk 91% [{{ run }}/1]"}
        )
        requests = asking.ask(2)
        kill_all(place)
        assert_asleep(place, [it.run for it in requests])
        if number % 2:
            outcomes = [at_the_shell(place, it) for it in requests]
        else:
            with web_alone(place) as url:
                outcomes = over_http(url, asking, requests)
        place.stage.start("A")
        place.stage.wait_ready("A")
        assert_decided_once(place, outcomes)
    print(  # noqa: T201 - the figures of this test
        f"killed, decided, started: {WHOLE_ROUNDS} rounds in {time.monotonic() - began:.1f} s"
    )


def assert_asleep(place: Place, runs: Sequence[UUID]) -> None:
    """All wait, and nobody has them."""
    asleep = {"status": "waiting", "attempt": 1, "losses": 0, "is_free": True, "n": len(runs)}
    assert place.watch.rows(STAND, [list(runs)]) == [asleep]


def filed_change(place: Place) -> str:
    """A change that is there to be closed, filed by hand as an agent that may."""
    answer = httpx2.post(
        f"{place.stage.url('A')}/api/tools/servicenow/create_change/call",
        json=BY_HAND,
        headers={"Authorization": f"Bearer {place.stage.token}"},
        timeout=30,
    )
    assert (answer.status_code, answer.json()["fate"]) == (200, "done")
    return str(answer.json()["result"]["id"])
