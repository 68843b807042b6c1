"""`docs/webhooks.md`, typed as it stands; the calls by a signer that knows the specification alone."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from liyagent.entry.models import Arrival
from liyagent.entry.webhooks.models import Trigger
from tests.docs.walk import Shell, commands_of
from tests.flows.conftest import make_user
from tests.flows.serving import serving
from tests.unit.runs.carrying.conftest import World, says, world

__all__ = ["world"]

ROOT = Path(__file__).resolve().parents[2]
BASE = "http://127.0.0.1:8000"


def typed(line: str, **env: str) -> str:
    """What a line of Python prints."""
    done = subprocess.run(
        ["/bin/bash", "-c", line.replace(".venv/bin/python", sys.executable)],
        cwd=ROOT,
        env={"PATH": os.environ["PATH"], **env},
        capture_output=True,
        text=True,
        timeout=50,
        check=True,
    )
    return done.stdout.strip()


def test_each_line_of_the_document_does_what_it_says(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    make_user("ann", "agents.operate")
    world.model.steps = [says("done")]
    made, save, tried, listed, *sent, arrivals, servicenow, jira, disable, enable, remove = (
        commands_of("webhooks.md")
    )
    secret = typed(made)
    monkeypatch.setenv("PAGER_SECRET", secret)
    shell = Shell(places={})
    for line in (save, tried, listed):
        shell.type(line)
    told = "\n".join(shell.said.values())
    for words in ("starts agent triage as ann", '"task": "Look: [\\"disk\\",\\"prod\\"]"', "host-db-1"):  # fmt: skip
        assert words in told
    with serving() as port:
        here = f"http://127.0.0.1:{port}"
        answers = [typed(line.replace(BASE, here), PAGER_SECRET=secret) for line in sent]
    assert answers[0].startswith("HTTP 202")
    assert answers[1] == answers[0]
    assert answers[2].startswith("HTTP 422")
    for line in (arrivals, servicenow, jira, disable, enable, remove):
        shell.type(line)
    assert "alert-4711" in shell.said[arrivals]
    assert {it.key: it.kind for it in Trigger.objects.all()} == {
        "jira": "ticket",
        "servicenow": "ticket",
    }
    assert Arrival.objects.count() == 1
    for key, said in (("servicenow", "INC0010042, priority 2: Disk"), ("jira", '"field":"priority"')):  # fmt: skip
        line = f"liyagent webhooks try {key} docs/webhooks/{key}.json"
        shell.type(line)
        assert said in shell.said[line].replace("\\", "")
        assert '"is_wanted": true' in shell.said[line]
