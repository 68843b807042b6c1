"""Sealing keys are rotated while runs are on their way and one process still has the old ring (ruling 16, FL-41)."""

from __future__ import annotations

import os
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from liyagent.core.conf import new_seal_key
from liyagent.launcher.ephemeral import DATABASE
from tests.memory import place_in_memory
from tests.processes.place import Place, open_place

KINDS = ("keyed", "readable", "blind")
KEYS = "LIYAGENT_SEAL_KEYS"


@pytest.fixture(scope="module")
def rotating() -> Iterator[Place]:
    """A place of its own: its ring is changed for good."""
    with (
        tempfile.TemporaryDirectory(
            prefix="liyagent-rotation-", dir=place_in_memory()
        ) as directory,
        open_place(
            Path(directory), urls=lambda cluster, _stack: {"DATABASE_URL": cluster.url(DATABASE)}
        ) as place,
    ):
        yield place


def restart(place: Place, *names: str) -> None:
    """End each by SIGTERM, start it with the ring as it is now, wait until it serves."""
    for name in names:
        os.kill(place.stage.pid(name), signal.SIGTERM)
        place.stage.wait_gone(name)
        place.stage.start(name)
        place.stage.wait_ready(name)


def answers(place: Place, name: str) -> list[int]:
    """What a process answers to the pages that name runs."""
    headers = {"Authorization": f"Bearer {place.stage.token}"}
    with httpx2.Client(base_url=place.stage.url(name), headers=headers, timeout=10) as client:
        listed = client.get("/api/runs?limit=100")
        each = [client.get(f"/api/runs/{it['id']}").status_code for it in listed.json()["runs"]]
    return [listed.status_code, *each]


@pytest.mark.field("FL-41")
@pytest.mark.timeout(150)
def test_keys_are_rotated_with_thirty_runs_in_flight_and_a_process_on_the_old_ring(
    rotating: Place,
) -> None:
    place = rotating
    old = place.stage.env[KEYS]
    new = new_seal_key()
    place.stage.set_pace(150)
    runs = place.start_runs(*KINDS * 5)
    place.stage.env[KEYS] = f"{new},{old}"
    restart(place, "A")  # B carries on with the old ring, and takes what A hands over
    runs += place.start_runs(*KINDS * 5, at="A")
    assert len(runs) == 30
    assert set(answers(place, "A")) == set(answers(place, "B")) == {200}
    with pytest.raises(Exception, match="does not know key"):
        place.stage.manage("seals", "reseal")
    place.stage.set_pace(25)
    place.wait_for_ends(runs, seconds=60)
    assert {it["status"] for it in place.heads(runs)} == {"answered"}
    verdict = place.judged(runs)
    assert (verdict.lost, verdict.duplicates, verdict.missing) == ((), (), ())
    assert (
        place.one("SELECT count(DISTINCT key_id)::int FROM runs_run WHERE id = ANY(%s)", runs) == 2
    )
    restart(place, "B")
    place.stage.manage("seals", "reseal")
    place.stage.env[KEYS] = new
    restart(place, "A")
    assert set(answers(place, "A")) == {200}
    assert (
        place.one("SELECT count(*)::int FROM runs_run WHERE key_id <> %s", new.partition(":")[0])
        == 0
    )


@pytest.mark.field("FL-41")
@pytest.mark.timeout(120)
def test_a_retired_key_with_one_row_left_pauses_that_run_alone(rotating: Place) -> None:
    place = rotating
    old = place.stage.env[KEYS]
    new = new_seal_key()
    place.stage.set_pace(400)
    (left,) = place.start_runs("keyed")
    place.wait_for_requests("incident", [left])
    place.stage.env[KEYS] = new
    for name in ("A", "B"):
        place.stage.signal(name, signal.SIGKILL)
        place.stage.wait_gone(name)
    place.stage.start("A")
    place.stage.wait_ready("A")
    place.stage.set_pace(25)
    place.until(lambda: place.heads([left])[0]["status"] == "paused", "the run is paused")
    others = place.start_runs(*KINDS)
    place.wait_for_ends(others)
    assert {it["status"] for it in place.heads(others)} == {"answered"}
    assert set(answers(place, "A")) == {200}
    assert place.heads([left])[0]["status"] == "paused"
    place.stage.env[KEYS] = f"{new},{old}"
    restart(place, "A")
    place.wait_for_ends([left])
    assert place.heads([left])[0]["status"] == "answered"
    verdict = place.judged([left, *others])
    assert (verdict.lost, verdict.duplicates, verdict.missing) == ((), (), ())
