"""What README.md tells a newcomer to type, and where it leads."""

from __future__ import annotations

import re
from pathlib import Path

from django.contrib.auth.models import User
from django.core.management import call_command

from liyagent.agents.models import Agent
from tests.databases import FreshDatabase
from tests.docs.walk import BLOCK, DOCS, Shell

README = DOCS.parent / "README.md"
STANDS_FOR = "`triage` stands for"
MADE_HERE = "(../README.md#try-a-way-in)"


def lines_of_the_trial() -> list[str]:
    """What is typed before a way in is tried."""
    section = README.read_text().partition("## Try a way in")[2].partition("\n## ")[0]
    return [line for block in BLOCK.findall(section) for line in block.splitlines()]


def test_what_the_ways_in_speak_of_is_made_as_written(fresh_db: FreshDatabase) -> None:
    call_command("seed", "--no-runs", "--vendors", "http://127.0.0.1:9")
    shell = Shell(places={})
    function, *lines = lines_of_the_trial()
    assert function == 'liyagent() { .venv/bin/python manage.py "$@"; }'
    for line in lines:
        shell.type(line)
    assert set(User.objects.values_list("username", flat=True)) >= {"ann", "kim"}
    assert Agent.objects.get(key="triage").write_posture == "allow"
    asks = Agent.objects.get(key="triage-asks")
    assert (asks.write_posture, asks.may_wait) == ("hold", True)


def test_each_document_that_speaks_of_triage_says_how_it_is_made() -> None:
    speaking = {path.name for path in DOCS.glob("*.md") if STANDS_FOR in path.read_text()}
    silent = {name for name in speaking if MADE_HERE not in (DOCS / name).read_text()}
    assert len(speaking) >= 6
    assert silent == set()


def test_the_readme_leads_to_each_document() -> None:
    led = set(re.findall(r"\]\((docs/[\w./-]+)\)", README.read_text()))
    documents = {str(Path("docs") / path.relative_to(DOCS)) for path in DOCS.glob("*.md")}
    assert documents - led == set()
