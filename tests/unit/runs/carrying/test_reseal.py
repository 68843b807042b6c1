"""An older key's runs are sealed anew with the newest, and only then may it go (ruling 16, FL-41)."""

from __future__ import annotations

import dataclasses
import os
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from pytest_django import Settings

from liyagent.core.errors import Conflict
from liyagent.core.seal import KeyMissing
from runs.late_look import look_late
from runs.models import Run
from runs.reseal import reseal
from runs.seals import KeyUse, key_uses
from runs.transcript import read_transcript
from tests.unit.runs.carrying.conftest import World, calls, says
from tests.unit.runs.carrying.vendor import Killed, die_after_effect, die_before_effect

NEW = ("k2", os.urandom(32))
Ring = tuple[tuple[str, bytes], ...]


def with_ring(settings: Settings, *keys: tuple[str, bytes]) -> None:
    settings.LIYAGENT = dataclasses.replace(settings.LIYAGENT, seal_keys=keys)


def use_of(key_id: str) -> KeyUse:
    (found,) = [it for it in key_uses() if it.key_id == key_id]
    return found


def leave_in_the_middle(world: World, tool: str = "keyed") -> Run:
    """A run whose process died after its write, claimed and queued again."""
    run = world.start(
        calls(("v/look", {"n": 1})), calls((f"v/{tool}", {"n": 2})), says("all is done")
    )
    first = world.process("first")
    die_after_effect(tool)
    with pytest.raises(Killed):
        first.carry()
    world.prove_dead(first)
    return run


def forget_processes(world: World) -> None:
    world.sql("DELETE FROM leases_holder")


@pytest.mark.field("FL-41")
def test_a_run_sealed_anew_in_its_middle_goes_on_under_the_new_key_alone(
    world: World, settings: Settings
) -> None:
    old = settings.LIYAGENT.seal_keys[0]
    leave_in_the_middle(world)
    with_ring(settings, NEW, old)
    forget_processes(world)
    assert use_of(old[0]).queued == 1
    told = reseal(actor="olga")
    assert (told.done, told.left, told.broken) == (1, 0, 0)
    assert not use_of(old[0]).is_needed
    with_ring(settings, NEW)
    ended = world.process("second").carry()
    assert (ended.status, ended.key_id) == ("answered", "k2")
    assert world.vendor.received.count("keyed") == 2  # sent again with its key, and deduped
    assert len([it for it in world.vendor.rows if it["tool"] == "keyed"]) == 1
    assert read_transcript(ended)["answer"] == "all is done"
    assert world.audit("seals.resealed") == [{"key": "k2", "runs": 1, "requests": 0, "rows": 0}]


@pytest.mark.field("FL-41")
def test_an_ended_run_sealed_anew_shows_its_words_under_the_new_key_alone(
    world: World, settings: Settings
) -> None:
    old = settings.LIYAGENT.seal_keys[0]
    run = world.start(calls(("v/readable", {"n": 1})), says("all is done"))
    world.process().carry()
    forget_processes(world)
    with_ring(settings, NEW, old)
    assert use_of(old[0]).ended == 1
    assert reseal(actor="olga").done == 1
    assert reseal(actor="olga").done == 0
    with_ring(settings, NEW)
    run.refresh_from_db()
    told = read_transcript(run)
    assert told["answer"] == "all is done"
    assert [it["role"] for it in told["messages"]] == ["user", "assistant", "tool", "assistant"]


@pytest.mark.field("FL-41")
def test_a_running_run_is_left_and_sealed_anew_once_it_rests(
    world: World, settings: Settings
) -> None:
    old = settings.LIYAGENT.seal_keys[0]
    world.start(says("all is done"))
    first = world.process("first")
    ((run_id, attempt),) = first.take()
    with_ring(settings, NEW, old)
    world.sql("UPDATE leases_holder SET key_ids = %s", ["k2", old[0]])
    told = reseal(actor="olga")
    assert (told.done, told.left, told.broken) == (0, 1, 0)
    assert use_of(old[0]).running == 1
    first.go_on(run_id, attempt)
    assert reseal(actor="olga").done == 1


