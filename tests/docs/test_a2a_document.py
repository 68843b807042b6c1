"""`docs/a2a.md`, typed as it stands, by a shell with curl."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from runs.stream import LOOKOUT
from tests.docs.walk import Shell, commands_of
from tests.flows.carrying import carrying
from tests.flows.conftest import make_user
from tests.flows.serving import serving
from tests.unit.runs.carrying import conftest as world_of
from tests.unit.runs.carrying.conftest import World, calls, says

world = world_of.world
HOLD = "UPDATE agents_agent SET write_posture = 'hold', may_wait = true"
BASE = "http://127.0.0.1:8000"


@pytest.fixture
def base(world: World) -> Iterator[str]:
    """Where the application is served."""
    make_user("ann", "agents.operate")
    with serving() as port:
        yield f"http://127.0.0.1:{port}"


def typed(line: str, base: str, **known: str) -> str:
    """What a shell prints for a line."""
    done = subprocess.run(
        ["/bin/bash", "-c", line.replace(BASE, base)],
        env={"PATH": "/usr/bin:/bin", **known},
        capture_output=True,
        text=True,
        timeout=30,
        check=True,
    )
    return done.stdout


def test_each_line_of_the_document_does_what_it_says(
    world: World, base: str, tmp_path: Path
) -> None:
    world.model.steps = [says("it is full")]
    create, card, send, old, stream, *later = commands_of("a2a.md")
    shell = Shell(places={})
    shell.type(create)
    key = next(it for it in shell.said[create].split() if it.startswith("liy_"))
    assert json.loads(typed(card, base))["url"] == f"{base}/a2a/triage"
    with carrying():
        done = json.loads(typed(send, base, KEY=key))["result"]["task"]
        assert done["artifacts"][0]["parts"] == [{"text": "it is full"}]
        assert json.loads(typed(old, base, KEY=key))["result"]["kind"] == "task"
        assert '"text":"it is full"' in typed(stream, base, KEY=key)
    world.sql(HOLD)
    world.model.steps = [calls(("v/keyed", {"name": "x"})), says("done")]
    second = json.loads(typed(old.replace("4712", "4714"), base, KEY=key))["result"]["id"]
    listed, get, subscribe, cancel, push, pushes = later
    assert len(json.loads(typed(listed, base, KEY=key))["result"]["tasks"]) == 4
    told = json.loads(typed(get, base, KEY=key, TASK=second))["result"]
    assert (told["status"]["state"], len(told["history"])) == ("TASK_STATE_SUBMITTED", 1)
    set_one = json.loads(typed(push, base, KEY=key, TASK=second))["result"]
    assert set_one["url"] == "https://agents.example.com/told"
    assert json.loads(typed(pushes, base, KEY=key, TASK=second))["result"]["configs"] == [set_one]
    with carrying(), ThreadPoolExecutor(1) as pool:
        listening = pool.submit(typed, subscribe, base, KEY=key, TASK=second)
        until = time.monotonic() + 20
        while not LOOKOUT.watched:
            assert time.monotonic() < until
            time.sleep(0.02)
        stopped = json.loads(typed(cancel, base, KEY=key, TASK=second))["result"]
        assert (stopped["id"], stopped["status"]["state"]) == (second, "TASK_STATE_CANCELED")
        assert '"statusUpdate"' in listening.result()
