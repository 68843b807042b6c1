"""`docs/teams.md`, typed as it stands, against the local connector."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from liyagent.agents.models import Agent
from liyagent.entry.models import Delivery
from liyagent.entry.teams import words as said
from liyagent.entry.teams.models import TeamsBot
from tests.docs.walk import Shell, commands_of
from tests.fakes.teams_connector import PLACEHOLDER, SECRET, TeamsConnector
from tests.flows.conftest import make_user
from tests.flows.test_teams import app, teams, world
from tests.unit.entry.teams.conftest import Teams
from tests.unit.runs.carrying.conftest import calls, says

__all__ = ["app", "teams", "world"]

ROOT = Path(__file__).resolve().parents[2]
BASE, PORT = "http://127.0.0.1:8000", "3978"


def free_port() -> str:
    """A port that nobody listens on now."""
    connector = TeamsConnector()
    connector._server.server_close()
    return str(connector.port)


def test_each_line_of_the_document_does_what_it_says(teams: Teams, app: str, tmp_path: Path) -> None:  # fmt: skip
    TeamsBot.objects.all().delete()
    Agent.objects.update(write_posture="hold", may_wait=True)
    make_user("ann", "agents.operate")
    make_user("kim", "approvals.decide")
    save, check, listed, person, people, local, talk, *later = commands_of("teams.md")
    port = free_port()
    shell = Shell(places={PORT: port, "triage-asks": "triage"})
    shell.type(save)
    shell.type(local)
    with TeamsConnector(port=int(port)):
        shell.type(check)
    for line in (listed, person, people, *later):
        shell.type(line)
    told = "\n".join(shell.said.values())
    for words in ("a token is given out", "triage", "is kim", "desk: enabled"):
        assert words in told
    line = re.sub(PORT, port, talk).replace(BASE, app).replace(".venv/bin/python", sys.executable)
    env = {"PATH": os.environ["PATH"], "TEAMS_BOT_SECRET": SECRET, "LIYAGENT_STATE_DIR": str(tmp_path)}  # fmt: skip
    # Talked with a second time, the connector is another process, whose key is the same.
    for number in (1, 2):
        teams.world.model.steps = [calls(("v/keyed", {"title": f"disk {number}"})), says("filed")]
        done = subprocess.run(
            ["/bin/bash", "-c", line], cwd=ROOT, env=env, capture_output=True, text=True, timeout=50, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        for words in ("said: HTTP 200", f"title: disk {number}", "approve is pressed", "filed"):
            assert words in done.stdout, done.stdout
    assert len(teams.world.vendor.of("keyed")) == 2
    assert {it.state for it in Delivery.objects.filter(kind="answer")} <= {"delivered", "pending"}


def test_the_local_connector_knows_a_placeholder_when_it_sees_one() -> None:
    assert PLACEHOLDER == said.PLACEHOLDER
