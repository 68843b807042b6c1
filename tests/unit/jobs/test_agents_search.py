"""A run of an agent searches its documents by the built-in tool, through every gate, and marks nothing."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
from django.conf import settings

from liyagent.agents.models import Agent
from liyagent.gateway.contracts import forget_contracts
from liyagent.jobs.sources.save import save_source
from liyagent.jobs.sources.sync import ask_sync
from liyagent.jobs.work import work_due
from liyagent.leases.own import OWN
from runs.models import Call
from tests.unit.runs.carrying.conftest import World, calls, never, says, world

__all__ = ["world"]


def test_a_run_finds_what_its_agent_may_see(world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # fmt: skip
    conf = dataclasses.replace(settings.LIYAGENT, source_roots=(tmp_path.resolve(),))
    monkeypatch.setattr(settings, "LIYAGENT", conf)
    monkeypatch.setattr(OWN, "holder", world.process("worker").holder)
    (tmp_path / "printer.md").write_text("# Printer jams\nPull the paper out.")
    told = {"kind": "folder", "agents": ["tri*"], "settings": {"folder": str(tmp_path)}}
    save_source("handbook", told, actor="olga")
    ask_sync("handbook", asked_by="olga")
    assert work_due(never) == 1
    Agent.objects.update(tool_patterns=["v/*", "documents/search"])
    forget_contracts()
    asked = calls(("documents/search", {"query": "printers"}))
    run = world.start(asked, says("done"))
    world.process().carry()
    run.refresh_from_db()
    assert run.status == "answered"
    (told_back,) = world.model.results()
    assert "Pull the paper out" in told_back
    assert "printer.md" in told_back
    assert not Call.objects.filter(run_id=run.id).exists(), "a read is never marked"
    save_source("handbook", {"agents": ["others"]}, actor="olga")
    run = world.start(asked, says("done"))
    world.process().carry()
    assert "no documents are kept for this agent" in world.model.results()[0]
