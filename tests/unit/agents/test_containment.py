"""Everything can be contained at once."""

from __future__ import annotations

import pytest
from django.core.management import call_command

from liyagent.agents.containment import contain_agent, contain_all, release_agent, release_all
from liyagent.agents.definitions import save_agent
from liyagent.agents.errors import NothingContained
from liyagent.agents.models import Agent, ConfigVersion
from liyagent.audit.models import AuditRow
from liyagent.core.errors import BadInput, Conflict
from tests.databases import FreshDatabase

BASE = {"key": "triage", "name": "Triage", "provider": "scripted", "model": "m"}


def test_containing_everything_is_audited_said_once_and_raises_the_version(
    fresh_db: FreshDatabase,
) -> None:
    before = ConfigVersion.objects.get().version
    contain_all(actor="ada", reason="keys leaked")
    stands = ConfigVersion.objects.get()
    assert (stands.is_contained, stands.contained_by) == (True, "ada")
    assert (stands.contained_reason, stands.version > before) == ("keys leaked", True)
    contained_at = stands.version
    with pytest.raises(Conflict, match="everything is contained already"):
        contain_all(actor="ada", reason="again")
    release_all(actor="bob")
    stands = ConfigVersion.objects.get()
    assert (stands.is_contained, stands.contained_reason) == (False, "")
    assert stands.version > contained_at
    with pytest.raises(NothingContained):
        release_all(actor="bob")
    rows = list(AuditRow.objects.order_by("id").values_list("action", "actor"))
    assert rows == [("agents.all_contained", "ada"), ("agents.all_released", "bob")]


def test_an_agent_that_was_contained_on_its_own_stays_so(fresh_db: FreshDatabase) -> None:
    save_agent(BASE, actor="ada")
    contain_agent("triage", actor="ada", reason="odd")
    contain_all(actor="ada", reason="keys leaked")
    release_all(actor="ada")
    assert Agent.objects.get().is_contained
    release_agent("triage", actor="ada")


def test_the_command_wants_one_agent_or_all(
    fresh_db: FreshDatabase, capsys: pytest.CaptureFixture[str]
) -> None:
    save_agent(BASE, actor="ada")
    for words in (["contain", "--reason", "r"], ["contain", "triage", "--all", "--reason", "r"]):
        with pytest.raises(BadInput, match="name one agent, or --all"):
            call_command("agents", *words)
    call_command("agents", "contain", "--all", "--reason", "keys leaked")
    call_command("agents", "list")
    told = capsys.readouterr().out.splitlines()[-2:]
    assert told[0].startswith("everything is contained by cli:")
    assert told[0].endswith(": keys leaked")
    assert told[1] == "end it with: agents release --all"
    call_command("agents", "release", "--all")
    call_command("agents", "show", "triage")
    assert "# version 1, enabled" in capsys.readouterr().out
