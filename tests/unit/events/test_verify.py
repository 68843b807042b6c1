"""`manage.py events verify`: a record that was changed is named, and one that is as it was written passes."""

from __future__ import annotations

from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from tests.unit.runs.carrying.conftest import World, calls, says


def verify(*arguments: str) -> str:
    told = StringIO()
    call_command("events", "verify", *arguments, stdout=told, stderr=StringIO())
    return told.getvalue()


@pytest.mark.promise("EV-02")
def test_a_record_that_is_as_it_was_written_passes(world: World) -> None:
    run = world.start(calls(("v/keyed", {"n": 1})), says("done"))
    assert world.process().carry().status == "answered"
    assert verify("--run", str(run.id)) == "1 chains, 5 events: intact, 0 incomplete\n"


@pytest.mark.promise("EV-02")
def test_what_was_changed_is_named(world: World) -> None:
    run = world.start(calls(("v/keyed", {"n": 1})), says("done"))
    world.process().carry()
    world.sql("ALTER TABLE events_runevent DISABLE TRIGGER ALL")
    world.sql("UPDATE events_runevent SET content = '{}' WHERE number = 2")
    with pytest.raises(CommandError, match="1 broken"):
        verify("--run", str(run.id))