def test_a_run_whose_write_is_still_looked_for_is_left(world: World, settings: Settings) -> None:
    old = settings.LIYAGENT.seal_keys[0]
    world.start(calls(("v/readable", {"n": 1})), says("done"))
    first = world.process("first")
    die_before_effect("readable")
    with pytest.raises(Killed):
        first.carry()
    world.prove_dead(first)
    world.process("second").carry()
    forget_processes(world)
    with_ring(settings, NEW, old)
    assert reseal(actor="olga").left == 1


def test_nothing_is_sealed_anew_while_a_living_process_does_not_know_the_key(
    world: World, settings: Settings
) -> None:
    old = settings.LIYAGENT.seal_keys[0]
    world.start(says("done"))
    world.process("on-the-old-ring")
    with_ring(settings, NEW, old)
    with pytest.raises(Conflict, match="on-the-old-ring does not know key k2 yet"):
        reseal(actor="olga")
    assert use_of(old[0]).queued == 1
    assert (use_of("k2").known_by, use_of("k2").processes) == (0, 1)


def report() -> dict[str, tuple[str, list[str], str]]:
    """Of each key what the command tells: what it does here, how many runs in each state, whether it may go."""
    told = StringIO()
    call_command("seals", "report", stdout=told)
    rows = [line.split() for line in told.getvalue().splitlines()[1:]]
    return {row[0]: (row[1], row[-8:-3], row[-1]) for row in rows}


@pytest.mark.field("FL-41")
def test_the_command_tells_how_much_an_older_key_still_seals_and_when_it_may_go(
    world: World, settings: Settings
) -> None:
    old = settings.LIYAGENT.seal_keys[0]
    leave_in_the_middle(world)
    with_ring(settings, NEW, old)
    forget_processes(world)
    second = world.process("second")
    ((run_id, attempt),) = second.take()
    assert report()[old[0]] == ("opens", ["1", "0", "0", "0", "0"], "no")
    with pytest.raises(CommandError, match="an older key is still needed"):
        call_command("seals", "reseal", stdout=StringIO(), stderr=StringIO())
    second.go_on(run_id, attempt)
    assert report()[old[0]] == ("opens", ["0", "0", "0", "0", "1"], "no")
    call_command("seals", "reseal", stdout=StringIO(), stderr=StringIO())
    assert report()[old[0]] == ("opens", ["0", "0", "0", "0", "0"], "yes")
    assert report()["k2"] == ("seals", ["0", "0", "0", "0", "1"], "no")


def test_a_run_that_this_ring_does_not_open_is_told_and_left_as_it_is(
    world: World, settings: Settings
) -> None:
    old = settings.LIYAGENT.seal_keys[0]
    broken, whole = world.start(says("done")), world.start(says("done"))
    world.sql("UPDATE runs_part SET sealed = sealed || 'x' WHERE run_id = %s", broken.id)
    with_ring(settings, NEW, old)
    told = reseal(actor="olga")
    assert (told.done, told.broken) == (1, 1)
    with_ring(settings, NEW)
    assert reseal(actor="olga").broken == 1
    whole.refresh_from_db()
    broken.refresh_from_db()
    assert (whole.key_id, broken.key_id) == ("k2", old[0])


@pytest.mark.field("FL-41")
def test_a_late_look_is_left_to_a_process_that_has_the_key(
    world: World, settings: Settings
) -> None:
    old = settings.LIYAGENT.seal_keys[0]
    run = world.start(calls(("v/readable", {"n": 1})), says("done"))
    first = world.process("first")
    die_before_effect("readable")
    with pytest.raises(Killed):
        first.carry()
    world.prove_dead(first)
    world.process("second").carry()
    world.sql("UPDATE runs_call SET late_look_at = liyagent_now() - interval '1 s'")
    with_ring(settings, NEW)
    with pytest.raises(KeyMissing):
        read_transcript(run)
    look_late()
    assert world.call(run, 1).late_finding == ""
    world.sql("UPDATE runs_call SET late_look_at = liyagent_now() - interval '1 s'")
    with_ring(settings, NEW, old)
    look_late()
    assert world.call(run, 1).late_finding == "not_found"


def test_a_run_that_is_sealed_anew_while_it_is_read_is_read_anew(
    world: World, settings: Settings
) -> None:
    old = settings.LIYAGENT.seal_keys[0]
    run = world.start(says("all is done"))
    world.process().carry()
    run.refresh_from_db()
    forget_processes(world)
    with_ring(settings, NEW, old)
    assert reseal(actor="olga").done == 1
    assert read_transcript(run)["answer"] == "all is done"
