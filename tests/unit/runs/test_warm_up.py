"""A process imports what its first step needs before it is asked for one."""

from __future__ import annotations

import subprocess
import sys

import pytest

from liyagent.demo.vendors.process import ROOT
from tests.databases import FreshDatabase

PROGRAM = """
import sys, django
django.setup()
from liyagent.agents.models import Agent
from runs.warm_up import warm_up
Agent.objects.create(key="a", name="A", provider="anthropic", model="m")
Agent.objects.create(key="o", name="O", provider="openai", model="m", is_enabled=False)
assert not {"mcp", "anthropic", "openai"} & sys.modules.keys()
warm_up()
print(*sorted({"mcp", "anthropic", "openai"} & sys.modules.keys()))
"""


@pytest.mark.parametrize("is_away", [False, True])
def test_what_enabled_agents_need_is_imported_and_nothing_raised(
    fresh_db: FreshDatabase, monkeypatch: pytest.MonkeyPatch, is_away: bool
) -> None:
    monkeypatch.setenv("DATABASE_URL", fresh_db.url)
    program = PROGRAM
    if is_away:
        program = program.replace(
            "warm_up()\nprint",
            "from django.conf import settings\nfrom django.db import connection\n"
            "connection.close()\nconnection.settings_dict['PORT'] = 1\nwarm_up()\nprint",
        )
    ended = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.split() == (["mcp"] if is_away else ["anthropic", "mcp"])
