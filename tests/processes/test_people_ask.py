"""What people ask, over the death of the process that carries it: playground, resume and co-pilot turns (CR-02, CR-05, CR-08)."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from typing import Any
from uuid import UUID

import httpx2
import pytest

from tests.processes.place import Place
from tests.processes.test_outages import assert_kept
from tests.trials.scripts import AGENTS

pytestmark = [pytest.mark.timeout(240)]

KEPT = "UPDATE agents_agent SET may_wait = %s, recording = %s WHERE key = %s RETURNING id"
AGENT = AGENTS["keyed"]
RESUMED = "SELECT count(*)::int AS n FROM audit_auditrow WHERE action = 'agent.run.crash_resumed' AND run_id = %s"


@pytest.fixture
def lasting(place: Place) -> Iterator[Place]:
    """Both processes alive, and the agent one that may wait and is recorded in full."""
    recording = place.one("SELECT recording FROM agents_agent WHERE key = %s", AGENT)
    place.watch.rows(KEPT, [True, "full", AGENT])
    yield place
    place.watch.rows(KEPT, [False, recording, AGENT])


def answer_of(place: Place, name: str, method: str, path: str, body: Any = None, **headers: str) -> httpx2.Response:  # fmt: skip
    """Ask a process."""
    named = {"Authorization": f"Bearer {place.stage.token}"}
    named |= {key.replace("_", "-"): value for key, value in headers.items()}
    with httpx2.Client(base_url=place.stage.url(name), headers=named, timeout=60) as client:
        return client.request(method, path, json=body)


def ask(place: Place, name: str, method: str, path: str, body: Any = None, **headers: str) -> Any:
    """Ask a process; give what it told, of a request that it took on."""
    answer = answer_of(place, name, method, path, body, **headers)
    assert answer.status_code in {200, 201, 202}, answer.text
    return answer.json()


def killed_in_a_write(place: Place, run: UUID) -> str:
    """Kill the process that carries it, whichever took it; return the survivor."""
    place.wait_for_requests("incident", [run])
    holder = place.one("SELECT holder AS n FROM runs_run WHERE id = %s", run)
    dies, lives = ("A", "B") if holder in place.holders("A") else ("B", "A")
    place.stage.signal(dies, signal.SIGKILL)
    return lives


def assert_answered_elsewhere(place: Place, run: UUID, *, at: str) -> str:
    """It went on from its last written step, each step told once; return its answer, as its transcript has it."""
    place.wait_for_ends([run], seconds=60)
    (head,) = place.heads([run])
    assert (head["status"], head["losses"]) == ("answered", 1)
    assert place.one(RESUMED, run) == 1
    place.check_chains([run])
    assert_kept(place.judged([run]))
    transcript = ask(place, at, "GET", f"/api/runs/{run}/transcript")
    assert transcript["answer"]
    return str(transcript["answer"])


@pytest.mark.promise("CR-02")
def test_a_run_of_the_playground_is_resumed_on_the_survivor_from_its_last_written_step(
    lasting: Place,
) -> None:
    place = lasting
    started = ask(
        place, "A", "POST", f"/api/agents/{AGENT}/playground", {"task": "File two things."}
    )
    run = UUID(started["id"])
    alive = killed_in_a_write(place, run)
    answer = assert_answered_elsewhere(place, run, at=alive)
    told = ask(place, alive, "GET", f"/api/runs/{run}")
    assert (told["entry"], told["answer"]) == ("playground", answer)


def stopped_on_its_way(place: Place) -> UUID:
    """A run that a person stopped after its first write; one that was quicker than the person is left as it is."""
    for _ in range(10):
        address = f"/api/agents/{AGENT}/playground"
        run = UUID(ask(place, "B", "POST", address, {"task": "File two things."})["id"])
        place.wait_for_requests("incident", [run])
        answer_of(place, "B", "POST", f"/api/runs/{run}/stop", {"reason": "not like this"})
        place.wait_for_ends([run])
        if place.heads([run])[0]["status"] == "stopped":
            return run
    raise AssertionError("each of ten runs was quicker than its Stop")


@pytest.mark.promise("CR-02")
def test_a_resume_is_resumed_on_the_survivor_from_its_last_written_step(lasting: Place) -> None:
    place = lasting
    first = stopped_on_its_way(place)
    address, body = f"/api/runs/{first}/resume", {"word": "Go on."}
    second = UUID(ask(place, "A", "POST", address, body, idempotency_key=f"on-{first}")["id"])
    alive = killed_in_a_write(place, second)
    again = ask(place, alive, "POST", address, body, idempotency_key=f"on-{first}")
    assert again["id"] == str(second)
    assert_answered_elsewhere(place, second, at=alive)
    assert ask(place, alive, "GET", f"/api/runs/{second}")["continues"] == str(first)
    assert ask(place, alive, "GET", f"/api/runs/{first}")["continued_by"] == [str(second)]


@pytest.mark.promise("CR-05")
@pytest.mark.promise("CR-08")
def test_a_turn_whose_process_is_killed_is_answered_by_the_other_and_the_next_knows_of_it(
    lasting: Place,
) -> None:
    place = lasting
    begun = ask(place, "A", "POST", "/api/copilot/conversations", {"agent": AGENT})
    one = f"/api/copilot/conversations/{begun['id']}"
    body, key = {"task": "File two things."}, {"idempotency_key": "turn-1"}
    turn = ask(place, "A", "POST", f"{one}/turns", body, **key)
    run = UUID(turn["run_id"])
    alive = killed_in_a_write(place, run)
    assert ask(place, alive, "POST", f"{one}/turns", body, **key)["run_id"] == str(run)
    answer = assert_answered_elsewhere(place, run, at=alive)
    again = ask(place, alive, "POST", f"{one}/turns", body, **key)
    assert (again["run_id"], again["answer"]) == (str(run), answer)
    (told,) = ask(place, alive, "GET", one)["turns_told"]
    assert (told["status"], told["answer"]) == ("answered", answer)
    second = ask(place, alive, "POST", f"{one}/turns?wait=60", {"task": "And two more."})
    assert (second["number"], second["given"], second["status"]) == (2, 1, "answered")
