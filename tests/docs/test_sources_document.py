"""`docs/sources.md`, typed as it stands."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import pytest
from django.conf import settings

from liyagent.jobs.models import JobStatus
from liyagent.jobs.sources.models import Document, Source
from liyagent.jobs.sources.save import REQUIRED, SETTINGS
from liyagent.jobs.work import work_due
from liyagent.leases.own import OWN
from tests.docs.walk import DOCS, Shell, commands_of
from tests.unit.runs.carrying import conftest as at_runs
from tests.unit.runs.carrying.conftest import World, never

world = at_runs.world


def test_each_line_of_the_document_does_what_it_says(world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # fmt: skip
    conf = dataclasses.replace(settings.LIYAGENT, source_roots=(tmp_path.resolve(),))
    monkeypatch.setattr(settings, "LIYAGENT", conf)
    monkeypatch.setattr(OWN, "holder", world.process().holder)
    (tmp_path / "printers.md").write_text("# Printers\nPull the paper out.")
    save, sync, listed, documents, tools, nightly, never_again, jobs, failed, remove = commands_of(
        "sources.md"
    )
    shell = Shell(places={"/srv/docs": str(tmp_path)})
    shell.type(save)
    shell.type(sync)
    assert work_due(never) == 1
    for line in (listed, documents, tools, jobs, failed):
        shell.type(line)
    assert "triage, ops-* may search it" in shell.said[save.replace("/srv/docs", str(tmp_path))]
    assert "is asked for" in shell.said[sync]
    assert re.search(r"handbook +folder .* 1 +done", shell.said[listed])
    assert "printers.md" in shell.said[documents]
    assert "documents/search" in shell.said[tools]
    assert re.search(r"source_sync +handbook +done +1 +1", shell.said[jobs])
    assert "handbook" not in shell.said[failed]
    shell.type(nightly)
    source = Source.objects.get()
    assert (source.schedule, source.timezone) == ("30 2 * * *", "Europe/Berlin")
    assert source.next_slot is not None
    shell.type(never_again)
    assert Source.objects.get().next_slot is None
    shell.type(remove)
    assert not Source.objects.exists()
    assert not Document.objects.exists()


def test_the_tables_of_the_document_are_those_of_the_code() -> None:
    text = (DOCS / "sources.md").read_text()
    fields = text.partition("| Field |")[2].partition("\n\n")[0]
    assert sorted(re.findall(r"^\| `(\w+)` \|", fields, re.MULTILINE)) == sorted(REQUIRED)
    for kind, (name, _) in SETTINGS.items():
        assert f"`{kind}`" in fields
        assert f'{{"{name}": ' in fields
    states = text.partition("| Status of a job |")[2].partition("\n\n")[0]
    assert re.findall(r"^\| `(\w+)` \|", states, re.MULTILINE) == JobStatus.values
