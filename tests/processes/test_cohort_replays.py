"""A cohort replay on two real processes: one is killed in the middle of it, the next drains in the middle of it, and it comes out whole."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

import httpx2
import pytest
import yaml

from tests.processes.place import WRITES_A_RUN, Place
from tests.trials.scripts import AGENTS, READS

pytestmark = [pytest.mark.timeout(240)]
AGENT, MODEL, KIND = AGENTS["keyed"], "slow-keyed", "keyed"
# More than are replayed side by side: results come in waves.
RUNS, SECONDS_A_STEP = 20, 0.4
IN_FULL = "UPDATE agents_agent SET recording = 'full' WHERE key = %s RETURNING id"
HAS_IT = "SELECT h.pid FROM leases_holder h JOIN jobs_job j ON j.claimed_by = h.id WHERE j.id = %s"
RESULTS = "SELECT count(*)::int AS n FROM replays_replayed WHERE cohort_id = %s"
JOB = "SELECT status, attempt, losses, done FROM jobs_job WHERE id = %s"


def write_slow_script(place: Place) -> None:
    """The other model looks and writes as the first one does, more slowly."""
    # Written out one by one: a script has no aliases.
    steps = [
        {"delay": SECONDS_A_STEP, "text": "I look first.", "calls": [{"tool": READS[KIND]}]},
        *(
            {"delay": SECONDS_A_STEP, "text": "I file it.", "calls": [{"tool": "incident/create_incident", "args": {"name": f"disk {number}"}}]}
            for number in range(WRITES_A_RUN)
        ),
        {"delay": SECONDS_A_STEP, "text": "All is filed."},
    ]  # fmt: skip
    scripts = Path(place.stage.env["LIYAGENT_SCRIPTS_DIR"])
    (scripts / f"{MODEL}.yaml").write_text(yaml.safe_dump({"steps": steps}))


def api(place: Place, name: str) -> httpx2.Client:
    headers = {"Authorization": f"Bearer {place.stage.token}"}
    return httpx2.Client(base_url=place.stage.url(name), headers=headers, timeout=10)


def who_has(place: Place, job: str) -> str:
    """The process that carries it now, "" where none does."""
    pids = {it["pid"] for it in place.watch.rows(HAS_IT, [job])}
    return next((name for name in ("A", "B") if place.stage.processes[name].pid in pids), "")


def job_row(place: Place, job: str) -> dict[str, Any]:
    (row,) = place.watch.rows(JOB, [job])
    return dict(row)


@pytest.mark.promise("RP-04")
@pytest.mark.promise("RP-05")
def test_it_survives_a_kill_and_a_drain_and_each_run_is_replayed_once(place: Place) -> None:
    write_slow_script(place)
    place.watch.rows(IN_FULL, [AGENT])
    runs = place.start_runs(*[KIND] * RUNS)
    place.wait_for_ends(runs, seconds=60)
    effects = place.effects(runs)
    body = {"override": {"model": MODEL}, "runs": [str(it) for it in runs]}
    with api(place, "A") as client:
        asked = client.post(f"/api/agents/{AGENT}/cohort-replays", json=body)
    assert asked.status_code == 202, asked.text
    replay, job = asked.json()["id"], asked.json()["job"]

    def results() -> int:
        return int(place.one(RESULTS, replay))

    place.until(lambda: results() > 0, "a first result", seconds=60)
    first = who_has(place, job)
    place.stage.signal(first, signal.SIGKILL)
    place.stage.wait_gone(first)
    had = results()
    assert 0 < had < RUNS
    place.until(lambda: results() > had, "a result of the other process", seconds=60)
    second = who_has(place, job)
    assert second not in ("", first)
    place.stage.start(first)
    place.stage.wait_ready(first)
    place.stage.signal(second, signal.SIGTERM)
    place.until(lambda: who_has(place, job) != second, "that it is handed back", seconds=10)
    place.stage.wait_gone(second)
    place.until(lambda: job_row(place, job)["status"] == "done", "the verdict", seconds=90)
    with api(place, first) as client:
        told = client.get(f"/api/cohort-replays/{replay}").json()
    assert (told["status"], told["verdict"], told["verified"]) == ("done", "changed", True)
    assert sorted(it["run"] for it in told["results"]) == sorted(map(str, runs))
    assert {it["status"] for it in told["results"]} == {"answered"}
    row = job_row(place, job)
    assert (row["losses"], row["done"], row["attempt"] >= 2) == (1, RUNS, True)
    assert place.effects(runs) == effects, "no vendor heard of it"
    place.check_chains(runs)
