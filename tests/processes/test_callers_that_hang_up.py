"""A caller that waits for its run and gives up: what the run asked stays open, and its answer is there later (FL-58).

The waits of the case, five and ten seconds, are scaled down (ruling 38).
"""

from __future__ import annotations

import json
import socket
import struct
import time
from collections.abc import Callable
from contextlib import closing
from uuid import UUID, uuid4

import httpx2
import pytest

from tests.flows.serving import Stream
from tests.processes.asking import KIND, Asking, asking, tokens
from tests.processes.decided import Outcome, assert_decided_once, shown
from tests.processes.place import Place
from tests.processes.racing import Decision, Shot, address
from tests.trials.scripts import AGENTS

__all__ = ["asking", "tokens"]

# The first test of this file waits for all that is set up.
pytestmark = [pytest.mark.timeout(180)]

DEADLINE_SECONDS = 0.5
START = f"/api/agents/{AGENTS[KIND]}/runs"
BODY = {"task": "File it."}
# With this a close sends a reset, as of a caller that dies.
RESET = struct.pack("ii", 1, 0)
STARTED = "SELECT run_id FROM runs_startkey WHERE key = %s"
OPEN = "SELECT status, decided_by FROM approvals_approval WHERE run_id = %s"
ASKED = """
    SELECT count(*)::int AS n FROM runs_startkey k JOIN approvals_approval a ON a.run_id = k.run_id WHERE k.key = %s
"""


def wait_until_asked(place: Place, key: str) -> None:
    """Return once the run that was started under this key has asked."""
    place.until(lambda: place.one(ASKED, key) == 1, "the request", seconds=60)


def _client(place: Place, key: str) -> httpx2.Client:
    headers = {"Authorization": f"Bearer {place.stage.token}", "Idempotency-Key": key}
    return httpx2.Client(base_url=place.stage.url("A"), headers=headers, timeout=30)


def hangs_up(place: Place, key: str, *, with_reset: bool = False) -> None:
    """Wait for the end, and close the connection meanwhile."""
    host, port = address(place, "A")
    body = json.dumps(BODY)
    with socket.create_connection((host, port), timeout=30) as caller:
        caller.sendall(
            f"POST {START}?wait=60 HTTP/1.1\r\nHost: {host}\r\nIdempotency-Key: {key}\r\n"
            f"Authorization: Bearer {place.stage.token}\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(body)}\r\n\r\n{body}".encode()
        )
        wait_until_asked(place, key)
        caller.settimeout(DEADLINE_SECONDS)
        with pytest.raises(TimeoutError):
            caller.recv(1)
        if with_reset:
            caller.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)


def dies(place: Place, key: str) -> None:
    """As who hangs up, but without a word: the connection is reset."""
    hangs_up(place, key, with_reset=True)


def waits_in_vain(place: Place, key: str) -> None:
    """Ask for an answer within a time, twice, and be told that there is none yet."""
    with _client(place, key) as client:
        for _ in range(2):
            answer = client.post(f"{START}?wait={DEADLINE_SECONDS}", json=BODY)
            assert (answer.status_code, answer.json()["status"]) == (202, "queued")
            wait_until_asked(place, key)


def polls_to_a_deadline(place: Place, key: str) -> None:
    """Ask again and again how the run stands, and stop."""
    with _client(place, key) as client:
        url = client.post(START, json=BODY).json()["url"]
        wait_until_asked(place, key)
        give_up = time.monotonic() + DEADLINE_SECONDS
        while time.monotonic() < give_up:
            told = client.get(url).json()
            assert told["status"] in {"queued", "running", "waiting"}
            time.sleep(0.05)


def listens(place: Place, key: str) -> None:
    """Hear that something waits for a person, and hear no more."""
    with _client(place, key) as client:
        url = client.post(START, json=BODY).json()["url"]
    _, port = address(place, "A")
    with closing(Stream(port=port, token=place.stage.token)) as listening:
        assert listening.open(f"{url}/stream") == 200
        for it in listening.blocks():
            if it.event == "approval.requested":
                return


CALLERS = (hangs_up, dies, waits_in_vain, polls_to_a_deadline, listens)


@pytest.mark.promise("CR-02")
@pytest.mark.field("FL-58")
@pytest.mark.parametrize("caller", CALLERS)
def test_a_caller_that_gives_up_decides_nothing_and_finds_its_answer_later(
    asking: Asking, caller: Callable[[Place, str], None]
) -> None:
    """It called at A; it is approved at B, after the caller is gone."""
    place, key = asking.place, str(uuid4())
    asking.hold()
    caller(place, key)
    run = UUID(str(place.one(STARTED, key)))
    (request,) = asking.filed([run])
    gone_at = time.monotonic()
    place.until(lambda: time.monotonic() > gone_at + DEADLINE_SECONDS, "a while")
    assert place.watch.rows(OPEN, [run]) == [{"status": "pending", "decided_by": ""}]
    assert [it["status"] for it in place.heads([run])] == ["waiting"]
    shot = Shot(Decision(request=request, at="B", by="xena"), asking)
    shot.fire()
    assert shot.answer().status == 200
    assert_decided_once(place, [Outcome(request=request, status="approved", by="xena")])
    kept = shown(place, run, at="B", what="/transcript")
    assert kept["is_complete"]
    assert "disk 91%" in kept["answer"]
    assert [it["role"] for it in kept["messages"]][-2:] == ["tool", "assistant"]
    with _client(place, key) as client:
        again = client.post(f"{START}?wait=5", json=BODY)
    assert (again.status_code, again.json()["id"]) == (200, str(run))
    assert again.json()["answer"] == kept["answer"]
