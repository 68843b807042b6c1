"""`docs/cron.md`, typed as it stands."""

from __future__ import annotations

import re

from liyagent.entry.cron.models import CronTrigger
from liyagent.entry.cron.triggers import CHECKS, DEFAULTS
from tests.docs.walk import DOCS, Shell, commands_of
from tests.flows.conftest import make_user
from tests.unit.runs.carrying import conftest as at_runs
from tests.unit.runs.carrying.conftest import World, says

world = at_runs.world


def test_each_line_of_the_document_does_what_it_says(world: World) -> None:
    make_user("ann", "agents.operate")
    world.model.steps = [says("they are full")]
    save, run, fires, listed, *later = commands_of("cron.md")
    shell = Shell(places={})
    shell.type(save)
    shell.type(run)
    world.process().carry()
    for line in (fires, listed, *later):
        shell.type(line)
    assert re.search(r"fires next at \S+T0[01]:30:00Z; its runs are triage's, started by ann", shell.said[save])  # fmt: skip
    assert "is started" in shell.said[run]
    assert "manual  ended  answered" in shell.said[fires]
    assert re.search(r"nightly  enabled  triage .*manual +answered", shell.said[listed])
    pause, resume, remove = later
    assert "paused" in shell.said[pause]
    assert "fires next at" in shell.said[resume]
    assert "removed" in shell.said[remove]
    assert not CronTrigger.objects.exists()


def test_the_fields_of_the_document_are_those_of_a_trigger() -> None:
    table = (DOCS / "cron.md").read_text().partition("| Field |")[2].partition("\n\n")[0]
    told = re.findall(r"`(\w+)`", " ".join(row.split("|")[1] for row in table.splitlines()[2:]))
    assert sorted(told) == sorted(CHECKS)
    defaults = {name: {"true": True}.get(value, value) for name, value in re.findall(r"^\| `(\w+)` \| `(\w+)` \|", table, re.MULTILINE)}  # fmt: skip
    assert defaults == DEFAULTS
