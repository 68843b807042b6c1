"""Many runs on the process that dies, and a model endpoint that answers no more than ten calls a second.

All of them are resumed together by the survivor, which meets 429 then: that costs time, and no run.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections import Counter, deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID, uuid4

import httpx2
import pytest
import yaml

from liyagent.demo.judge import judge, read_requests
from liyagent.providers.script import parse_script
from tests.fakes.model_server import Answer, ModelServer, Turn, from_script
from tests.processes.place import LOOKS_DUE, WRITES, Place
from tests.processes.test_outages import assert_kept
from tests.trials.scripts import AGENTS, READS
from tests.trials.trial import ledgers
from tests.trials.watch import run_shown, write_shown

pytestmark = [pytest.mark.timeout(600)]

# 60 are what is promised; fewer unless `BUSY_RUNS` asks for them.
RUNS = int(os.environ.get("BUSY_RUNS", "15"))
MOST_A_SECOND = 10
THINKING_SECONDS = 0.3
PATIENCE_SECONDS = 120.0
ASKED = (
    "UPDATE agents_agent SET provider = 'openai', base_url = %s WHERE key = ANY(%s) RETURNING id"
)
AS_BEFORE = (
    "UPDATE agents_agent SET provider = 'scripted', base_url = '' WHERE key = ANY(%s) RETURNING id"
)
RUNNING = "SELECT count(*)::int AS n FROM runs_run WHERE id = ANY(%s) AND status = 'running' AND holder = ANY(%s)"
MARKED = "SELECT count(*)::int AS n FROM runs_call WHERE run_id = ANY(%s)"
RESUMED = "SELECT count(*)::int AS n FROM audit_auditrow WHERE action = 'agent.run.crash_resumed' AND run_id = ANY(%s)"
KINDS = {AGENTS[kind]: kind for kind in WRITES}


@dataclass(slots=True)
class Busy:
    """Answers so many calls in any second, and 429 with `Retry-After` beyond them; none before it is `open`."""

    scripts: dict[str, Answer]
    open: threading.Event = field(default_factory=threading.Event)
    refused: int = 0
    answered: int = 0
    _lately: deque[float] = field(default_factory=deque)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __call__(self, body: dict[str, Any]) -> Turn:
        """Answer a request, or refuse it."""
        self.open.wait(PATIENCE_SECONDS)
        with self._lock:
            now = time.monotonic()
            while self._lately and self._lately[0] <= now - 1:
                self._lately.popleft()
            if len(self._lately) >= MOST_A_SECOND:
                self.refused += 1
                return Turn(status=429, text="too many requests", headers={"Retry-After": "1"})
            self._lately.append(now)
            self.answered += 1
        return self.scripts[body["model"]](body)


def script_of(kind: str) -> Answer:
    """What the model of a kind of agent says: it looks, writes twice, and answers. Its task is the marker of its writes."""
    tool, named, more = WRITES[kind]
    steps: list[dict[str, Any]] = [{"text": "I look first.", "calls": [{"tool": READS[kind]}]}]
    for number in (1, 2):
        args = {**more, named: f"disk 91% [{{{{ task }}}}/{number}]"}
        steps.append({"text": "I file it.", "calls": [{"tool": tool, "args": args}]})
    steps.append({"text": "All is filed."})
    text = yaml.safe_dump({"steps": [{"delay": THINKING_SECONDS, **it} for it in steps]})
    return from_script(parse_script(text, name=kind))


@pytest.fixture
def busy(place: Place) -> Iterator[Busy]:
    """The demo's agents ask an endpoint of ours, as long as the test lasts."""
    busy = Busy({agent: script_of(kind) for agent, kind in KINDS.items()})
    with ModelServer(busy) as endpoint:
        place.watch.rows(ASKED, [endpoint.base_url, list(KINDS)])
        yield busy
        busy.open.set()
    place.watch.rows(AS_BEFORE, [list(KINDS)])


def start_at_a(place: Place) -> dict[UUID, str]:
    """Start the runs while B is not there; return the task of each."""
    place.stage.signal("B", signal.SIGKILL)
    place.stage.wait_gone("B")
    headers = {"Authorization": f"Bearer {place.stage.token}"}
    started: dict[UUID, str] = {}
    with httpx2.Client(base_url=place.stage.url("A"), headers=headers, timeout=30) as client:
        for number in range(RUNS):
            task = str(uuid4())
            path = f"/api/agents/{list(KINDS)[number % len(KINDS)]}/runs"
            answer = client.post(path, json={"task": task})
            assert answer.status_code == 202, answer.text
            started[UUID(answer.json()["id"])] = task
    return started


@pytest.mark.promise("CR-01")
@pytest.mark.promise("CR-13")
def test_many_runs_of_a_dead_process_and_a_busy_endpoint_cost_time_and_no_run(
    place: Place, busy: Busy
) -> None:
    started = start_at_a(place)
    runs = list(started)
    place.stage.start("B")
    place.stage.wait_ready("B")
    busy.open.set()
    place.until(
        lambda: place.one(MARKED, runs) > RUNS // 6, "some writes", seconds=PATIENCE_SECONDS
    )
    assert place.one(RUNNING, runs, place.holders("A")) == RUNS
    place.stage.signal("A", signal.SIGKILL)
    killed_at = time.monotonic()
    refused_before = busy.refused
    place.wait_for_ends(runs, seconds=300)
    took = time.monotonic() - killed_at

    heads = place.heads(runs)
    assert Counter(it["status"] for it in heads) == {"answered": RUNS}
    assert Counter((it["losses"], it["last_loss"]) for it in heads) == {(1, "proof"): RUNS}
    assert {it["holder"] for it in heads} <= {None, *place.holders("B")}
    assert place.one(RESUMED, runs) == RUNS
    requests = [it for it in read_requests(ledgers(place.stage)) if it.marker.partition("/")[0] in started.values()]  # fmt: skip
    place.until(lambda: place.one(LOOKS_DUE, runs) == 0, "the late looks")
    verdict = judge(
        runs=map(run_shown, heads), writes=map(write_shown, place.watch.calls(runs)), requests=requests,
    )  # fmt: skip
    assert_kept(verdict)
    place.check_chains(runs)
    assert busy.refused > refused_before
    print(  # noqa: T201 - what was measured
        f"{RUNS} runs in flight at the kill; all had ended {took:.1f} s later. The endpoint answered "
        f"{busy.answered} calls and refused {busy.refused}, {busy.refused - refused_before} of them after the kill"
    )
